// What LIBRA does at one point of its grid: how many iterations, and how late each message is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "../common/options.h"

namespace libra {

// The paper: 100 000 iterations for messages smaller than 1 KiB and delays shorter than 50 us,
// "then progressively fewer down to 100". Here as many fewer as the message is larger than 1 KiB
// and the delay longer than 50 us.
inline long iterations_of_paper(long bytes, double delay_us) {
  const double size = std::max(1.0, std::ceil(static_cast<double>(bytes + 1) / 1024));
  const double delay = std::max(1.0, delay_us / 50);
  return std::max(100L, std::lround(100'000 / (size * delay)));
}

inline void check_kind(const std::string& kind) {
  if (kind != "constant" && kind != "jitter" && kind != "bimodal")
    throw bench::UsageError("--delay is constant, jitter or bimodal, not '" + kind + "'");
}

// Nanoseconds by which each message is late; their mean is `delay_us`.
//   jitter    uniform within 30 % around it
//   bimodal   half or one and a half of it, by chance
// The same numbers in every run, so that what is compared had the same delays.
inline std::vector<std::uint64_t> delays(const std::string& kind, double delay_us, long count) {
  std::vector<std::uint64_t> result(static_cast<std::size_t>(count));
  std::uint64_t state = 0x9e3779b97f4a7c15;  // xorshift64
  for (std::uint64_t& delay : result) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const double chance = static_cast<double>(state >> 11) * 0x1p-53;
    const double factor = kind == "jitter"    ? 0.7 + 0.6 * chance
                          : kind == "bimodal" ? (chance < 0.5 ? 0.5 : 1.5)
                                              : 1;
    delay = static_cast<std::uint64_t>(delay_us * factor * 1000);
  }
  return result;
}

}  // namespace libra
