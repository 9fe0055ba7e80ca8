#include "coll/by_nodes.h"

#include <memory>
#include <vector>

#include "coll/collectives.h"
#include "core/comm/invitation.h"
#include "core/comm/nodes.h"
#include "core/error/error.h"
#include "core/object/handles.h"
#include "core/request/point_to_point.h"
#include "core/request/status.h"

namespace meantime::coll::by_nodes {
namespace {

using core::ContextOffset;
using core::Operation;

/// Up to so many bytes of all ranks together a reduction's values travel; beyond, they take longer
/// than the messages of a split one. (Not tuned.)
constexpr std::size_t most_values = 256 * 1024;

/// Of several steps. Each is done whatever became of those before, for others wait for it: a rank
/// that has given another count than the others gets an error, and they go on.
class FirstError {
 public:
  void operator+=(int error) { error_ = error_ != MPI_SUCCESS ? error_ : error; }
  operator int() const { return error_; }

 private:
  int error_ = MPI_SUCCESS;
};

// --- On this node

/// In shared memory, or by messages where there was no memory for that.
template <class Meet, class Plan>
int on_node(Communicator& here, Meet meet, Plan plan) {
  if (here.size == 1) {
    return MPI_SUCCESS;
  }
  if (has_area(here)) {
    return meet();
  }
  auto schedule = std::make_unique<Schedule>();
  const int error = plan(*schedule);
  return error == MPI_SUCCESS ? run(std::move(schedule), here) : error;
}

int barrier_here(Communicator& here) {
  return on_node(
      here, [&] { return shared::barrier(here); },
      [&](Schedule& schedule) { return plans::barrier(schedule, here); });
}

int bcast_here(const Piece& piece, int root, Communicator& here) {
  return on_node(
      here, [&] { return shared::bcast(piece, root, here); },
      [&](Schedule& schedule) { return plans::bcast(schedule, piece, root, here); });
}

/// `bytes` of each to `to` at the root, whose own are there already.
int gather_here(const char* own, char* to, std::size_t bytes, int root, Communicator& here) {
  Datatype& byte = *resolve(MPI_BYTE);
  const auto count = static_cast<MPI_Count>(bytes);
  const Piece send(here.rank == root ? MPI_IN_PLACE : own, count, byte);
  const Blocks receive(to, count, byte);
  return on_node(
      here, [&] { return shared::gather(send, receive, root, here); },
      [&](Schedule& schedule) { return plans::gather(schedule, send, receive, root, here); });
}

// --- Between nodes

/// Messages under way; they have buffers until `wait`.
class Exchange {
 public:
  explicit Exchange(Communicator& comm) : comm_(comm) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() { wait(); }

  void send(const Piece& piece, int to) {
    start(core::send_of(piece.buffer, piece.count, *piece.type, to, core::nodes_tag,
                        ContextOffset::collective),
          no_bytes, &core::start_send);
  }
  void receive(const Piece& piece, int from) {
    start(core::receive_of(piece.buffer, piece.count, *piece.type, from, core::nodes_tag,
                           ContextOffset::collective),
          piece.bytes(), [](const Operation& operation, Communicator& comm, Request** request) {
            return core::start_receive(operation, comm, request);
          });
  }
  /// The first error.
  int wait() {
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

 private:
  static constexpr std::size_t no_bytes = ~std::size_t{0};  ///< to receive

  template <class Start>
  void start(const Operation& operation, std::size_t expected, Start how) {
    Request* request = nullptr;
    error_ += how(operation, comm_, &request);
    if (request != nullptr) {
      requests_.push_back(request);
      expected_.push_back(expected);
    }
  }

  Communicator& comm_;
  std::vector<Request*> requests_;
  std::vector<std::size_t> expected_;
  FirstError error_;
};

// --- The values of a reduction

class Values {
 public:
  Values(const Reduction& reduction, const Communicator& comm)
      : reduction_(reduction),
        nodes_(*comm.nodes),
        elements_(reduction.type, reduction.op),
        bytes_(elements_.bytes(reduction.count)),
        deposits_(static_cast<std::size_t>(comm.size)),
        memory_(std::make_unique_for_overwrite<std::max_align_t[]>(
            (bytes_ * deposits_.size() + sizeof(std::max_align_t) - 1) /
            sizeof(std::max_align_t))) {
    char* place = reinterpret_cast<char*>(memory_.get());
    for (const std::vector<int>& node : nodes_.members) {
      for (const int rank : node) {
        deposits_[static_cast<std::size_t>(rank)] = place;
        place += bytes_;
      }
    }
    elements_.put(reduction.input(), 0, reduction.count, of(comm.rank));
  }

