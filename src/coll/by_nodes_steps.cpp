#include "coll/by_nodes_steps.h"

#include <memory>
#include <utility>

#include "coll/collectives.h"
#include "core/comm/invitation.h"
#include "core/error/error.h"
#include "core/object/handles.h"
#include "core/request/status.h"

namespace meantime::coll::by_nodes {
namespace {

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

int barrier_here(Communicator& here) {
  if (here.size == 1) {
    return MPI_SUCCESS;
  }
  return on_node(
      here, [&] { return shared::barrier(here); },
      [&](Schedule& schedule) { return plans::barrier(schedule, here); });
}

int bcast_here(const Piece& piece, int root, Communicator& here) {
  if (here.size == 1) {
    return MPI_SUCCESS;
  }
  return on_node(
      here, [&] { return shared::bcast(piece, root, here); },
      [&](Schedule& schedule) { return plans::bcast(schedule, piece, root, here); });
}

int gather_here(const Piece& send, const Blocks& receive, int root, Communicator& here) {
  if (here.size == 1) {
    return send.in_place() ? MPI_SUCCESS : copy_own(send, receive[0]);
  }
  return on_node(
      here, [&] { return shared::gather(send, receive, root, here); },
      [&](Schedule& schedule) { return plans::gather(schedule, send, receive, root, here); });
}

int scatter_here(const Blocks& send, const Piece& receive, int root, Communicator& here) {
  if (here.size == 1) {
    return receive.in_place() ? MPI_SUCCESS : copy_own(send[0], receive);
  }
  return on_node(
      here, [&] { return shared::scatter(send, receive, root, here); },
      [&](Schedule& schedule) { return plans::scatter(schedule, send, receive, root, here); });
}

int speaker_here(const Communicator& comm, int root) {
  const Nodes& nodes = *comm.nodes;
  return nodes.own == nodes.node_of(root) ? nodes.here->group->member(comm.group->world_rank(root))
                                          : 0;
}

void Exchange::send(const Piece& piece, int to) {
  Request* request = nullptr;
  const int error =
      core::start_send(core::send_of(piece.buffer, piece.count, *piece.type, to, core::nodes_tag,
                                     core::ContextOffset::collective),
                       comm_, &request);
  keep(error, request, no_bytes);
}

void Exchange::receive(const Piece& piece, int from) {
  Request* request = nullptr;
  const int error =
      core::start_receive(core::receive_of(piece.buffer, piece.count, *piece.type, from,
                                           core::nodes_tag, core::ContextOffset::collective),
                          comm_, &request);
  keep(error, request, piece.bytes());
}

void Exchange::keep(int error, Request* request, std::size_t expected) {
  error_ += error;
  if (request != nullptr) {
    requests_.push_back(request);
    expected_.push_back(expected);
  }
}

int Exchange::wait() {
  wait_all(requests_.data(), static_cast<int>(requests_.size()));
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    MPI_Status status;
    error_ += core::finish(requests_[i], &status);
    const auto got = static_cast<std::size_t>(core::status_bytes(status));
    if (expected_[i] != no_bytes && error_ == MPI_SUCCESS && got != expected_[i]) {
      error_ += fail(MPI_ERR_COUNT, "rank {} gave {} bytes where this rank expects {}",
                     status.MPI_SOURCE, got, expected_[i]);
    }
  }
  requests_.clear();
  expected_.clear();
  return error_;
}

}  // namespace meantime::coll::by_nodes
