// Those that only move data.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "coll/by_nodes.h"
#include "coll/by_nodes_steps.h"
#include "coll/thresholds.h"
#include "core/object/handles.h"

namespace meantime::coll::by_nodes {
namespace {

using Memory = std::unique_ptr<char[]>;
Memory memory_for(std::size_t bytes) {
  return std::make_unique_for_overwrite<char[]>(bytes);
}
Piece bytes_at(char* place, std::size_t bytes) {
  return {place, static_cast<MPI_Count>(bytes), *resolve(MPI_BYTE)};
}
Blocks blocks_at(char* place, std::size_t bytes_of_each) {
  return {place, static_cast<MPI_Count>(bytes_of_each), *resolve(MPI_BYTE)};
}

/// On an average node.
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

/// The speaker's error becomes that of its node, whose ranks find that it gives them something else
/// than they expect.
int pass_here(FirstError error, const Piece& piece, int root, Communicator& here) {
  char other[2] = {};
  const Piece wrong = bytes_at(other, piece.bytes() == 1 ? 2 : 1);
  error += bcast_here(error == MPI_SUCCESS ? piece : wrong, root, here);
  return error;
}

/// The blocks of all ranks, those of a node side by side: where they are, if they lie like that,
/// else in memory of this rank's own.
class InNodeOrder {
 public:
  InNodeOrder(const Blocks& blocks, const Communicator& comm)
      : blocks_(blocks), nodes_(*comm.nodes), size_(comm.size) {
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
      aside_ = memory_for(offset);
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
      return {aside_.get(), counts_here_.data(), displacements_here_.data(), *resolve(MPI_BYTE)};
    }
    const Piece first = blocks_[nodes_.first(nodes_.own)];
    return {first.buffer, first.count, *first.type};
  }
  /// Into that memory, and out of it.
  void take() const {
    each([](const Piece& block, char* place) { block.pack_to(place, 0, block.bytes()); });
  }
  void give() const {
    each([](const Piece& block, char* place) { block.unpack_from(place, 0, block.bytes()); });
  }

 private:
  Piece of_ranks(int first, int count, std::size_t begin, std::size_t bytes) const {
    if (aside()) {
      return bytes_at(aside_.get() + begin, bytes);
    }
    const Piece block = blocks_[first];
    return {block.buffer, block.count * count, *block.type};
  }
  template <class Do>
  void each(Do what) const {
    if (!aside()) {
      return;
    }
    char* place = aside_.get();
    for (const std::vector<int>& node : nodes_.members) {
      for (const int rank : node) {
        const Piece block = blocks_[rank];
        what(block, place);
        place += block.bytes();
      }
    }
  }

  const Blocks& blocks_;
  const Nodes& nodes_;
  int size_;
  std::vector<std::size_t> begins_;  ///< by node, and the end
  std::vector<MPI_Count> counts_here_;
  std::vector<MPI_Count> displacements_here_;
  Memory aside_;
};

}  // namespace

bool possible(const Communicator& comm) {
  return comm.nodes != nullptr;
}