  char* of(int rank) const { return deposits_[static_cast<std::size_t>(rank)]; }
  Piece of_node(int node) const {
    const std::vector<int>& ranks = nodes_.members[static_cast<std::size_t>(node)];
    return {of(ranks.front()), static_cast<MPI_Count>(bytes_ * ranks.size()), *resolve(MPI_BYTE)};
  }
  /// Those of this node, to that rank of it.
  int gather(int rank, Communicator& here, int own) const {
    return gather_here(of(own), of(nodes_.first(nodes_.own)), bytes_, rank, here);
  }
  /// Of all.
  void join() const {
    const auto members = static_cast<int>(deposits_.size());
    elements_.join([this](int rank) { return of(rank); }, members, reduction_.count);
  }
  /// In place of what an error has kept from being there: of another size than others expect.
  static Piece nothing() { return {nullptr, 0, *resolve(MPI_BYTE)}; }
  Piece result() const {
    return {deposits_.back(), static_cast<MPI_Count>(bytes_), *resolve(MPI_BYTE)};
  }
  void give() const { elements_.get(deposits_.back(), reduction_.receive, 0, reduction_.count); }

 private:
  const Reduction& reduction_;
  const Nodes& nodes_;
  Elements elements_;
  std::size_t bytes_;
  std::vector<char*> deposits_;  ///< by rank; those of a node side by side
  std::unique_ptr<std::max_align_t[]> memory_;
};

}  // namespace

bool possible(const Communicator& comm) {
  return comm.nodes != nullptr;
}

bool possible(const Reduction& reduction, const Communicator& comm) {
  const Elements elements(reduction.type, reduction.op);
  return possible(comm) && reduction.count > 0 && elements.fit() &&
         elements.bytes(reduction.count) * static_cast<std::size_t>(comm.size) <= most_values;
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
  const int root_here = place == 0 ? nodes.here->group->member(comm.group->world_rank(root)) : 0;
  // The speaker's error becomes that of its node, whose ranks find that it gives them something
  // else than they expect.
  char other[2] = {};
  const Piece wrong(other, piece.bytes() == 1 ? 2 : 1, *resolve(MPI_BYTE));
  error += bcast_here(error == MPI_SUCCESS ? piece : wrong, root_here, *nodes.here);
  return error;
}

int reduce(const Reduction& reduction, int root, Communicator& comm) {
  const Nodes& nodes = *comm.nodes;
  Values values(reduction, comm);
  const bool with_root = nodes.own == nodes.node_of(root);
  const int speaker_here = with_root ? nodes.here->group->member(comm.group->world_rank(root)) : 0;
  FirstError error;
  error += values.gather(speaker_here, *nodes.here, comm.rank);
  if (nodes.here->rank != speaker_here) {
    return error;
  }
  Exchange exchange(comm);
  if (!with_root) {
    exchange.send(error == MPI_SUCCESS ? values.of_node(nodes.own) : Values::nothing(), root);
    error += exchange.wait();
    return error;
  }
  for (int node = 0; node < nodes.count(); ++node) {
    if (node != nodes.own) {
      exchange.receive(values.of_node(node), nodes.first(node));
    }
  }
  error += exchange.wait();
  if (error == MPI_SUCCESS) {
    values.join();
    values.give();
  }
  return error;
}

/// Each node's first rank gets the values of all others, and joins them: one message's time between
/// nodes. (Of many nodes that is many messages; then they go to the first, and the result back.)
int allreduce(const Reduction& reduction, Communicator& comm) {
  constexpr int most_to_all = 8;
  const Nodes& nodes = *comm.nodes;
  Values values(reduction, comm);
  FirstError error;
  error += values.gather(0, *nodes.here, comm.rank);
  const bool to_all = nodes.count() <= most_to_all;
  if (nodes.is_first()) {
    Exchange exchange(comm);
    const bool joins = to_all || nodes.own == 0;
    for (int node = 0; node < nodes.count(); ++node) {
      if (node == nodes.own) {
        continue;
      }
      if (joins) {
        exchange.receive(values.of_node(node), nodes.first(node));
      }
      if (to_all || (node == 0 && !joins)) {
        exchange.send(error == MPI_SUCCESS ? values.of_node(nodes.own) : Values::nothing(),
                      nodes.first(node));
      }
    }
    error += exchange.wait();
    if (joins && error == MPI_SUCCESS) {
      values.join();
    }
  }
  const Piece result = error == MPI_SUCCESS ? values.result() : Values::nothing();
  error += to_all ? bcast_here(result, 0, *nodes.here) : bcast(result, nodes.first(0), comm);
  if (error == MPI_SUCCESS) {
    values.give();
  }
  return error;
}

}  // namespace meantime::coll::by_nodes
