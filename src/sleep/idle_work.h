// Something to do in the place of a sleep: guest work by a function of the user's
// (core/start/guest_function.h). To everybody else who does it sleeps: armed, counted, signalled by
// the same word, at which it looks after each slice.
//   rest   nobody works, so that who looks for a deadlock finds all threads asleep (deadlock.h). It
//          begins when all ranks sleep or work, and nothing that Meantime knows of can go on: so
//          it takes no time that anybody waits for. Its end (Header::rest_until_ns) orders nothing:
//          who has not seen it yet is found running, and looked at again
#pragma once

#include <atomic>
#include <cstdint>

#include "node/guest_work.h"

namespace meantime::wait {

class IdleWork {
 public:
  /// Slices, as long as `word` is `asleep`, until `until_ns` (CLOCK_MONOTONIC) at most. Returns the
  /// time before which it does nothing more: 0, none; ~0, for ever. `account`: the sleeper's.
  virtual std::uint64_t run(const std::atomic<std::uint32_t>& word, std::uint32_t asleep,
                            std::uint64_t until_ns, node::GuestWork& account) = 0;

 protected:
  ~IdleWork() = default;
};

namespace detail {
extern constinit IdleWork* host_idle_work;
}

/// Of this host's sleepers; nullptr: they sleep. Set in MPI_Init, and taken back when no thread
/// sleeps any more.
inline IdleWork*& idle_work() {
  return detail::host_idle_work;
}

}  // namespace meantime::wait
