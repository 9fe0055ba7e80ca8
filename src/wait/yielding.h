// Giving the core away before a sleep. Where ranks exceed cores the one that is waited for may be
// runnable on this very core: a sched_yield lets it run and costs one switch, where a sleep costs
// that switch, two system calls and the queueing of a wake-up.
//   in vain   the yields did not end the wait, or somebody else had the core for a time slice:
//             whoever yields comes after all who compute, whoever is woken before them
// Each kind of wait of a rank (at a gate, for messages) has its own memory of what yields were
// worth. Private to the rank, its lock held.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>

#include "rank/lock.h"
#include "wait/clock.h"

namespace meantime::wait {

class Yielding {
 public:
  /// Yields a few times, unless that was in vain lately. True once `ready()`, which is asked after
  /// each. `lock` is let go of meanwhile. *spent_ns: how long that took, if it is true.
  template <class Ready>
  bool until(RankLock& lock, Ready&& ready, std::uint64_t* spent_ns) {
    if (skip_ > 0) {
      --skip_;
      return false;
    }
    const std::uint64_t began = now_ns();
    bool over = false;
    for (int yield = 0; yield < yields && !over; ++yield) {
      const int levels = lock.release_all();
      sched_yield();
      lock.reacquire(levels);
      over = ready();
    }
    *spent_ns = over ? now_ns() - began : 0;
    if (over && *spent_ns < slice_ns) {
      vain_ = 0;
    } else {
      vain_ = std::clamp<std::uint32_t>(2 * vain_, 2, most_skipped);
      skip_ = vain_ - 1;
    }
    return over;
  }

 private:
  // Barrier of 64 ranks on 2 cores: 48 us with one yield a rank, 115-150 us asleep and woken by a
  // tree. A second yield catches the other core's ranks being a little late.
  static constexpr int yields = 2;
  static constexpr std::uint64_t slice_ns = 1'000'000;
  // In vain this often in a row, it is tried more and more rarely: some rank computes for long, and
  // a yield would only delay the sleep.
  static constexpr std::uint32_t most_skipped = 16;

  std::uint32_t vain_ = 0;
  std::uint32_t skip_ = 0;
};

}  // namespace meantime::wait
