// What it costs here to wake a thread that sleeps: from the system call on one CPU until the
// sleeper runs on another. Whoever has a CPU of his own polls for a few of these before he sleeps
// (policy/policy.h).
//   cost   the upper quartile of 15 futex wake-ups, within the bounds below
// The sleeper has slept for some 20 us each time: a CPU that has idled for longer may lie in a
// deeper idle state and take longer. Knows no jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace meantime::machine {

/// A figure outside of these is a disturbed measurement, or nothing that the default should follow.
inline constexpr std::uint64_t least_wake_up_ns = 15'000;
inline constexpr std::uint64_t most_wake_up_ns = 100'000;

/// Takes about a millisecond, and three at most: the threads that measure end by themselves.
/// Nothing if there are no two CPUs in this process's mask, or if the machine is too busy for a
/// figure (not enough wake-ups in that time, or they differ by more than a factor of three).
std::optional<std::uint64_t> measure_wake_up_ns();

struct WakeUpCost {
  std::uint64_t ns = 0;  ///< 0: unknown
  std::string source;    ///< for people: "measured", "from FILE", or why it is unknown
};

/// From the user's cache, else measured and put there (machine/wake_up_cache.h).
WakeUpCost wake_up_cost();
/// Measured, the cache left alone: for who has changed what a wake-up costs, by a bound on idle
/// states.
WakeUpCost changed_wake_up_cost();

/// The CPUs that are measured: first and last of this process's mask; where they are many, not two
/// threads of one core. False if there are no two.
bool choose_cpus(int& first, int& last);

}  // namespace meantime::machine
