// Gatherv and scatterv: short blocks in a parcel for each node, long ones as messages.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "coll/by_nodes/by_nodes.h"
#include "coll/by_nodes/parcel.h"
#include "coll/by_nodes/steps.h"
#include "coll/thresholds.h"

namespace meantime::coll::by_nodes {
namespace {

/// The blocks of this node's ranks, where they lie.
class BlocksHere {
 public:
  BlocksHere(const Blocks& blocks, const Nodes& nodes) {
    for (const int rank : nodes.members[static_cast<std::size_t>(nodes.own)]) {
      const Piece block = blocks[rank];
      counts_.push_back(block.count);
      places_.push_back(static_cast<MPI_Count>(reinterpret_cast<std::uintptr_t>(block.buffer)));
      types_.push_back(block.type->handle());
    }
  }
  Blocks get() const { return {MPI_BOTTOM, counts_.data(), places_.data(), types_.data()}; }

 private:
  std::vector<MPI_Count> counts_;
  std::vector<MPI_Count> places_;
  std::vector<MPI_Datatype> types_;
};

/// How long a short block may be: the same at all members.
std::size_t longest_short(const Communicator& comm) {
  return std::min(thresholds::short_by_nodes, thresholds::short_of_node / largest_node(comm));
}

/// A node's first rank makes one parcel of those of its ranks, and sends it to the root.
void give_up(Steps& steps, const Piece& send, int root, std::size_t most) {
  const auto ranks = static_cast<std::size_t>(steps.here.size);
  const std::size_t stride = parcel_of(1, most);
  const bool speaks = steps.nodes.is_first();
  char* const places = steps.memory(speaks ? ranks * stride : stride);
  Packed own(places, most, steps);
  own.put(send);
  steps.gather_up_to_here(speaks ? bytes_at(MPI_IN_PLACE, 0) : own.all(), blocks_at(places, stride),
                          parcel_of(1, 0));
  if (!speaks) {
    return;
  }
  steps.wait();
  const auto all = std::make_shared<Late>();
  steps.call([=](auto&) {
    *all = {places, 0};
    int error = MPI_SUCCESS;
    for (std::size_t rank = 0; rank < ranks && error == MPI_SUCCESS; ++rank) {
      Walk walk(places + rank * stride, most);
      const Walk::Entry entry = walk.next();
      std::memmove(places + all->bytes, entry.begin, entry.bytes());
      all->bytes += entry.bytes();
      error = walk.check();
    }
    return error;
  });
  steps.send(*all, root);
}

}  // namespace

bool can_gatherv(const Communicator& comm) {
  return possible(comm) && ranks_a_node(comm) >= thresholds::gather_at_once.ranks_a_node;
}

void gatherv(Steps& steps, const Piece& send, const Blocks& receive, int root) {
  const Nodes& nodes = steps.nodes;
  const std::size_t most = longest_short(steps.comm);
  const int speaker = speaker_here(steps.comm, root);
  if (nodes.own != nodes.node_of(root)) {
    const bool alone = steps.here.size == 1;
    if (alone || send.bytes() > most) {
      steps.send_aside(send, root);
    }
    if (!alone) {
      give_up(steps, send, root, most);
    }
    return;
  }
  if (steps.comm.rank != root) {
    steps.gather_here(send, receive, speaker);
    return;
  }
  std::vector<Expected> parcels;
  for (int node = 0; node < nodes.count(); ++node) {
    const std::vector<int>& ranks = nodes.members[static_cast<std::size_t>(node)];
    if (node == nodes.own) {
      continue;
    }
    std::vector<Piece> blocks;
    for (const int rank : ranks) {
      blocks.push_back(receive[rank]);
      if (ranks.size() == 1 || blocks.back().bytes() > most) {
        steps.receive_aside(blocks.back(), rank);
      }
    }
    if (ranks.size() > 1) {
      const std::size_t room = parcel_of(ranks.size(), most);
      parcels.push_back({steps.memory(room), ranks, std::move(blocks)});
      steps.receive_up_to(bytes_at(parcels.back().parcel, room), parcel_of(ranks.size(), 0),
                          ranks.front());
    }
  }
  steps.wait();
  unpack(steps, most, parcels);
  steps.gather_here(send, BlocksHere(receive, nodes).get(), speaker);
}

void scatterv(Steps& steps, const Blocks& send, const Piece& receive, int root) {
  const Nodes& nodes = steps.nodes;
  const std::size_t most = longest_short(steps.comm);
  const int speaker = speaker_here(steps.comm, root);
  if (steps.comm.rank == root) {
    for (int node = 0; node < nodes.count(); ++node) {
      const std::vector<int>& ranks = nodes.members[static_cast<std::size_t>(node)];
      if (node == nodes.own) {
        continue;
      }
      for (const int rank : ranks) {
        if (ranks.size() == 1 || send.bytes(rank) > most) {
          steps.send_aside(send[rank], rank);
        }
      }
      if (ranks.size() > 1) {
        Packed parcel(steps.memory(parcel_of(ranks.size(), most)), most, steps);
        for (const int rank : ranks) {
          parcel.put(send[rank]);
        }
        steps.send(parcel.all(), ranks.front());
      }
    }
    steps.scatter_here(BlocksHere(send, nodes).get(), receive, speaker);
    return;
  }
  if (nodes.own == nodes.node_of(root)) {
    steps.scatter_here(send, receive, speaker);
    return;
  }
  const auto ranks = static_cast<std::size_t>(steps.here.size);
  if (ranks == 1 || receive.bytes() > most) {
    steps.receive_aside(receive, root);
  }
  if (ranks == 1) {
    return;
  }
  if (!nodes.is_first()) {
    const std::size_t room = parcel_of(1, most);
    char* const entry = steps.memory(room);
    steps.take_here(bytes_at(entry, room), parcel_of(1, 0));
    steps.wait();
    unpack(steps, most, {{entry, {root}, {receive}}});
    return;
  }
  const std::size_t room = parcel_of(ranks, most);
  char* const parcel = steps.memory(room);
  steps.receive_up_to(bytes_at(parcel, room), parcel_of(ranks, 0), root);
  steps.wait();
  const auto entries = std::make_shared<std::vector<Late>>(ranks);
  steps.call([=](auto&) {
    Walk walk(parcel, most);
    for (Late& late : *entries) {
      const Walk::Entry entry = walk.next();
      late = {entry.begin, entry.bytes()};
    }
    return walk.check();
  });
  steps.hand_out_here(entries->data(), parcel_of(1, most));
  unpack(steps, most, {{parcel, {root}, {receive}}});
}

}  // namespace meantime::coll::by_nodes
