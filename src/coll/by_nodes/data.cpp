// Those that only move data.
#include <algorithm>
#include <cstring>
#include <vector>

#include "coll/by_nodes/by_nodes.h"
#include "coll/by_nodes/steps.h"
#include "coll/thresholds.h"
#include "core/object/handles.h"

namespace meantime::coll::by_nodes {
namespace {

/// The blocks of all ranks, those of a node side by side: where they are, if they lie like that,
/// else in memory of this rank's own.
class InNodeOrder {
 public:
  InNodeOrder(const Blocks& blocks, Steps& steps)
      : blocks_(blocks), steps_(steps), nodes_(steps.nodes), size_(steps.comm.size) {
    bool as_they_are = blocks.even();
    std::size_t offset = 0;
    for (const std::vector<int>& node : nodes_.members) {
      as_they_are &= node.back() - node.front() + 1 == static_cast<int>(node.size());
      begins_.push_back(offset);
      for (const int rank : node) {
        const std::size_t bytes = blocks.bytes(rank);
        if (begins_.size() == static_cast<std::size_t>(nodes_.own) + 1) {
          counts_here_.push_back(static_cast<MPI_Count>(bytes));
          displacements_here_.push_back(static_cast<MPI_Count>(offset));
        }
        offset += bytes;
      }
    }
    begins_.push_back(offset);
    if (!as_they_are) {
      aside_ = steps.memory(offset);
    }
  }

  bool aside() const { return aside_ != nullptr; }
  std::size_t bytes() const { return begins_.back(); }
  Piece all() const { return of_ranks(0, size_, 0, bytes()); }
  Piece of_node(int node) const {
    const auto index = static_cast<std::size_t>(node);
    return of_ranks(nodes_.first(node), static_cast<int>(nodes_.members[index].size()),
                    begins_[index], begins_[index + 1] - begins_[index]);
  }
  Blocks here() const {
    if (aside()) {
      return {aside_, counts_here_.data(), displacements_here_.data(), *resolve(MPI_BYTE)};
    }
    const Piece first = blocks_[nodes_.first(nodes_.own)];
    return {first.buffer, first.count, *first.type};
  }
  /// Into that memory, and out of it.
  void take() const {
    each([this](const Piece& block, const Piece& aside) { steps_.copy(block, aside); });
  }
  void give() const {
    each([this](const Piece& block, const Piece& aside) { steps_.copy(aside, block); });
  }

 private:
  Piece of_ranks(int first, int count, std::size_t begin, std::size_t bytes) const {
    if (aside()) {
      return bytes_at(aside_ + begin, bytes);
    }
    const Piece block = blocks_[first];
    return {block.buffer, block.count * count, *block.type};
  }
  template <class Do>
  void each(Do what) const {
    if (!aside()) {
      return;
    }
    char* place = aside_;
    for (const std::vector<int>& node : nodes_.members) {
      for (const int rank : node) {
        const Piece block = blocks_[rank];
        what(block, bytes_at(place, block.bytes()));
        place += block.bytes();
      }
    }
  }

  const Blocks& blocks_;
  Steps& steps_;
  const Nodes& nodes_;
  int size_;
  std::vector<std::size_t> begins_;  ///< by node, and the end
  std::vector<MPI_Count> counts_here_;
  std::vector<MPI_Count> displacements_here_;
  char* aside_ = nullptr;
};

}  // namespace

bool possible(const Communicator& comm) {
  return comm.nodes != nullptr;
}

int ranks_a_node(const Communicator& comm) {
  return comm.size / comm.nodes->count();
}

std::size_t largest_node(const Communicator& comm) {
  std::size_t largest = 0;
  for (const std::vector<int>& node : comm.nodes->members) {
    largest = std::max(largest, node.size());
  }
  return largest;
}

bool can_gather(std::size_t block, How how, const Communicator& comm) {
  const thresholds::GatherByNodes& worth =
      how == How::at_once ? thresholds::gather_at_once : thresholds::gather_scheduled;
  return possible(comm) && ranks_a_node(comm) >= worth.ranks_a_node &&
         block <= worth.of_node / largest_node(comm);
}

bool can_allgather(const Blocks& receive, const Communicator& comm) {
  if (!possible(comm) || ranks_a_node(comm) < thresholds::ranks_to_exchange) {
    return false;
  }
  std::size_t sum = 0;
  for (int rank = 0; rank < comm.size; ++rank) {
    sum += receive.bytes(rank);
  }
  return sum <= thresholds::allgather_by_nodes;
}

bool can_alltoall(std::size_t block, const Communicator& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size);
  return possible(comm) && ranks_a_node(comm) >= thresholds::ranks_to_exchange &&
         block <= thresholds::alltoall_by_nodes &&
         block <= thresholds::alltoall_of_node / ranks / largest_node(comm);
}

