// The seam through which non-blocking collectives are moved on whenever their rank is in MPI.
// src/coll registers itself here, because the core must not know it.
#pragma once

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
inline const CollectiveHooks* collective_hooks = nullptr;

inline bool advance_collectives() {
  return collective_hooks != nullptr && collective_hooks->advance();
}
/// A rank that sleeps for something else must wake up for its collectives too: others wait for
/// them. And while something of it waits for memory, for which nobody rings, it only naps. True if
/// completions may count the waiter down.
bool arm_background(node::Waiter& waiter);
void disarm_background(node::Waiter& waiter);
/// Before a thread sleeps or leaves MPI: what it has moved on, others look after from now on
/// (coll/progress.h). One load if there is nothing.
void hand_over_background_now(Rank& rank);
inline void hand_over_background(Rank& rank) {
  if (rank.unattended) [[unlikely]] {
    hand_over_background_now(rank);
  }
}

}  // namespace meantime::core
