// The clock that waits are measured with.
#pragma once

#include <cstdint>
#include <ctime>

namespace meantime::wait {

/// Nanoseconds of CLOCK_MONOTONIC. Any thread.
inline std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace meantime::wait
