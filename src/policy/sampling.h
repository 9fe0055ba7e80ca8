// Which of a rank's short waits are timed (short_wait.h).
#pragma once

#include <cstdint>

#include "base/heuristics.h"

namespace meantime::wait {

class Sampling {
 public:
  /// One is timed now: returns its weight, and in how many the next one is.
  std::uint32_t take(std::uint32_t& next) {
    const std::uint32_t weight = interval_;
    if (uses(Heuristic::sampling) && mean_ < longest_mean && ++taken_ == samples_of_one_mean) {
      mean_ *= 2;
      taken_ = 0;
    }
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX
    interval_ = 1 + static_cast<std::uint32_t>(random_ >> 33) % (2 * mean_ - 1);
    next = interval_;
    return weight;
  }

  /// From now on each is, until sixteen were short.
  void time_each(std::uint32_t& next) {
    mean_ = 1;
    taken_ = 0;
    interval_ = 1;
    next = 1;
  }

  /// Hundreds of thread ranks may look at the clock within one round of their worker.
  static constexpr std::uint64_t long_ns = 1'000'000;
  std::uint64_t last_ended_ns = 0;    ///< the last one that was timed
  std::uint64_t last_charged_ns = 0;  ///< the rank's sum of waits then

 private:
  static constexpr std::uint32_t samples_of_one_mean = 16;
  static constexpr std::uint32_t longest_mean = 128;

  std::uint32_t interval_ = 1;
  std::uint32_t mean_ = 1;
  std::uint32_t taken_ = 0;
  std::uint64_t random_ = 1;
};

}  // namespace meantime::wait
