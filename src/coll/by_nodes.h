// Blocking collectives of a communicator over several nodes, in two steps: ranks of one node meet
// in shared memory, and one of each node sends and receives for it. As many messages go over the
// network as there are nodes, not ranks.
//   speaker   who sends and receives for a node: the root, for its own; else the node's first rank
// Reductions join the values of all ranks in the order of ranks, wherever those are, so that their
// bits do not depend on it (DESIGN.md decision 10): a node's values travel, not their sum. That is
// for short ones; long ones are split among all ranks (schedule/plans_reduce.cpp).
// All return an MPI error class; rank's lock held; arguments checked.
#pragma once

#include "coll/blocks.h"
#include "coll/elements.h"
#include "core/comm/communicator.h"

namespace meantime::coll::by_nodes {

// All members find the same. So of a gather, scatter or alltoall that is where MPI says that all
// know how long a `block` is, and no form with counts (…v).
bool possible(const Communicator& comm);
bool possible(const Reduction& reduction, const Communicator& comm);
bool can_gather(std::size_t block, const Communicator& comm);  ///< or scatter
bool can_allgather(const Blocks& receive, const Communicator& comm);
bool can_alltoall(std::size_t block, const Communicator& comm);

int barrier(Communicator& comm);
int bcast(const Piece& piece, int root, Communicator& comm);
/// `receive` matters at the root only, and of a scatter `send`.
int gather(const Piece& send, const Blocks& receive, int root, Communicator& comm);
int scatter(const Blocks& send, const Piece& receive, int root, Communicator& comm);
int allgather(const Piece& send, const Blocks& receive, Communicator& comm);
int alltoall(const Blocks& send, const Blocks& receive, Communicator& comm);
int reduce(const Reduction& reduction, int root, Communicator& comm);
int allreduce(const Reduction& reduction, Communicator& comm);

}  // namespace meantime::coll::by_nodes