void barrier(Steps& steps) {
  const Nodes& nodes = steps.nodes;
  steps.gather_here(nothing(), blocks_at(nullptr, 0), 0);
  if (nodes.is_first()) {
    const int count = nodes.count();
    for (int distance = 1; distance < count; distance *= 2) {
      steps.wait();
      steps.receive(nothing(), nodes.first((nodes.own + count - distance) % count));
      steps.send(nothing(), nodes.first((nodes.own + distance) % count));
    }
    steps.wait();
  }
  steps.bcast_here(nothing(), 0);
}

/// Between nodes along a tree in which a node gives it to up to three others at a time: of up to
/// four nodes it is a star.
void bcast(Steps& steps, const Piece& piece, int root) {
  constexpr int base = thresholds::bcast_base;
  const Nodes& nodes = steps.nodes;
  const int root_node = nodes.node_of(root);
  const int count = nodes.count();
  const int place = (nodes.own + count - root_node) % count;
  const auto speaker_at = [&](int other) {
    return other == 0 ? root : nodes.first((other + root_node) % count);
  };
  if (steps.comm.rank == speaker_at(place)) {
    int distance = 1;
    while (distance < count && place / distance % base == 0) {
      distance *= base;
    }
    if (place != 0) {
      steps.receive(piece, speaker_at(place - place / distance % base * distance));
      steps.wait();
    }
    for (distance /= base; distance > 0; distance /= base) {
      for (int to = place + distance; to < std::min(count, place + base * distance);
           to += distance) {
        steps.send(piece, speaker_at(to));
      }
    }
  }
  steps.bcast_here(piece, speaker_here(steps.comm, root));
}

void gather(Steps& steps, const Piece& send, const Blocks& receive, int root) {
  const Nodes& nodes = steps.nodes;
  const int speaker = speaker_here(steps.comm, root);
  if (steps.comm.rank == root) {
    const InNodeOrder all(receive, steps);
    for (int node = 0; node < nodes.count(); ++node) {
      if (node != nodes.own) {
        steps.receive(all.of_node(node), nodes.first(node));
      }
    }
    const Piece own = send.in_place() && all.aside() ? receive[root] : send;
    steps.gather_here(own, all.here(), speaker);
    steps.wait();
    all.give();
  } else if (steps.here.rank != speaker || nodes.own == nodes.node_of(root)) {
    steps.gather_here(send, receive, speaker);
  } else if (steps.here.size == 1) {
    steps.send(send, root);
  } else {
    const std::size_t block = send.bytes();
    const std::size_t bytes = block * static_cast<std::size_t>(steps.here.size);
    char* const memory = steps.memory(bytes);
    steps.gather_here(send, blocks_at(memory, block), speaker);
    steps.wait();
    steps.send(bytes_at(memory, bytes), root);
  }
}

void scatter(Steps& steps, const Blocks& send, const Piece& receive, int root) {
  const Nodes& nodes = steps.nodes;
  const int speaker = speaker_here(steps.comm, root);
  if (steps.comm.rank == root) {
    const InNodeOrder all(send, steps);
    all.take();
    for (int node = 0; node < nodes.count(); ++node) {
      if (node != nodes.own) {
        steps.send(all.of_node(node), nodes.first(node));
      }
    }
    steps.scatter_here(all.here(), receive, speaker);
  } else if (steps.here.rank != speaker || nodes.own == nodes.node_of(root)) {
    steps.scatter_here(send, receive, speaker);
  } else if (steps.here.size == 1) {
    steps.receive(receive, root);
  } else {
    const std::size_t block = receive.bytes();
    const std::size_t bytes = block * static_cast<std::size_t>(steps.here.size);
    char* const memory = steps.memory(bytes);
    steps.receive(bytes_at(memory, bytes), root);
    steps.wait();
    steps.scatter_here(blocks_at(memory, block), receive, speaker);
  }
}