bool can_gather(std::size_t block, const Communicator& comm) {
  return possible(comm) && ranks_a_node(comm) >= thresholds::ranks_to_gather &&
         block <= thresholds::gather_by_nodes / largest_node(comm);
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

int barrier(Communicator& comm) {
  const Nodes& nodes = *comm.nodes;
  FirstError error;
  error += barrier_here(*nodes.here);
  if (nodes.is_first()) {
    Datatype& byte = *resolve(MPI_BYTE);
    char out = 0;
    char in = 0;
    const int count = nodes.count();
    for (int distance = 1; distance < count; distance *= 2) {
      Exchange exchange(comm);
      exchange.receive({&in, 1, byte}, nodes.first((nodes.own + count - distance) % count));
      exchange.send({&out, 1, byte}, nodes.first((nodes.own + distance) % count));
      error += exchange.wait();
    }
  }
  error += barrier_here(*nodes.here);
  return error;
}

/// Between nodes along a binomial tree, whose root is the root's node.
int bcast(const Piece& piece, int root, Communicator& comm) {
  const Nodes& nodes = *comm.nodes;
  const int root_node = nodes.node_of(root);
  const int count = nodes.count();
  const int place = (nodes.own + count - root_node) % count;
  const auto speaker_at = [&](int other) {
    return other == 0 ? root : nodes.first((other + root_node) % count);
  };
  FirstError error;
  if (comm.rank == speaker_at(place)) {
    int distance = 1;
    while (distance < count && (place & distance) == 0) {
      distance *= 2;
    }
    Exchange exchange(comm);
    if (place != 0) {
      exchange.receive(piece, speaker_at(place - distance));
      exchange.wait();
    }
    for (distance /= 2; distance > 0; distance /= 2) {
      if (place + distance < count) {
        exchange.send(piece, speaker_at(place + distance));
      }
    }
    error += exchange.wait();
  }
  return pass_here(error, piece, speaker_here(comm, root), *nodes.here);
}

int gather(const Piece& send, const Blocks& receive, int root, Communicator& comm) {
  const Nodes& nodes = *comm.nodes;
  Communicator& here = *nodes.here;
  const int speaker = speaker_here(comm, root);
  FirstError error;
  if (comm.rank == root) {
    const InNodeOrder all(receive, comm);
    Exchange exchange(comm);
    for (int node = 0; node < nodes.count(); ++node) {
      if (node != nodes.own) {
        exchange.receive(all.of_node(node), nodes.first(node));
      }
    }
    const Piece own = send.in_place() && all.aside() ? receive[root] : send;
    error += gather_here(own, all.here(), speaker, here);
    error += exchange.wait();
    if (error == MPI_SUCCESS) {
      all.give();
    }
  } else if (here.rank != speaker || nodes.own == nodes.node_of(root)) {
    error += gather_here(send, receive, speaker, here);
  } else if (here.size == 1) {
    Exchange exchange(comm);
    exchange.send(send, root);
    error += exchange.wait();
  } else {
    const std::size_t block = send.bytes();
    const std::size_t bytes = block * static_cast<std::size_t>(here.size);
    const Memory memory = memory_for(bytes);
    error += gather_here(send, blocks_at(memory.get(), block), speaker, here);
    Exchange exchange(comm);
    exchange.send(error == MPI_SUCCESS ? bytes_at(memory.get(), bytes) : nothing(), root);
    error += exchange.wait();
  }
  return error;
}

int scatter(const Blocks& send, const Piece& receive, int root, Communicator& comm) {
  const Nodes& nodes = *comm.nodes;
  Communicator& here = *nodes.here;
  const int speaker = speaker_here(comm, root);
  FirstError error;
  if (comm.rank == root) {
    const InNodeOrder all(send, comm);
    all.take();
    Exchange exchange(comm);
    for (int node = 0; node < nodes.count(); ++node) {
      if (node != nodes.own) {
        exchange.send(all.of_node(node), nodes.first(node));
      }
    }
    error += scatter_here(all.here(), receive, speaker, here);
    error += exchange.wait();
  } else if (here.rank != speaker || nodes.own == nodes.node_of(root)) {
    error += scatter_here(send, receive, speaker, here);
  } else if (here.size == 1) {
    Exchange exchange(comm);
    exchange.receive(receive, root);
    error += exchange.wait();
  } else {
    // If there was an error, blocks that are too long tell the others.
    const std::size_t block = receive.bytes();
    const auto ranks = static_cast<std::size_t>(here.size);
    const Memory memory = memory_for((block + 1) * ranks);
    Exchange exchange(comm);
    exchange.receive(bytes_at(memory.get(), block * ranks), root);
    error += exchange.wait();
    error += scatter_here(blocks_at(memory.get(), error == MPI_SUCCESS ? block : block + 1),
                          receive, speaker, here);
  }
  return error;
}

/// Each node's first rank sends its node's blocks to those of all others.
int allgather(const Piece& send, const Blocks& receive, Communicator& comm) {
  const Nodes& nodes = *comm.nodes;
  Communicator& here = *nodes.here;
  const InNodeOrder all(receive, comm);
  const bool stays = send.in_place() && nodes.is_first() && !all.aside();
  FirstError error;
  error += gather_here(send.in_place() && !stays ? receive[comm.rank] : send, all.here(), 0, here);
  if (nodes.is_first()) {
    Exchange exchange(comm);
    for (int distance = 1; distance < nodes.count(); ++distance) {
      const int from = (nodes.own + nodes.count() - distance) % nodes.count();
      exchange.receive(all.of_node(from), nodes.first(from));
    }
    for (int distance = 1; distance < nodes.count(); ++distance) {
      const int to = (nodes.own + distance) % nodes.count();
      exchange.send(error == MPI_SUCCESS ? all.of_node(nodes.own) : nothing(), nodes.first(to));
    }
    error += exchange.wait();
  }
  error += pass_here(error, all.all(), 0, here);
  if (error == MPI_SUCCESS) {
    all.give();
  }
  return error;
}

/// Each node's first rank has all blocks from and for its node, and changes them for others' in one
/// message with each of those. Where blocks lie:
///   given, got   for each rank of this node those for, or from, all ranks
///   out, in      for each node: for each rank that they come from those for each of the other
int alltoall(const Blocks& send, const Blocks& receive, Communicator& comm) {
  const Nodes& nodes = *comm.nodes;
  Communicator& here = *nodes.here;
  const Piece from = send.in_place() ? receive[0] : send[0];
  const Piece given_here(from.buffer, from.count * comm.size, *from.type);
  const Piece got_here(receive[0].buffer, receive[0].count * comm.size, *receive[0].type);
  FirstError error;
  if (!nodes.is_first()) {
    error += gather_here(given_here, receive, 0, here);
    error += scatter_here(receive, got_here, 0, here);
    return error;
  }
  const std::size_t block = receive.bytes(0);
  const auto ranks = static_cast<std::size_t>(comm.size);
  const auto ranks_here = static_cast<std::size_t>(here.size);
  const std::size_t bytes = block * ranks * ranks_here;
  const Memory memory = memory_for(4 * bytes + ranks_here);
  char* const given = memory.get();
  char* const out = given + bytes;
  char* const in = out + bytes;
  char* const got = in + bytes;
  // For each block: where it is in `given` and `got`, in `out`, in `in`.
  const auto for_each = [&](auto what) {
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
  };
  error += gather_here(given_here, blocks_at(given, block * ranks), 0, here);
  for_each([&](std::size_t at, std::size_t at_out, std::size_t) {
    std::memcpy(out + at_out, given + at, block);
  });
  Exchange exchange(comm);
  std::size_t begin = 0;
  for (int node = 0; node < nodes.count(); ++node) {
    const std::size_t both =
        nodes.members[static_cast<std::size_t>(node)].size() * ranks_here * block;
    if (node == nodes.own) {
      std::memcpy(in + begin, out + begin, both);
    } else {
      exchange.receive(bytes_at(in + begin, both), nodes.first(node));
      exchange.send(error == MPI_SUCCESS ? bytes_at(out + begin, both) : nothing(),
                    nodes.first(node));
    }
    begin += both;
  }
  error += exchange.wait();
  for_each([&](std::size_t at, std::size_t, std::size_t at_in) {
    std::memcpy(got + at, in + at_in, block);
  });
  // If there was an error, blocks that are too long tell the others.
  error += scatter_here(blocks_at(got, error == MPI_SUCCESS ? block * ranks : block * ranks + 1),
                        got_here, 0, here);
  return error;
}

}  // namespace meantime::coll::by_nodes
