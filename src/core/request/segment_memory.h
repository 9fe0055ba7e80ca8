// Memory of the node's segment for what is made in an MPI call: where there is none left the call
// waits on the ladder, as for anything else that others do.
#pragma once

#include <cstddef>
#include <functional>

#include "core/comm/communicator.h"
#include "node/layout.h"
#include "wait/wait.h"

namespace meantime::core {

/// What `look` finds, which gives 0 while there is nothing of so many bytes. Others give up what
/// they have that is free when they sleep, and receive what fills the segment when they come to it.
/// 0 at once if it has not so many bytes in all, and when nobody will ever give any back. `comm`:
/// what the call is on. Rank's lock held.
node::Link segment_memory(const Communicator& comm, std::size_t bytes,
                          const std::function<node::Link()>& look);
/// The same of a call that cannot do without, or not all of its ranks would notice: when nobody
/// will ever give any back, the search for deadlocks tells the job.
node::Link needed_segment_memory(const Communicator& comm, std::size_t bytes,
                                 const std::function<node::Link()>& look,
                                 void (*until)(wait::Awaited&) = wait::until);
/// From the calling rank's pool, which takes it back.
node::Link segment_memory(const Communicator& comm, std::size_t bytes);

}  // namespace meantime::core
