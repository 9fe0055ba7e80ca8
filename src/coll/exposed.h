// Exposed blocks: large ones, that others read where they lie, in their owner's memory, so that
// they are copied once and not into shared memory and out of it.
//   exposure where a member's blocks are; it says so in its slot, or that it cannot expose them
//   refused  a member could not expose its blocks (no memory) or not read (no permission, any more)
// Two meetings: behind the first the blocks are read, behind the second their owners may write to
// their memory again. All decide alike: whether an exposure is missing all see in the slots of the
// first meeting; that somebody could not read them the last one of the second meeting finds, and
// all are told with its verdict. Then all do it with deposits, and expose nothing more on this
// communicator.
#pragma once

#include "coll/blocks.h"
#include "core/comm/communicator.h"

namespace meantime::coll {

/// In place of an MPI error class: nothing is done, and all members get this.
inline constexpr int refused = 0xff;

/// Whether an alltoall with blocks of this size had better go so; the same at all members.
bool worth_exposing(Communicator& comm, std::size_t block);
/// An MPI error class, or `refused`. Blocks of one size; `in_place`: both are the same.
int exposed_alltoall(const Blocks& send, const Blocks& receive, bool in_place, Communicator& comm);
/// By thread ranks of one host. An MPI error class, or `refused`. `sum`: bytes of all blocks;
/// nobody's own block is copied.
int exposed_allgather(const Piece& own, const Blocks& receive, std::size_t sum, Communicator& comm);

}  // namespace meantime::coll
