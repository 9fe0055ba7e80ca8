// Those that only move data.
#include "coll/by_nodes.h"
#include "coll/by_nodes_steps.h"
#include "core/object/handles.h"

namespace meantime::coll::by_nodes {
namespace {

/// The speaker's error becomes that of its node, whose ranks find that it gives them something else
/// than they expect.
int pass_here(FirstError error, const Piece& piece, int root, Communicator& here) {
  char other[2] = {};
  const Piece wrong(other, piece.bytes() == 1 ? 2 : 1, *resolve(MPI_BYTE));
  error += bcast_here(error == MPI_SUCCESS ? piece : wrong, root, here);
  return error;
}

}  // namespace

bool possible(const Communicator& comm) {
  return comm.nodes != nullptr;
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

}  // namespace meantime::coll::by_nodes
