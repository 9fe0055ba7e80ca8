// A time limit to wait for beside other descriptors.
#pragma once

#include <sys/timerfd.h>
#include <unistd.h>

#include <cmath>
#include <ctime>

namespace meantime {

/// A descriptor that becomes readable once the time is over.
class Timer {
 public:
  Timer() = default;
  ~Timer() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// From now on; 0 switches it off.
  void set(double seconds) {
    if (seconds == 0 && descriptor_ < 0) {
      return;
    }
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(seconds);
    when.it_value.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
    timerfd_settime(descriptor(), 0, &when, nullptr);
  }
  /// Made when it is first asked for.
  [[nodiscard]] int descriptor() const {
    if (descriptor_ < 0) {
      descriptor_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    }
    return descriptor_;
  }

 private:
  mutable int descriptor_ = -1;
};

}  // namespace meantime
