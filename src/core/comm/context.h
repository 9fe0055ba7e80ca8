// Contexts: the numbers that keep the messages of communicators apart.
//   block    a place in the segment with a context number for good, a count of the ranks that still
//            have a communicator of it, and, from its first collective on, an area for collectives
// The last rank to leave puts the block on the node's free list, so a number is only given out
// again when no rank has a communicator, or an operation in flight, with it: a job may make and
// free communicators for ever. An area stays with its block; there are lists for blocks with areas
// of different sizes, so the memory is never more than what was in use at once.
//   over nodes
//            where members may be on several: a number without a block, given once and never again
// Numbers go up in steps of `context_step`; those between are for the context offsets
// (core/request/point_to_point.h).
#pragma once

#include <cstdint>

#include "core/comm/communicator.h"
#include "node/layout.h"

namespace meantime {

namespace core {

struct Context {
  std::uint32_t number = 0;
  std::uint32_t members = 0;
  node::Link block = 0;
};

inline constexpr std::uint32_t world_context = context_step;
inline constexpr std::uint32_t self_context = 2 * context_step;
inline constexpr std::uint32_t node_context = 3 * context_step;  ///< of the ranks of a node

/// A context for a new communicator of `members` ranks, each of which must leave it once.
/// `with_collectives`: these may want an area. Waits for memory in a call on `parent`,
/// MPI_Comm_idup too, where the alternative is to fail (core/request/segment_memory.h).
/// MPI_ERR_NO_MEM when the segment is that small.
int acquire_context(const Communicator& parent, int members, bool with_collectives,
                    Context* context);

/// For ranks of this node alone, whose parent is on several. Without memory for a block it has
/// none, and they go by messages.
int acquire_context_here(const Communicator& parent, int members, Context* context);
/// Of a new communicator whose ranks are all on one node and whose parent's were on several, by all
/// of its members: they get a block in their node's segment for its collectives.
int share_block(Communicator& comm);

/// This rank's last collective in the context is over.
void finish_context(node::Link block);
/// All ranks have finished: nobody reads what this rank gave to the collectives any more.
bool all_finished(node::Link block);
/// This rank, which has finished, is through with the context. Any rank may be the last.
void leave_context(node::Link block);

/// The communicator's area for collectives. The first member that asks makes it, so that one
/// without collectives costs nothing. 0, then for all members alike: there is no memory for it.
node::Link collective_area(const Communicator& comm);

}  // namespace core
}  // namespace meantime
