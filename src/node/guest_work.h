// The account of a guest function's work (src/guest/function.h).
#pragma once

#include <atomic>
#include <cstdint>

namespace meantime::node {

/// What was done of it in the waits of one rank, or worker. Its own threads add.
struct alignas(64) GuestWork {
  std::atomic<std::uint64_t> slices;
  std::atomic<std::uint64_t> ns;
  std::atomic<std::uint64_t> longest_ns;
  std::atomic<std::uint64_t> too_long;  ///< slices
  std::atomic<std::uint64_t> units;     ///< as the guest counts them
  /// Of MPI that the rank made, but tests: by these what guests cost is found. 0: not counted.
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint32_t> in_slice;  ///< 1: at this moment
};

}  // namespace meantime::node
