// When the suspended ranks of a worker want to be awake again, though nobody has signalled.
//   timer   a time, and the waiter of the rank that sleeps until then at most
// A worker has a few hundred ranks at most, few of them with a timer, and the next one is looked at
// often: a sorted array. Changed only by who holds the worker; when the next one is due, others may
// ask, for a hint.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "node/layout.h"

namespace meantime::ranks {

class Timers {
 public:
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  void make_room(std::size_t ranks) { timers_.reserve(ranks); }
  bool empty() const { return next_ns() == never; }
  /// CLOCK_MONOTONIC, or never.
  std::uint64_t next_ns() const { return next_ns_.load(std::memory_order_relaxed); }
  /// Looks at the clock only if there is a timer.
  bool due() const { return !empty() && now_ns() >= next_ns(); }

  void set(std::uint64_t at_ns, node::Waiter& waiter) {
    const auto place = std::upper_bound(timers_.begin(), timers_.end(), at_ns, later);
    timers_.insert(place, {at_ns, &waiter});
    update();
  }
  /// Nothing if it has no timer (any more).
  void remove(const node::Waiter& waiter) {
    std::erase_if(timers_, [&](const Timer& timer) { return timer.waiter == &waiter; });
    update();
  }
  /// Takes out the next one if its time has come, or nullptr.
  node::Waiter* take_due(std::uint64_t now_ns) {
    if (timers_.empty() || timers_.back().at_ns > now_ns) {
      return nullptr;
    }
    node::Waiter* const waiter = timers_.back().waiter;
    timers_.pop_back();
    update();
    return waiter;
  }

 private:
  struct Timer {
    std::uint64_t at_ns;
    node::Waiter* waiter;
  };
  /// The next one is the last.
  static bool later(std::uint64_t at_ns, const Timer& timer) { return at_ns > timer.at_ns; }

  void update() {
    next_ns_.store(timers_.empty() ? never : timers_.back().at_ns, std::memory_order_relaxed);
  }

  std::vector<Timer> timers_;
  std::atomic<std::uint64_t> next_ns_{never};
};

}  // namespace meantime::ranks
