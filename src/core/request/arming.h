// The arming of requests for one sleep.
#pragma once

#include <cstdint>

#include "core/request/progress.h"
#include "core/request/request.h"
#include "sleep/doorbell.h"
#include "wait/wait.h"

namespace meantime::core {

/// For all or for any of some requests. For all of them, the sleeper is woken once, by the last; a
/// collective's request needs its rank in between, so then any completion wakes.
class Arming {
 public:
  Arming(node::Waiter& waiter, bool all) : waiter_(waiter), all_(all), any_(!all) {
    wait::expect(waiter, bias);
  }

  /// One that is not complete.
  void add(Request& request) {
    const int armed = request.arm(waiter_);
    leaves_ += armed;
    only_ = ++open_ == 1 ? &request : nullptr;
    any_ = any_ || request.composed;
    // A collective with no leaf left to wait for can go on by itself; nobody would ring for it.
    can_go_on_ = can_go_on_ || (request.composed && armed == 0);
  }

  /// Those were all. The rank's background joins them.
  void ends() {
    // A collective that is waited for alone can do nothing before its whole round is there: one
    // wake-up instead of one for each of its messages.
    if (all_ && only_ != nullptr && only_->type == Request::Type::collective) {
      any_ = false;
    }
    any_ = arm_background(waiter_) || any_;
    if (can_go_on_) {
      wait::ring(waiter_);
    } else if (any_) {
      // Whatever completed since we began is a reason not to sleep.
      if (!wait::expect_instead(waiter_, bias, 1)) {
        wait::ring(waiter_);
      }
    } else if (wait::expect_more(waiter_, leaves_ - bias) <= 0) {
      wait::ring(waiter_);
    }
  }

 private:
  /// Large enough that no number of completions reaches 0 while the arming goes on.
  static constexpr std::int32_t bias = 1 << 30;

  node::Waiter& waiter_;
  const bool all_;
  bool any_;
  bool can_go_on_ = false;
  std::int32_t leaves_ = 0;
  const Request* only_ = nullptr;
  int open_ = 0;
};

}  // namespace meantime::core
