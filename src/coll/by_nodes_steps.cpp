#include "coll/by_nodes_steps.h"

#include <cstring>
#include <memory>
#include <utility>

#include "coll/collectives.h"
#include "core/comm/invitation.h"
#include "core/error/error.h"
#include "core/request/status.h"

namespace meantime::coll::by_nodes {
namespace {

/// In shared memory, or by messages where there was no memory for that.
template <class Meet, class Plan>
int on_node(Communicator& here, Meet meet, Plan plan) {
  if (has_area(here)) {
    return meet();
  }
  auto schedule = std::make_unique<Schedule>();
  const int error = plan(*schedule);
  return error == MPI_SUCCESS ? run(std::move(schedule), here) : error;
}

}  // namespace

void AtOnce::bcast_here(const Piece& piece, int root) {
  if (here.size == 1) {
    return;
  }
  char other[2] = {};
  const Piece wrong{other, piece.bytes() == 1 ? 2 : 1, *resolve(MPI_BYTE)};
  const Piece given = error_ == MPI_SUCCESS ? piece : wrong;
  note(on_node(
      here, [&] { return shared::bcast(given, root, here); },
      [&](Schedule& schedule) { return plans::bcast(schedule, given, root, here); }));
}

void AtOnce::gather_here(const Piece& send, const Blocks& receive, int root) {
  if (here.size == 1) {
    note(send.in_place() ? MPI_SUCCESS : copy_own(send, receive[0]));
    return;
  }
  note(on_node(
      here, [&] { return shared::gather(send, receive, root, here); },
      [&](Schedule& schedule) { return plans::gather(schedule, send, receive, root, here); }));
}

void AtOnce::scatter_here(const Blocks& send, const Piece& receive, int root) {
  if (here.size == 1) {
    note(receive.in_place() ? MPI_SUCCESS : copy_own(send[0], receive));
    return;
  }
  const auto give = [&](const Blocks& blocks, const Piece& own) {
    note(on_node(
        here, [&] { return shared::scatter(blocks, own, root, here); },
        [&](Schedule& schedule) { return plans::scatter(schedule, blocks, own, root, here); }));
  };
  if (here.rank != root || error_ == MPI_SUCCESS) {
    give(send, receive);
    return;
  }
  // Less than it expects a rank would take.
  const std::size_t too_long = send.bytes(0) + 1;
  char* const blocks = memory(too_long * static_cast<std::size_t>(here.size));
  std::memset(blocks, 0, too_long * static_cast<std::size_t>(here.size));
  Datatype& byte = *resolve(MPI_BYTE);
  give({blocks, static_cast<MPI_Count>(too_long), byte}, {MPI_IN_PLACE, 0, byte});
}

void AtOnce::send(const Piece& piece, int to) {
  const Piece given = error_ == MPI_SUCCESS ? piece : nothing();
  Request* request = nullptr;
  const int error =
      core::start_send(core::send_of(given.buffer, given.count, *given.type, to, core::nodes_tag,
                                     core::ContextOffset::collective),
                       comm, &request);
  keep(error, request, no_bytes);
}

void AtOnce::receive(const Piece& piece, int from) {
  Request* request = nullptr;
  const int error =
      core::start_receive(core::receive_of(piece.buffer, piece.count, *piece.type, from,
                                           core::nodes_tag, core::ContextOffset::collective),
                          comm, &request);
  keep(error, request, piece.bytes());
}

void AtOnce::keep(int error, Request* request, std::size_t expected) {
  note(error);
  if (request != nullptr) {
    requests_.push_back(request);
    expected_.push_back(expected);
  }
}

void AtOnce::wait() {
  if (requests_.empty()) {
    return;
  }
  wait_all(requests_.data(), static_cast<int>(requests_.size()));
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    MPI_Status status;
    note(core::finish(requests_[i], &status));
    const auto got = static_cast<std::size_t>(core::status_bytes(status));
    if (expected_[i] != no_bytes && error_ == MPI_SUCCESS && got != expected_[i]) {
      note(fail(MPI_ERR_COUNT, "rank {} gave {} bytes where this rank expects {}",
                status.MPI_SOURCE, got, expected_[i]));
    }
  }
  requests_.clear();
  expected_.clear();
}

void AtOnce::copy(const Piece& from, const Piece& to) {
  if (error_ == MPI_SUCCESS) {
    note(copy_own(from, to));
  }
}

void AtOnce::call(const std::function<void()>& what) {
  if (error_ == MPI_SUCCESS) {
    what();
  }
}

char* AtOnce::memory(std::size_t bytes) {
  memory_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
  return memory_.back().get();
}

void Scheduled::bcast_here(const Piece& piece, int root) {
  schedule_.among(&ranks_here());
  plans::bcast(schedule_, piece, root, here);
  schedule_.among(nullptr);
}

void Scheduled::gather_here(const Piece& send, const Blocks& receive, int root) {
  schedule_.among(&ranks_here());
  plans::gather(schedule_, send, receive, root, here);
  schedule_.among(nullptr);
}

void Scheduled::scatter_here(const Blocks& send, const Piece& receive, int root) {
  schedule_.among(&ranks_here());
  plans::scatter(schedule_, send, receive, root, here);
  schedule_.among(nullptr);
}

int speaker_here(const Communicator& comm, int root) {
  const Nodes& nodes = *comm.nodes;
  return nodes.own == nodes.node_of(root) ? nodes.here->group->member(comm.group->world_rank(root))
                                          : 0;
}

}  // namespace meantime::coll::by_nodes
