// Waits that are over within the first looks, or within a few rounds of a worker's ranks, are too
// short and too many to look at the clock each time. One in some is timed, and charged for all of
// them.
//   weight   how many waits a timed one stands for: those since the last one that was timed
// The first sixteen of a rank are all timed, the next sixteen stand for two on average, then four …
// up to 64. Which ones is by chance, so that a program's own rhythm does not matter. One that took
// long all the same (the core was gone, or others of the worker computed) stands for itself alone,
// and then each is timed again: where they are long, a look at the clock costs nothing.
#pragma once

#include <cstdint>

#include "ledger/accounts.h"
#include "rank/rank.h"
#include "wait/clock.h"
#include "wait/experience.h"

namespace meantime::wait {

/// On the waiting thread's stack, while it may be a short one. Rank's lock held.
class ShortWait {
 public:
  explicit ShortWait(Rank& rank) : rank_(rank) {
    if (--rank.waits_to_sample == 0) [[unlikely]] {
      weight_ = rank.sampling.take(rank.waits_to_sample);
      began_ns_ = now_ns();
    }
  }
  /// It is over, and was short. What the rank did meanwhile is the activity.
  void over(ledger::Activity activity) {
    if (weight_ != 0) [[unlikely]] {
      charge(activity);
    }
  }

 private:
  [[gnu::noinline]] void charge(ledger::Activity activity) {
    const std::uint64_t took = now_ns() - began_ns_;
    std::uint32_t times = weight_;
    if (took >= Sampling::long_ns) {
      rank_.sampling.time_each(rank_.waits_to_sample);
      charge(activity, took, 1);
      --times;
    } else {
      rank_.sampling.usual_ns = took;
    }
    if (times != 0) {
      charge(activity, rank_.sampling.usual_ns, times);
    }
  }
  void charge(ledger::Activity activity, std::uint64_t nanoseconds, std::uint32_t times) {
    ledger::Wait wait;
    wait.ns = nanoseconds;
    wait.spent_ns[static_cast<int>(activity)] = nanoseconds;
    ledger::charge(*rank_.area, rank_.experience->here(rank_).account, wait, times);
  }

  Rank& rank_;
  std::uint32_t weight_ = 0;
  std::uint64_t began_ns_ = 0;
};

}  // namespace meantime::wait
