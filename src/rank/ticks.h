// The quickest clock there is, for differences on one thread: the processor's time stamp counter
// where it counts seconds (the same at every frequency, and also while the processor sleeps), else
// CLOCK_MONOTONIC.
//   tick   what it counts in; how long one is, is measured once a process
#pragma once

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>

#include "base/clock.h"
#endif

namespace meantime::ranks {

class Ticks {
 public:
  /// A first look at both clocks: the longer before `choose`, the less has to be waited there.
  static void glance();
  /// Chooses the clock and measures its tick; afterwards the others may be called. Any thread, any
  /// number of times. The first one in a process takes as much of 5 ms as has not passed yet since
  /// `glance`.
  static void choose();

  static std::uint64_t now() {
#if defined(__x86_64__)
    if (counts_) [[likely]] {
      return __rdtsc();
    }
#endif
    return now_ns();
  }
  static double seconds() {
    return seconds_;
  }  ///< of one tick
  /// So many are a millisecond.
  static std::uint64_t per_ms() {
    return per_ms_;
  }
  static bool of_processor() {
    return counts_;
  }

 private:
  // Written once, by `choose`, under a lock that every reader has held before.
  static inline bool counts_ = false;
  static inline double seconds_ = 1e-9;
  static inline std::uint64_t per_ms_ = 1'000'000;
};

}  // namespace meantime::ranks
