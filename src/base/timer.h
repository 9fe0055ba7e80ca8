// Time, as mpiexec measures it: seconds, by a clock that nobody sets.
#pragma once

#include <sys/timerfd.h>
#include <unistd.h>

#include <cmath>
#include <ctime>

namespace meantime::launch {

inline double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// A descriptor that becomes readable once the time is over.
class Timer {
 public:
  Timer() : descriptor_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {}
  ~Timer() { close(descriptor_); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// From now on; 0 switches it off.
  void set(double seconds) {
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(seconds);
    when.it_value.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
    timerfd_settime(descriptor_, 0, &when, nullptr);
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace meantime::launch
