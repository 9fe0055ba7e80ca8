// The seam through which non-blocking collectives are moved on whenever their rank is in MPI.
// src/coll registers itself here, because the core must not know it.
#pragma once

#include <atomic>

#include "rank/rank.h"

namespace meantime::node {
struct Waiter;
}

namespace meantime::core {

/// What src/coll does for the rank's collectives that are under way. Null = there never were any,
/// so that a rank without them pays one load.
struct CollectiveHooks {
  bool (*advance)();           ///< true if anything moved
  bool (*arm)(node::Waiter&);  ///< each completion for them counts the waiter down; true if
                               ///< there may be such completions
  void (*disarm)(node::Waiter&);
  void (*hand_over)(node::Waiter& heir);
};
/// One for all ranks of a host, any of which may be the first. Relaxed: it leads to constants only.
inline std::atomic<const CollectiveHooks*> registered_collective_hooks{nullptr};

inline const CollectiveHooks* collective_hooks() {
  return registered_collective_hooks.load(std::memory_order_relaxed);
}
inline void register_collective_hooks(const CollectiveHooks& hooks) {
  if (collective_hooks() == nullptr) [[unlikely]] {
    registered_collective_hooks.store(&hooks, std::memory_order_relaxed);
  }
}

inline bool advance_collectives() {
  const CollectiveHooks* const hooks = collective_hooks();
  return hooks != nullptr && hooks->advance();
}
/// A rank that sleeps for something else must wake up for its collectives too: others wait for
/// them. And while something of it waits for memory, for which nobody rings, it only naps. True if
/// completions may count the waiter down.
bool arm_background(node::Waiter& waiter);
void disarm_background(node::Waiter& waiter);
/// Before a thread sleeps or leaves MPI: what it has moved on, others look after from now on
/// (coll/schedule/progress.h). One load if there is nothing.
void hand_over_background_now(Rank& rank);
inline void hand_over_background(Rank& rank) {
  if (rank.unattended) [[unlikely]] {
    hand_over_background_now(rank);
  }
}
/// What every Awaited does before the sleep.
void let_go_before_sleep(Rank& rank);
/// wait::Awaited's: who awaits something of another node asks the kernel.
int cost_of_look(const Rank& rank);

}  // namespace meantime::core
