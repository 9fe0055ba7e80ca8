// The rung park: a sleep until somebody rings (doorbell.h), for whatever is awaited.
//   starving   the rank waits for memory or credit, which rings nobody when it becomes free: its
//              sleeps end by themselves
#pragma once

#include <cstdint>

#include "wait/wait.h"

namespace meantime {
struct Rank;
}

namespace meantime::wait {

inline constexpr std::uint64_t nap_for_memory_ns = 10'000'000;

struct Woken {
  bool signalled = false;          ///< by somebody; else its time was over, or it did not sleep
  bool moved = false;              ///< it has moved something since
  std::uint32_t signalled_at = 0;  ///< node::Waiter::signalled_at
};

/// A thread in a wait, which naps for memory or does not. A rank starves as long as one of its
/// threads does, whatever the others do. The rank's lock is held.
class Napper {
 public:
  explicit Napper(Rank& rank) : rank_(rank) {}
  ~Napper() { ends(); }
  Napper(const Napper&) = delete;
  Napper& operator=(const Napper&) = delete;
  void begins();
  void ends();

 private:
  Rank& rank_;
  bool naps_ = false;
};

/// Arms, looks again, sleeps, disarms. The rank's lock is held, but while it sleeps. `nanoseconds`:
/// after so many the sleep ends by itself; 0: it does not.
Woken park(Rank& rank, Awaited& what, std::uint64_t nanoseconds, Napper& napper);

/// Something of the rank moved, or a wait is over.
void end_of_starvation(Rank& rank);

}  // namespace meantime::wait
