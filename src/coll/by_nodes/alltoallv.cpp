// Alltoallv and alltoallw: short blocks in parcels, between nodes and for each rank, long ones as
// messages.
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

/// How long a short block may be: the same at all members. Of a great many ranks none is.
std::size_t longest_short(const Communicator& comm) {
  return std::min(
      thresholds::alltoall_by_nodes,
      thresholds::alltoall_of_node / static_cast<std::size_t>(comm.size) / largest_node(comm));
}

/// What a node's first rank has of an alltoall, parcels all:
///   given   from each rank of this node for all ranks
///   out     for each node: from each rank of this node for each of that one's
///   in      from each node what that one has for this one
///   got     for each rank of this node from all ranks
/// All in one piece: what is freed in several, malloc gives back in each call, and the kernel
/// clears it anew (8 thread ranks on 2 nodes, 4 KiB: 715 us and 190).
struct Exchange {
  Exchange(std::size_t most, Steps& steps)
      : nodes(steps.nodes),
        most(most),
        ranks_here(static_cast<std::size_t>(steps.here.size)),
        stride(parcel_of(static_cast<std::size_t>(steps.comm.size), most)),
        given(steps.memory(4 * ranks_here * stride)),
        got(given + ranks_here * stride),
        for_nodes(nodes.members.size()),
        for_ranks(ranks_here) {
    char* place = got + ranks_here * stride;
    for (std::size_t node = 0; node < nodes.members.size(); ++node) {
      const std::size_t room = parcel_of(entries(node), most);
      const bool own = node == static_cast<std::size_t>(nodes.own);
      out.push_back(place);
      in.push_back(own ? place : place + room);
      place += 2 * room;
    }
  }

  /// Those that this node and that one give each other, either way.
  std::size_t entries(std::size_t node) const { return nodes.members[node].size() * ranks_here; }

  int order_given() {
    for (std::size_t node = 0; node < out.size(); ++node) {
      for_nodes[node] = {out[node], 0};
    }
    for (std::size_t own = 0; own < ranks_here; ++own) {
      Walk walk(given + own * stride, most);
      for (std::size_t node = 0; node < out.size(); ++node) {
        const char* const begin = walk.at();
        for (std::size_t other = 0; other < nodes.members[node].size(); ++other) {
          walk.next();
        }
        append(for_nodes[node], begin, static_cast<std::size_t>(walk.at() - begin));
      }
      if (const int error = walk.check(); error != MPI_SUCCESS) {
        return error;
      }
    }
    return MPI_SUCCESS;
  }

  int order_got() {
    for (std::size_t own = 0; own < ranks_here; ++own) {
      for_ranks[own] = {got + own * stride, 0};
    }
    for (std::size_t node = 0; node < in.size(); ++node) {
      Walk walk(in[node], most);
      for (std::size_t other = 0; other < nodes.members[node].size(); ++other) {
        for (std::size_t own = 0; own < ranks_here; ++own) {
          const Walk::Entry entry = walk.next();
          append(for_ranks[own], entry.begin, entry.bytes());
        }
      }
      if (const int error = walk.check(); error != MPI_SUCCESS) {
        return error;
      }
    }
    return MPI_SUCCESS;
  }

  static void append(Late& parcel, const char* from, std::size_t bytes) {
    std::memcpy(parcel.at + parcel.bytes, from, bytes);
    parcel.bytes += bytes;
  }

  const Nodes& nodes;
  const std::size_t most;
  const std::size_t ranks_here;
  const std::size_t stride;
  char* const given;
  char* const got;
  std::vector<char*> out;
  std::vector<char*> in;
  std::vector<Late> for_nodes;
  std::vector<Late> for_ranks;
};

/// Its long blocks, and a parcel of all at `place`, which comes back.
Piece give_to_all(Steps& steps, const Blocks& send, const Blocks& receive,
                  const std::vector<int>& order, std::size_t most, char* place) {
  const int self = steps.comm.rank;
  Packed parcel(place, most, steps);
  std::vector<Piece> given;
  for (const int rank : order) {
    const Piece block = send.in_place() ? receive[rank] : send[rank];
    parcel.put(block);
    given.push_back(block);
    if (block.bytes() > most && send.in_place() && rank != self) {
      given.back() = bytes_at(steps.memory(block.bytes()), block.bytes());
      steps.copy(block, given.back());
    }
  }
  for (const int rank : order) {
    if (rank != self && receive.bytes(rank) > most) {
      steps.receive_aside(receive[rank], rank);
    }
  }
  for (std::size_t index = 0; index < order.size(); ++index) {
    if (order[index] != self && given[index].bytes() > most) {
      steps.send_aside(given[index], order[index]);
    }
  }
  return parcel.all();
}

/// Takes its parcel apart, and has a long block of its own.
void take_from_all(Steps& steps, const Blocks& send, const Blocks& receive,
                   const std::vector<int>& order, std::size_t most, char* parcel) {
  const int self = steps.comm.rank;
  std::vector<Piece> expected;
  for (const int rank : order) {
    expected.push_back(receive[rank]);
  }
  unpack(steps, most, {{parcel, order, std::move(expected)}});
  if (!send.in_place() && send.bytes(self) > most) {
    steps.copy(send[self], receive[self]);
  }
}

}  // namespace

bool can_alltoallv(const Communicator& comm) {
  return can_alltoall(0, comm) && longest_short(comm) > 0;
}

/// As alltoall.
void alltoallv(Steps& steps, const Blocks& send, const Blocks& receive) {
  const Nodes& nodes = steps.nodes;
  const std::size_t most = longest_short(steps.comm);
  std::vector<int> order;
  for (const std::vector<int>& node : nodes.members) {
    order.insert(order.end(), node.begin(), node.end());
  }
  const std::size_t least = parcel_of(order.size(), 0);
  const std::size_t room = parcel_of(order.size(), most);
  if (!nodes.is_first()) {
    char* const got = steps.memory(2 * room);
    const Piece given = give_to_all(steps, send, receive, order, most, got + room);
    steps.gather_up_to_here(given, blocks_at(nullptr, room), least);
    steps.take_here(bytes_at(got, room), least);
    steps.wait();
    take_from_all(steps, send, receive, order, most, got);
    return;
  }
  const auto exchange = std::make_shared<Exchange>(most, steps);
  give_to_all(steps, send, receive, order, most, exchange->given);
  if (steps.here.size > 1) {
    steps.gather_up_to_here(bytes_at(MPI_IN_PLACE, 0), blocks_at(exchange->given, room), least);
    steps.wait();
  }
  steps.call([exchange](auto&) { return exchange->order_given(); });
  for (int node = 0; node < nodes.count(); ++node) {
    const auto index = static_cast<std::size_t>(node);
    if (node != nodes.own) {
      const std::size_t entries = exchange->entries(index);
      steps.receive_up_to(bytes_at(exchange->in[index], parcel_of(entries, most)),
                          parcel_of(entries, 0), nodes.first(node));
      steps.send(exchange->for_nodes[index], nodes.first(node));
    }
  }
  steps.wait();
  steps.call([exchange](auto&) { return exchange->order_got(); });
  if (steps.here.size > 1) {
    steps.hand_out_here(exchange->for_ranks.data(), room);
  }
  take_from_all(steps, send, receive, order, most, exchange->got);
}

}  // namespace meantime::coll::by_nodes
