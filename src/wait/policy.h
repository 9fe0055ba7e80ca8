// The policy: after each fruitless turn of a wait it names the next rung.
//   poll         look again at once
//   yield        give the core to whoever wants it, look again
//   park         sleep in the kernel until rung
// Settings: MEANTIME_WAIT = adaptive (default) | poll | yield | event.
#pragma once

#include <cstdint>

namespace meantime::wait {

enum class Rung : std::uint8_t { poll, yield, park };

enum class Mode : std::uint8_t { adaptive, poll, yield, event };

struct Policy {
  Mode mode = Mode::adaptive;
  bool crowded = false;  ///< more ranks than workers: a polling rank holds up the one it waits for

  /// `turns`: fruitless turns of this wait so far; `waited_ns` is 0 until the clock is looked at
  /// (every 64 turns); `patience_ns`: for how long this rank polls at present.
  Rung next(std::uint32_t turns, std::uint64_t waited_ns, std::uint64_t patience_ns) const;

  /// The patience for the next wait, from how long this one took. Polling pays for waits that are
  /// over within a few wake-ups; where waits are longer, or where a busy machine gives the core
  /// that we poll on to somebody we wait for only once we let go of it, patience shrinks to
  /// nothing within a dozen waits, and it comes back as quickly when waits become short again.
  std::uint64_t patience_after(std::uint64_t waited_ns, std::uint64_t patience_ns) const;
  std::uint64_t first_patience() const;
};

/// From the environment; a value that makes no sense is named in *problem and ignored.
Policy policy_from_environment(int ranks, int workers, const char** problem);

namespace detail {
extern constinit Policy host_policy;
}

/// This host's policy: set in MPI_Init, constant afterwards.
inline Policy& policy() {
  return detail::host_policy;
}

}  // namespace meantime::wait
