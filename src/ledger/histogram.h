// The histogram of an account: buckets of a quarter octave from 64 ns to 69 seconds.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "ledger/layout.h"

namespace meantime::ledger {

inline constexpr int first_octave = 6;

inline int bucket_of(std::uint64_t ns) {
  const int octave = std::bit_width(ns | 1) - 1;
  if (octave < first_octave) {
    return 0;
  }
  const auto quarter = static_cast<int>(ns >> (octave - 2) & 3);
  return std::min((octave - first_octave) * 4 + quarter, histogram_buckets - 1);
}

/// The least time of a bucket.
inline std::uint64_t bucket_begin(int bucket) {
  const int octave = first_octave + bucket / 4;
  return (std::uint64_t{4} + static_cast<std::uint64_t>(bucket % 4)) << (octave - 2);
}

/// The middle of the bucket that holds the quantile `q` (0 to 1) of `counts`; 0 if there are none.
template <class Counts>
std::uint64_t quantile(const Counts& counts, double q) {
  std::uint64_t total = 0;
  for (int bucket = 0; bucket < histogram_buckets; ++bucket) {
    total += counts[bucket];
  }
  const auto wanted = static_cast<std::uint64_t>(q * static_cast<double>(total));
  std::uint64_t seen = 0;
  for (int bucket = 0; bucket < histogram_buckets; ++bucket) {
    seen += counts[bucket];
    if (counts[bucket] != 0 && (seen > wanted || seen == total)) {
      return (bucket_begin(bucket) + bucket_begin(bucket + 1)) / 2;
    }
  }
  return 0;
}

}  // namespace meantime::ledger