/// Each node's first rank sends its node's blocks to those of all others.
void allgather(Steps& steps, const Piece& send, const Blocks& receive) {
  const Nodes& nodes = steps.nodes;
  const InNodeOrder all(receive, steps);
  const bool stays = send.in_place() && nodes.is_first() && !all.aside();
  steps.gather_here(send.in_place() && !stays ? receive[steps.comm.rank] : send, all.here(), 0);
  if (send.in_place() || nodes.is_first()) {
    steps.wait();
  }
  if (nodes.is_first()) {
    for (int distance = 1; distance < nodes.count(); ++distance) {
      const int from = (nodes.own + nodes.count() - distance) % nodes.count();
      steps.receive(all.of_node(from), nodes.first(from));
    }
    for (int distance = 1; distance < nodes.count(); ++distance) {
      const int to = (nodes.own + distance) % nodes.count();
      steps.send(all.of_node(nodes.own), nodes.first(to));
    }
    steps.wait();
  }
  steps.bcast_here(all.all(), 0);
  if (all.aside()) {
    steps.wait();
    all.give();
  }
}

namespace {

/// Where the blocks of an alltoall lie in the memory of a node's first rank:
///   given, got   for each rank of this node those for, or from, all ranks
///   out, in      for each node: for each rank that they come from those for each of the other
struct Exchanged {
  const Nodes& nodes;
  std::size_t block;
  std::size_t ranks;
  std::size_t ranks_here;
  char* given;
  char* out;
  char* in;
  char* got;

  /// Of one of these four.
  std::size_t bytes() const { return block * ranks * ranks_here; }
  /// For each block: where it is in `given` and `got`, in `out`, in `in`.
  template <class Do>
  void for_each(Do what) const {
    std::size_t begin = 0;
    for (const std::vector<int>& node : nodes.members) {
      for (std::size_t own = 0; own < ranks_here; ++own) {
        for (std::size_t other = 0; other < node.size(); ++other) {
          what((own * ranks + static_cast<std::size_t>(node[other])) * block,
               (begin + own * node.size() + other) * block,
               (begin + other * ranks_here + own) * block);
        }
      }
      begin += ranks_here * node.size();
    }
  }
  int order_given() const {
    for_each([this](std::size_t at, std::size_t at_out, std::size_t) {
      std::memcpy(out + at_out, given + at, block);
    });
    return MPI_SUCCESS;
  }
  int order_got() const {
    for_each([this](std::size_t at, std::size_t, std::size_t at_in) {
      std::memcpy(got + at, in + at_in, block);
    });
    return MPI_SUCCESS;
  }
};

}  // namespace

/// Each node's first rank has all blocks from and for its node, and changes them for others' in one
/// message with each of those.
void alltoall(Steps& steps, const Blocks& send, const Blocks& receive) {
  const Nodes& nodes = steps.nodes;
  const MPI_Count size = steps.comm.size;
  const Piece from = send.in_place() ? receive[0] : send[0];
  const Piece given_here(from.buffer, from.count * size, *from.type);
  const Piece got_here(receive[0].buffer, receive[0].count * size, *receive[0].type);
  if (!nodes.is_first()) {
    steps.gather_here(given_here, receive, 0);
    if (send.in_place()) {
      steps.wait();
    }
    steps.scatter_here(receive, got_here, 0);
    return;
  }
  const std::size_t block = receive.bytes(0);
  Exchanged blocks{nodes,
                   block,
                   static_cast<std::size_t>(size),
                   static_cast<std::size_t>(steps.here.size),
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr};
  const std::size_t bytes = blocks.bytes();
  blocks.given = steps.memory(4 * bytes);
  blocks.out = blocks.given + bytes;
  blocks.in = blocks.out + bytes;
  blocks.got = blocks.in + bytes;
  steps.gather_here(given_here, blocks_at(blocks.given, block * blocks.ranks), 0);
  steps.wait();
  steps.call([blocks](auto&) { return blocks.order_given(); });
  std::size_t begin = 0;
  for (int node = 0; node < nodes.count(); ++node) {
    const std::size_t both =
        nodes.members[static_cast<std::size_t>(node)].size() * blocks.ranks_here * block;
    const Piece in = bytes_at(blocks.in + begin, both);
    const Piece out = bytes_at(blocks.out + begin, both);
    if (node == nodes.own) {
      steps.copy(out, in);
    } else {
      steps.receive(in, nodes.first(node));
      steps.send(out, nodes.first(node));
    }
    begin += both;
  }
  steps.wait();
  steps.call([blocks](auto&) { return blocks.order_got(); });
  steps.scatter_here(blocks_at(blocks.got, block * blocks.ranks), got_here, 0);
}

}  // namespace meantime::coll::by_nodes
