// Collectives of a communicator over several nodes, in two steps: between the ranks of one node,
// and between nodes, for each of which one rank sends and receives. As many messages go over the
// network as there are nodes, not ranks. How a step is done, and when, steps.h knows.
//   speaker   who sends and receives for a node: the root, for its own; else the node's first rank
// Reductions join the values of all ranks in the order of ranks, wherever those are, so that their
// bits do not depend on it (DESIGN.md decision 10): a node's values travel, not their sum. That is
// for short ones; long ones are split among all ranks (schedule/plans_reduce.cpp).
// Rank's lock held; arguments checked.
#pragma once

#include "coll/blocks.h"
#include "coll/by_nodes/steps.h"
#include "coll/elements.h"
#include "core/comm/communicator.h"

namespace meantime::coll::by_nodes {

// All members find the same. So of a gather, scatter or alltoall with one length it depends on
// that, which all know; with counts (…v), of which they do not know each other's, on where the
// ranks are, and how a block goes is its two ranks' (uneven.cpp, alltoallv.cpp).
bool possible(const Communicator& comm);
bool can_reduce(const Reduction& reduction, How how, const Communicator& comm);  ///< or allreduce
bool can_gather(std::size_t block, How how, const Communicator& comm);           ///< or scatter
bool can_allgather(const Blocks& receive, const Communicator& comm);
bool can_alltoall(std::size_t block, const Communicator& comm);
bool can_gatherv(const Communicator& comm);    ///< or scatterv
bool can_alltoallv(const Communicator& comm);  ///< or alltoallw
bool can_exchange_with_neighbours(std::size_t block, Communicator& comm);
/// How many ranks it has.
std::size_t largest_node(const Communicator& comm);
/// On an average node of a communicator that has several.
int ranks_a_node(const Communicator& comm);

void barrier(Steps& steps);
void bcast(Steps& steps, const Piece& piece, int root);
/// `receive` matters at the root only, and of a scatter `send`.
void gather(Steps& steps, const Piece& send, const Blocks& receive, int root);
void scatter(Steps& steps, const Blocks& send, const Piece& receive, int root);
void allgather(Steps& steps, const Piece& send, const Blocks& receive);
void alltoall(Steps& steps, const Blocks& send, const Blocks& receive);
void gatherv(Steps& steps, const Piece& send, const Blocks& receive, int root);
void scatterv(Steps& steps, const Blocks& send, const Piece& receive, int root);
void alltoallv(Steps& steps, const Blocks& send, const Blocks& receive);
void neighbor_allgather(Steps& steps, const Piece& send, const Blocks& receive);
void neighbor_alltoall(Steps& steps, const Blocks& send, const Blocks& receive);
void reduce(Steps& steps, const Reduction& reduction, int root);
void allreduce(Steps& steps, const Reduction& reduction);

}  // namespace meantime::coll::by_nodes
