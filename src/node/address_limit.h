// How many addresses a process may map (ulimit -v), and whose they are.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace meantime::node {

constexpr std::uint64_t no_address_limit = RLIM_INFINITY;

inline std::uint64_t address_limit() {
  rlimit addresses{};
  return getrlimit(RLIMIT_AS, &addresses) == 0 ? addresses.rlim_cur : no_address_limit;
}

/// Of so many the node's segment takes a quarter, so that the program still has room.
constexpr std::uint64_t addresses_of_segment(std::uint64_t limit) {
  return limit / 4;
}

}  // namespace meantime::node
