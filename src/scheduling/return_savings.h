// What a worker may spend on polling for ranks that nap: that sleep for some time by themselves, in
// a system call of their own. It saves them a wake-up when they come back; but who does that again
// and again for a little time (a loop of usleep and MPI_Test) has said that the core may do
// something else. (Who sleeps until something happens waits, and is polled for like who waits in
// MPI.)
//   return    such a rank is back, and the worker had nothing to run
//   savings   of the worker's time, what returns are polled for with. They grow by an eighth of the
//             time, up to what a single return is worth, and each return costs what was polled
//             before it. So rare ones find the worker awake, and frequent ones mostly asleep
// For the worker's carrier.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/heuristics.h"

namespace meantime::ranks {

class ReturnSavings {
 public:
  /// `most_ns`: a few wake-ups.
  explicit ReturnSavings(std::uint64_t most_ns)
      : most_ns_(static_cast<std::int64_t>(most_ns)), savings_ns_(most_ns_) {}

  /// Whether there is something left at `now_ns`.
  bool any(std::uint64_t now_ns) {
    const std::uint64_t earned = (now_ns - earned_until_ns_) / share;
    earned_until_ns_ = now_ns;
    savings_ns_ += static_cast<std::int64_t>(
        std::min(earned, static_cast<std::uint64_t>(most_ns_ - savings_ns_)));
    return savings_ns_ > 0 || !uses(Heuristic::return_savings);
  }
  /// For so long it was polled before a return.
  void pay(std::uint64_t polled_ns) { savings_ns_ -= static_cast<std::int64_t>(polled_ns); }

 private:
  static constexpr std::uint64_t share = 8;

  std::int64_t most_ns_;
  std::int64_t savings_ns_;
  std::uint64_t earned_until_ns_ = 0;
};

}  // namespace meantime::ranks
