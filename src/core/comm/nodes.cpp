#include "core/comm/nodes.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "core/comm/context.h"
#include "core/comm/invitation.h"
#include "net/network.h"
#include "node/segment.h"

namespace meantime {

Nodes::Nodes(std::shared_ptr<const Members> of_nodes) : held(std::move(of_nodes)), members(*held) {}

Nodes::~Nodes() {
  drop(here);
}

int Nodes::node_of(int rank) const {
  const auto found = std::find_if(members.begin(), members.end(), [rank](const auto& of_node) {
    return std::binary_search(of_node.begin(), of_node.end(), rank);
  });
  return static_cast<int>(found - members.begin());
}

namespace core {
namespace {

std::shared_ptr<const Nodes::Members> members_of(const Communicator& comm) {
  auto members = std::make_shared<Nodes::Members>();
  std::map<int, std::size_t> places;
  for (int rank = 0; rank < comm.size; ++rank) {
    const int node = net::network()->node_of(comm.group->world_rank(rank));
    const auto [place, is_new] = places.try_emplace(node, members->size());
    if (is_new) {
      members->emplace_back();
    }
    (*members)[place->second].push_back(rank);
  }
  return members;
}

/// The same for all ranks of a host, and for ever: of those who come at once one keeps what it has
/// made, which the others read behind the pointer (release, acquire). No guarded variable: who
/// waits for one sleeps with all ranks of its worker.
std::shared_ptr<const Nodes::Members> members_of_world(const Communicator& world) {
  using Held = const std::shared_ptr<const Nodes::Members>;
  static constinit std::atomic<Held*> kept{nullptr};
  Held* held = kept.load(std::memory_order_acquire);
  if (held == nullptr) {
    auto made = std::make_unique<Held>(members_of(world));
    if (kept.compare_exchange_strong(held, made.get(), std::memory_order_acq_rel)) {
      held = made.release();
    }
  }
  return *held;
}

/// Without the communicator of this node.
std::unique_ptr<Nodes> nodes_of(const Communicator& comm,
                                std::shared_ptr<const Nodes::Members> members) {
  auto nodes = std::make_unique<Nodes>(std::move(members));
  nodes->own = nodes->node_of(comm.rank);
  return nodes;
}

Group* group_here(const Communicator& comm, const Nodes& nodes) {
  std::vector<int> world;
  for (const int rank : nodes.members[static_cast<std::size_t>(nodes.own)]) {
    world.push_back(comm.group->world_rank(rank));
  }
  return make_group(std::move(world));
}

}  // namespace

int settle_on_nodes(Communicator& comm) {
  if (net::network() == nullptr || comm.size == 1 || comm.is_inter()) {
    return MPI_SUCCESS;
  }
  if (comm.is_on_one_node()) {
    return share_block(comm);
  }
  std::unique_ptr<Nodes> nodes = nodes_of(comm, members_of(comm));
  const std::vector<int>& near = nodes->members[static_cast<std::size_t>(nodes->own)];
  Context context;
  int error = MPI_SUCCESS;
  if (near.size() == 1) {
    // Nobody to speak to.
  } else if (comm.rank == near.front()) {
    error = acquire_context_here(comm, static_cast<int>(near.size()), &context);
    for (std::size_t member = 1; error == MPI_SUCCESS && member < near.size(); ++member) {
      error = send_bytes(&context, sizeof context, near[member], share_tag, comm);
    }
  } else {
    error = receive_bytes(&context, sizeof context, near.front(), share_tag, comm);
  }
  if (error == MPI_SUCCESS) {
    nodes->here = assemble(context, group_here(comm, *nodes), nullptr, &comm);
    comm.nodes = std::move(nodes);
  }
  return error;
}

void settle_world_on_nodes(Communicator& world) {
  std::unique_ptr<Nodes> nodes = nodes_of(world, members_of_world(world));
  Context context;
  context.number = node_context;
  nodes->here = assemble(context, group_here(world, *nodes), nullptr, &world);
  // As large as all ranks would need.
  nodes->here->collective_area = node::segment().header().world_collective;
  world.nodes = std::move(nodes);
}

}  // namespace core
}  // namespace meantime
