// What a thread rank takes of its process's addresses. For mpiexec, which counts them before it
// chooses thread ranks, and for the host, which reserves them.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

namespace meantime::launch {

/// What malloc reserves for a thread, for a moment: half of it stays.
constexpr std::uint64_t addresses_of_malloc = std::uint64_t{128} << 20;

/// As a process would have it; without a limit a generous one, because it is only reserved: a
/// thousand of them take a hundredth of the addresses that there are.
inline std::uint64_t stack_bytes_of_rank() {
  constexpr std::uint64_t unlimited = std::uint64_t{1} << 30;
  constexpr std::uint64_t most = std::uint64_t{64} << 30;
  constexpr std::uint64_t least = std::uint64_t{256} << 10;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return unlimited;
  }
  return std::clamp<std::uint64_t>(limit.rlim_cur, least, most);
}

}  // namespace meantime::launch
