#include "coll/by_nodes/steps.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "coll/collectives.h"
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

/// To rank 0.
void add_gather_up_to(Schedule& schedule, const Piece& send, const Blocks& receive,
                      std::size_t least, const Communicator& here) {
  if (here.rank != 0) {
    schedule.send(send, 0);
    return;
  }
  for (int peer = 1; peer < here.size; ++peer) {
    schedule.receive_up_to(receive[peer], least, peer);
  }
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

/// In shared memory nobody minds less.
void AtOnce::gather_up_to_here(const Piece& send, const Blocks& receive, std::size_t least) {
  note(on_node(
      here, [&] { return shared::gather(send, receive, 0, here); },
      [&](Schedule& schedule) {
        add_gather_up_to(schedule, send, receive, least, here);
        return MPI_SUCCESS;
      }));
}

void AtOnce::hand_out_here(const Late* blocks, std::size_t most) {
  std::vector<MPI_Count> bytes(static_cast<std::size_t>(here.size), 0);
  std::vector<MPI_Count> places(static_cast<std::size_t>(here.size), 0);
  const std::size_t too_long = most + 1;
  char* const wrong = error_ == MPI_SUCCESS ? nullptr : memory(too_long);
  if (wrong != nullptr) {
    std::memset(wrong, 0, too_long);
  }
  for (std::size_t rank = 1; rank < bytes.size(); ++rank) {
    const void* const place = wrong == nullptr ? blocks[rank].at : wrong;
    bytes[rank] = static_cast<MPI_Count>(wrong == nullptr ? blocks[rank].bytes : too_long);
    places[rank] = static_cast<MPI_Count>(reinterpret_cast<std::uintptr_t>(place));
  }
  Datatype& byte = *resolve(MPI_BYTE);
  const Blocks given{MPI_BOTTOM, bytes.data(), places.data(), byte};
  const Piece own{MPI_IN_PLACE, 0, byte};
  note(on_node(
      here, [&] { return shared::scatter(given, own, 0, here); },
      [&](Schedule& schedule) { return plans::scatter(schedule, given, own, 0, here); }));
}

void AtOnce::take_here(const Piece& piece, std::size_t least) {
  note(on_node(
      here,
      [&] {
        return shared::scatter({nullptr, 0, *piece.type}, piece, 0, here);
      },
      [&](Schedule& schedule) {
        schedule.receive_up_to(piece, least, 0);
        return MPI_SUCCESS;
      }));
}

void AtOnce::start_send(const Piece& piece, int to, Messages& among) {
  const Piece given = error_ == MPI_SUCCESS ? piece : nothing();
  Request* request = nullptr;
  const int error = core::start_send(core::send_of(given.buffer, given.count, *given.type, to,
                                                   among.tag, core::ContextOffset::collective),
                                     comm, &request);
  keep(error, request, {MPI_PROC_NULL, 0}, among);
}

void AtOnce::start_receive(const Piece& piece, std::size_t least, int from, Messages& among) {
  Request* request = nullptr;
  const int error =
      core::start_receive(core::receive_of(piece.buffer, piece.count, *piece.type, from, among.tag,
                                           core::ContextOffset::collective),
                          comm, &request);
  keep(error, request, {from, least}, among);
}

void AtOnce::keep(int error, Request* request, Messages::Expected expected, Messages& among) {
  note(error);
  if (request != nullptr) {
    among.requests.push_back(request);
    among.expected.push_back(expected);
  }
}

void AtOnce::send(const Late& bytes, int to) {
  start_send({bytes.at, static_cast<MPI_Count>(bytes.bytes), *resolve(MPI_BYTE)}, to, under_way_);
}

void AtOnce::receive(const Piece& piece, int from) {
  start_receive(piece, piece.bytes(), from, under_way_);
}

void AtOnce::receive_up_to(const Piece& piece, std::size_t least, int from) {
  start_receive(piece, least, from, under_way_);
}

void AtOnce::receive_aside(const Piece& piece, int from) {
  start_receive(piece, piece.bytes(), from, aside_);
}

void AtOnce::wait(Messages& messages) {
  std::vector<Request*>& requests = messages.requests;
  if (requests.empty()) {
    return;
  }
  wait_all(requests.data(), static_cast<int>(requests.size()));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    MPI_Status status;
    note(core::finish(requests[i], &status));
    const auto got = static_cast<std::size_t>(core::status_bytes(status));
    if (const std::size_t least = messages.expected[i].least;
        error_ == MPI_SUCCESS && got < least) {
      note(fail(MPI_ERR_COUNT, "rank {} gave {} bytes where this rank expects {}",
                status.MPI_SOURCE, got, least));
    }
  }
  requests.clear();
  messages.expected.clear();
}

void AtOnce::copy(const Piece& from, const Piece& to) {
  if (error_ == MPI_SUCCESS) {
    note(copy_own(from, to));
  }
}

void AtOnce::call(const Schedule::Call& what) {
  if (error_ != MPI_SUCCESS) {
    return;
  }
  Surprises surprises;
  note(what(surprises));
  const std::vector<int>& absent = surprises.absent;
  for (std::size_t i = 0; i < aside_.requests.size(); ++i) {
    if (std::find(absent.begin(), absent.end(), aside_.expected[i].from) != absent.end()) {
      aside_.requests[i]->cancel();
    }
  }
  for (const int rank : surprises.unexpected) {
    start_receive(nothing(), 0, rank, aside_);
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

void Scheduled::gather_up_to_here(const Piece& send, const Blocks& receive, std::size_t least) {
  schedule_.among(&ranks_here());
  add_gather_up_to(schedule_, send, receive, least, here);
  schedule_.among(nullptr);
}

void Scheduled::hand_out_here(const Late* blocks, std::size_t) {
  schedule_.among(&ranks_here());
  for (int rank = 1; rank < here.size; ++rank) {
    schedule_.send(blocks[rank], rank);
  }
  schedule_.among(nullptr);
}

int speaker_here(const Communicator& comm, int root) {
  const Nodes& nodes = *comm.nodes;
  return nodes.own == nodes.node_of(root) ? nodes.here->group->member(comm.group->world_rank(root))
                                          : 0;
}

}  // namespace meantime::coll::by_nodes
