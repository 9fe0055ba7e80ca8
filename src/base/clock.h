// The clocks that time is measured with. Any thread.
#pragma once

#include <cstdint>
#include <ctime>

namespace meantime {

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

/// Nanoseconds of CLOCK_MONOTONIC, which nobody sets.
inline std::uint64_t now_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

/// The same in seconds.
inline double now_seconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// CPU time of the calling thread; a system call.
inline std::uint64_t thread_cpu_ns() {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/// Times a piece of work, if it is wanted; else it costs nothing and says 0.
class Stopwatch {
 public:
  explicit Stopwatch(bool wanted) : began_(wanted ? now_ns() : 0) {}

  std::uint32_t nanoseconds() const {
    return began_ == 0 ? 0 : static_cast<std::uint32_t>(now_ns() - began_);
  }

 private:
  std::uint64_t began_;
};

}  // namespace meantime
