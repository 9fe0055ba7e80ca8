// Contexts: the numbers that keep the messages of communicators apart.
//   block    a place in the segment with a context number for good and a count of the ranks that
//            still have a communicator of it
// The last rank to leave puts the block on the node's free list, so a number is only given out
// again when no rank has a communicator, or an operation in flight, with it: a job may make and
// free communicators for ever. Even numbers; the odd twin is the collective plane.
#pragma once

#include <cstdint>

#include "node/layout.h"

namespace meantime::core {

struct Context {
  std::uint32_t number = 0;
  std::uint32_t members = 0;
  node::Link block = 0;
  node::Link collective_area = 0;
};

inline constexpr std::uint32_t world_context = 2;
inline constexpr std::uint32_t self_context = 4;

/// A context for a new communicator of `members` ranks, each of which must leave it once.
/// MPI_ERR_NO_MEM when the segment has no more.
int acquire_context(int members, bool with_collectives, Context* context);
/// This rank is through with the context. Any rank may be the last.
void leave_context(node::Link block);

}  // namespace meantime::core
