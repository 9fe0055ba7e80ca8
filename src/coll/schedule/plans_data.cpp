// Schedules of the barrier and of the collectives that only move data.
#include <vector>

#include "coll/schedule/plans.h"
#include "core/topology/topology.h"

namespace meantime::coll::plans {
namespace {

Piece nothing() {
  return {nullptr, 0, *resolve(MPI_BYTE)};
}

/// This rank as a peer of itself; an intercommunicator has none such.
int own_place(const Communicator& comm) {
  return comm.is_inter() ? -1 : comm.rank;
}

/// The data of `piece` as bytes that stay what they are when `piece` is overwritten.
Piece put_aside(Schedule& schedule, const Piece& piece) {
  const std::size_t bytes = piece.bytes();
  const Piece aside{schedule.memory(bytes), static_cast<MPI_Count>(bytes), *resolve(MPI_BYTE)};
  schedule.copy(piece, aside);
  return aside;
}

}  // namespace

int barrier(Schedule& schedule, Communicator& comm) {
  const int peers = comm.peers();
  if (comm.is_inter() || comm.rank == 0) {
    // An intercommunicator's barrier: everybody of the other group is there.
    const int first = comm.is_inter() ? 0 : 1;
    if (comm.is_inter()) {
      for (int peer = first; peer < peers; ++peer) {
        schedule.send(nothing(), peer);
      }
    }
    for (int peer = first; peer < peers; ++peer) {
      schedule.receive(nothing(), peer);
    }
    if (!comm.is_inter()) {
      schedule.fence();
      for (int peer = first; peer < peers; ++peer) {
        schedule.send(nothing(), peer);
      }
    }
  } else {
    schedule.receive(nothing(), 0);
    schedule.send(nothing(), 0);
  }
  return MPI_SUCCESS;
}

int bcast(Schedule& schedule, Piece piece, int root, Communicator& comm) {
  if (!comm.takes_part(root)) {
    return MPI_SUCCESS;
  }
  if (!comm.is_root(root)) {
    schedule.receive(piece, root);
    return MPI_SUCCESS;
  }
  for (int peer = 0; peer < comm.peers(); ++peer) {
    if (peer != own_place(comm)) {
      schedule.send(piece, peer);
    }
  }
  return MPI_SUCCESS;
}

int gather(Schedule& schedule, Piece send, const Blocks& receive, int root, Communicator& comm) {
  if (!comm.takes_part(root)) {
    return MPI_SUCCESS;
  }
  if (!comm.is_root(root)) {
    schedule.send(send, root);
    return MPI_SUCCESS;
  }
  for (int peer = 0; peer < comm.peers(); ++peer) {
    if (peer != own_place(comm)) {
      schedule.receive(receive[peer], peer);
    } else if (!send.in_place()) {
      schedule.copy(send, receive[peer]);
    }
  }
  return MPI_SUCCESS;
}

int scatter(Schedule& schedule, const Blocks& send, Piece receive, int root, Communicator& comm) {
  if (!comm.takes_part(root)) {
    return MPI_SUCCESS;
  }
  if (!comm.is_root(root)) {
    schedule.receive(receive, root);
    return MPI_SUCCESS;
  }
  for (int peer = 0; peer < comm.peers(); ++peer) {
    if (peer != own_place(comm)) {
      schedule.send(send[peer], peer);
    } else if (!receive.in_place()) {
      schedule.copy(send[peer], receive);
    }
  }
  return MPI_SUCCESS;
}

int allgather(Schedule& schedule, Piece send, const Blocks& receive, Communicator& comm) {
  const int own = own_place(comm);
  const Piece given = send.in_place() ? receive[own] : send;
  for (int peer = 0; peer < comm.peers(); ++peer) {
    if (peer != own) {
      schedule.receive(receive[peer], peer);
    } else if (!send.in_place()) {
      schedule.copy(send, receive[peer]);
    }
  }
  for (int peer = 0; peer < comm.peers(); ++peer) {
    if (peer != own) {
      schedule.send(given, peer);
    }
  }
  return MPI_SUCCESS;
}

int alltoall(Schedule& schedule, const Blocks& send, const Blocks& receive, Communicator& comm) {
  const int own = own_place(comm);
  std::vector<Piece> given(comm.peers());
  for (int peer = 0; peer < comm.peers(); ++peer) {
    if (!send.in_place()) {
      given[peer] = send[peer];
    } else if (peer != own) {
      given[peer] = put_aside(schedule, receive[peer]);
    }
  }
  for (int peer = 0; peer < comm.peers(); ++peer) {
    if (peer != own) {
      schedule.receive(receive[peer], peer);
    } else if (!send.in_place()) {
      schedule.copy(given[peer], receive[peer]);
    }
  }
  for (int peer = 0; peer < comm.peers(); ++peer) {
    if (peer != own) {
      schedule.send(given[peer], peer);
    }
  }
  return MPI_SUCCESS;
}

int neighbor_allgather(Schedule& schedule, Piece send, const Blocks& receive, Communicator& comm) {
  std::vector<int> sources;
  std::vector<int> destinations;
  if (const int error = core::neighbours(comm, sources, destinations); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = receive.check(sources.size()); error != MPI_SUCCESS) {
    return error;
  }
  for (std::size_t index = 0; index < sources.size(); ++index) {
    schedule.receive(receive[static_cast<int>(index)], sources[index]);
  }
  for (const int destination : destinations) {
    schedule.send(send, destination);
  }
  return MPI_SUCCESS;
}

int neighbor_alltoall(Schedule& schedule, const Blocks& send, const Blocks& receive,
                      Communicator& comm) {
  std::vector<int> sources;
  std::vector<int> destinations;
  if (const int error = core::neighbours(comm, sources, destinations); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = receive.check(sources.size()); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = send.check(destinations.size()); error != MPI_SUCCESS) {
    return error;
  }
  for (std::size_t index = 0; index < sources.size(); ++index) {
    schedule.receive(receive[static_cast<int>(index)], sources[index]);
  }
  const auto send_to = [&](std::size_t index) {
    schedule.send(send[static_cast<int>(index)], destinations[index]);
  };
  if (comm.topology->kind != MPI_CART) {
    for (std::size_t index = 0; index < destinations.size(); ++index) {
      send_to(index);
    }
    return MPI_SUCCESS;
  }
  // In a ring of one or two, both neighbours of a dimension are the same rank. What goes down
  // arrives as what comes from above (MPI 5.0, 8.6), so of the two messages between the same two
  // ranks the upper neighbour's is sent first, to meet the receive from below, posted first.
  for (std::size_t index = 0; index + 1 < destinations.size(); index += 2) {
    send_to(index + 1);
    send_to(index);
  }
  return MPI_SUCCESS;
}

}  // namespace meantime::coll::plans
