// What the ranks of a grid give their neighbours, in blocks of one length: all that goes from one
// node to another in one message, and no message where no ranks of the two are neighbours.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "coll/by_nodes/by_nodes.h"
#include "coll/by_nodes/edges.h"
#include "coll/by_nodes/steps.h"
#include "coll/thresholds.h"

namespace meantime::coll::by_nodes {
namespace {

/// What a node's first rank has, in blocks:
///   given, got   for each rank of this node those for, or from, its neighbours
///   out, in      for each partner those for that node, or from it
class Exchanged {
 public:
  Exchanged(const Edges& edges, std::size_t block, std::size_t ranks_here, Steps& steps)
      : edges_(edges), block_(block), own_(steps.nodes.own) {
    const std::size_t bytes = ranks_here * edges.most * block;
    std::size_t sum = 0;
    for (const Edges::Partner& partner : edges.partners) {
      sum += partner.given.size();
    }
    given = steps.memory(2 * (bytes + sum * block));
    got = given + bytes;
    out_ = got + bytes;
    in_ = out_ + sum * block;
  }

  void order_given() const {
    char* to = out_;
    for (const Edges::Partner& partner : edges_.partners) {
      for (const Edges::Place& place : partner.given) {
        std::memcpy(to, given + at(place), block_);
        to += block_;
      }
    }
  }
  void order_got() const {
    std::size_t begin = 0;
    for (const Edges::Partner& partner : edges_.partners) {
      const char* from = (partner.node == own_ ? out_ : in_) + begin;
      for (const Edges::Place& place : partner.got) {
        std::memcpy(got + at(place), from, block_);
        from += block_;
      }
      begin += partner.got.size() * block_;
    }
  }
  void send_and_receive(Steps& steps) const {
    std::size_t begin = 0;
    for (const Edges::Partner& partner : edges_.partners) {
      const std::size_t bytes = partner.given.size() * block_;
      if (partner.node != own_) {
        steps.receive(bytes_at(in_ + begin, bytes), steps.nodes.first(partner.node));
        steps.send(bytes_at(out_ + begin, bytes), steps.nodes.first(partner.node));
      }
      begin += bytes;
    }
  }

  char* given;
  char* got;

 private:
  std::size_t at(const Edges::Place& place) const {
    return (place.rank * edges_.most + place.neighbour) * block_;
  }

  const Edges& edges_;  ///< the communicator's, which outlives its collectives
  const std::size_t block_;
  const int own_;
  char* out_;
  char* in_;
};

/// `for_neighbour`: what this rank has for the n-th.
template <class Send>
void exchange(Steps& steps, const Send& for_neighbour, const Blocks& receive) {
  const Edges& edges = *edges_of(steps.comm);
  const std::size_t block = receive.bytes(0);
  const std::size_t stride = edges.most * block;
  const bool alone = steps.here.size == 1;
  char* got = nullptr;
  const auto give = [&](char* place) {
    for (const int neighbour : edges.own) {
      steps.copy(for_neighbour(neighbour), bytes_at(place, block));
      place += block;
    }
  };
  if (!steps.nodes.is_first()) {
    char* const given = steps.memory(2 * stride);
    got = given + stride;
    give(given);
    steps.gather_here(bytes_at(given, stride), blocks_at(nullptr, stride), 0);
    steps.scatter_here(blocks_at(nullptr, stride), bytes_at(got, stride), 0);
  } else {
    const Exchanged blocks(edges, block, static_cast<std::size_t>(steps.here.size), steps);
    got = blocks.got;
    give(blocks.given);
    if (!alone) {
      steps.gather_here(bytes_at(MPI_IN_PLACE, 0), blocks_at(blocks.given, stride), 0);
      steps.wait();
    }
    steps.call([blocks](auto&) {
      blocks.order_given();
      return MPI_SUCCESS;
    });
    blocks.send_and_receive(steps);
    steps.wait();
    steps.call([blocks](auto&) {
      blocks.order_got();
      return MPI_SUCCESS;
    });
    if (!alone) {
      steps.scatter_here(blocks_at(blocks.got, stride), bytes_at(MPI_IN_PLACE, 0), 0);
    }
  }
  steps.wait();
  for (const int neighbour : edges.own) {
    steps.copy(bytes_at(got, block), receive[neighbour]);
    got += block;
  }
}

}  // namespace

bool can_exchange_with_neighbours(std::size_t block, Communicator& comm) {
  return possible(comm) && ranks_a_node(comm) >= thresholds::ranks_to_exchange && block > 0 &&
         block <= thresholds::neighbours_by_nodes && edges_of(comm) != nullptr;
}

void neighbor_allgather(Steps& steps, const Piece& send, const Blocks& receive) {
  exchange(
      steps, [&send](int) { return send; }, receive);
}

void neighbor_alltoall(Steps& steps, const Blocks& send, const Blocks& receive) {
  exchange(
      steps, [&send](int neighbour) { return send[neighbour]; }, receive);
}

}  // namespace meantime::coll::by_nodes
