// What the kernel says of a thread of this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace meantime::ledger {

/// CPU time of a kernel thread, by its kernel id; a system call.
std::uint64_t cpu_ns_of(int thread);
/// How long it was ready to run and somebody else had the CPU, up to when it ran last: the second
/// number of schedstat. Nothing where the kernel keeps none, or no file can be opened just now.
/// Opens a file: some 6 us.
std::optional<std::uint64_t> ready_ns_of(int thread);
/// The same of the calling thread, whatever its number is in the namespace that /proc shows.
std::optional<std::uint64_t> own_ready_ns();

/// What an account in the segment has in place of a time that the kernel never told.
inline constexpr std::uint64_t untold_ns = ~std::uint64_t{0};
inline std::optional<std::uint64_t> told(const std::atomic<std::uint64_t>& place) {
  const std::uint64_t ns = place.load(std::memory_order_relaxed);
  return ns == untold_ns ? std::nullopt : std::optional(ns);
}

}  // namespace meantime::ledger
