// Waits that are over within the first looks, or within a few rounds of a worker's ranks, are too
// short and too many to look at the clock each time. One in some is timed, and charged for all of
// them.
//   weight   how many waits a timed one stands for: those since the last one that was timed
// The first sixteen of a rank are all timed, the next sixteen stand for two on average, then four …
// up to 128. Which ones is by chance, so that a program's own rhythm does not matter. After one
// that took long all the same (others of the worker computed) each is timed again: where waits are
// long, looks at the clock cost nothing.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "ledger/accounts.h"
#include "rank/rank.h"
#include "wait/experience.h"
#include "wait/wait.h"

namespace meantime::wait {

/// For how long a short wait did not have its core. A few looks take less than that, and so does a
/// small message's copy; a large one's may take as long, and is work.
constexpr std::uint64_t held_up_ns(ledger::Activity activity, std::uint64_t took_ns,
                                   std::uint64_t bytes) {
  constexpr std::uint64_t most_bytes_at_once = std::uint64_t{64} * 1024;
  const bool gone = activity == ledger::Activity::poll && took_ns >= ledger::gone_ns;
  return gone && bytes <= most_bytes_at_once ? took_ns : 0;
}

/// On the waiting thread's stack, while it may be a short one. Rank's lock held.
class ShortWait {
 public:
  /// `what` it waits for, whose messages may be copied meanwhile; nullptr: none is.
  explicit ShortWait(Rank& rank, const Awaited* what = nullptr) : rank_(rank) {
    if (--rank.waits_to_sample == 0) [[unlikely]] {
      begin(what);
    }
  }
  /// It is over, and was short. What the rank did meanwhile is the activity.
  void over(ledger::Activity activity) {
    if (weight_ != 0) [[unlikely]] {
      charge(activity);
    }
  }

 private:
  [[gnu::noinline]] void begin(const Awaited* what) {
    weight_ = rank_.sampling.take(rank_.waits_to_sample);
    bytes_ = bytes_of(what);  // nothing is left of it at the end
    began_ns_ = now_ns();
  }
  [[gnu::noinline]] void charge(ledger::Activity activity) {
    Sampling& sampling = rank_.sampling;
    const std::uint64_t now = now_ns();
    const std::uint64_t took = now - began_ns_;
    if (const std::uint32_t others = weight_ - 1; others != 0) {
      // They were all between the last one that was timed and this one, beside the long waits.
      const std::uint64_t between = began_ns_ - sampling.last_ended_ns;
      const std::uint64_t of_long_ones = charged_ns() - sampling.last_charged_ns;
      const std::uint64_t most = between > of_long_ones ? (between - of_long_ones) / others : 0;
      charge(activity, std::min(took, most), others);
    }
    charge(activity, took, 1);
    sampling.last_ended_ns = now;
    sampling.last_charged_ns = charged_ns();
    if (took >= Sampling::long_ns) {
      sampling.time_each(rank_.waits_to_sample);
    }
  }
  std::uint64_t charged_ns() const {
    return rank_.area->account.wait_ns.load(std::memory_order_relaxed);
  }
  /// As if all were as long as the first.
  static std::uint64_t bytes_of(const Awaited* what) {
    Situation situation;
    if (what != nullptr) {
      what->describe(situation);
    }
    return situation.bytes * situation.requests;
  }
  void charge(ledger::Activity activity, std::uint64_t nanoseconds, std::uint32_t times) {
    ledger::Wait wait;
    wait.ns = nanoseconds;
    wait.held_up_ns = held_up_ns(activity, nanoseconds, bytes_);
    wait.spent_ns[static_cast<int>(activity)] = nanoseconds;
    ledger::charge(*rank_.area, rank_.experience->here(rank_).account, wait, times);
  }

  Rank& rank_;
  std::uint32_t weight_ = 0;
  std::uint64_t began_ns_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace meantime::wait
