// The nodes of a communicator whose ranks are on several: who is where, and a communicator of the
// ranks of this one, which meet in shared memory. For collectives in two steps
// (coll/by_nodes/by_nodes.h).
//   first     the lowest rank of a node, which speaks for it
#pragma once

#include <memory>
#include <vector>

#include "core/comm/communicator.h"

namespace meantime {

struct Nodes {
  using Members = std::vector<std::vector<int>>;

  explicit Nodes(std::shared_ptr<const Members> of_nodes);
  ~Nodes();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  const std::shared_ptr<const Members> held;  ///< of MPI_COMM_WORLD by all ranks of a host
  const Members& members;        ///< ranks of each node, ascending; nodes by their first
  int own = 0;                   ///< index of this rank's node
  Communicator* here = nullptr;  ///< of its ranks, in this order

  int count() const { return static_cast<int>(members.size()); }
  int first(int node) const { return members[static_cast<std::size_t>(node)].front(); }
  bool is_first() const { return here->rank == 0; }
  /// Of that rank, the index of its node.
  int node_of(int rank) const;
};

namespace core {

/// Of a communicator that is new, by all of its members: what its collectives need where the job
/// has several nodes. Nothing if it has one.
int settle_on_nodes(Communicator& comm);
/// The same for MPI_COMM_WORLD, whose ranks need not ask each other.
void settle_world_on_nodes(Communicator& world);

}  // namespace core
}  // namespace meantime
