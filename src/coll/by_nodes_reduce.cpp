#include "coll/by_nodes.h"

#include <memory>
#include <vector>

#include "coll/by_nodes_steps.h"
#include "core/object/handles.h"

namespace meantime::coll::by_nodes {
namespace {

/// Up to so many bytes of all ranks together a reduction's values travel; beyond, they take longer
/// than the messages of a split one. (Not tuned.)
constexpr std::size_t most_values = 256 * 1024;

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
    Datatype& byte = *resolve(MPI_BYTE);
    const auto bytes = static_cast<MPI_Count>(bytes_);
    return gather_here({here.rank == rank ? MPI_IN_PLACE : of(own), bytes, byte},
                       {of(nodes_.first(nodes_.own)), bytes, byte}, rank, here);
  }
  /// Of all.
  void join() const {
    const auto members = static_cast<int>(deposits_.size());
    elements_.join([this](int rank) { return of(rank); }, members, reduction_.count);
  }
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

bool possible(const Reduction& reduction, const Communicator& comm) {
  const Elements elements(reduction.type, reduction.op);
  return possible(comm) && reduction.count > 0 && elements.fit() &&
         elements.bytes(reduction.count) * static_cast<std::size_t>(comm.size) <= most_values;
}

int reduce(const Reduction& reduction, int root, Communicator& comm) {
  const Nodes& nodes = *comm.nodes;
  Values values(reduction, comm);
  const bool with_root = nodes.own == nodes.node_of(root);
  const int speaker = speaker_here(comm, root);
  FirstError error;
  error += values.gather(speaker, *nodes.here, comm.rank);
  if (nodes.here->rank != speaker) {
    return error;
  }
  Exchange exchange(comm);
  if (!with_root) {
    exchange.send(error == MPI_SUCCESS ? values.of_node(nodes.own) : nothing(), root);
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
        exchange.send(error == MPI_SUCCESS ? values.of_node(nodes.own) : nothing(),
                      nodes.first(node));
      }
    }
    error += exchange.wait();
    if (joins && error == MPI_SUCCESS) {
      values.join();
    }
  }
  const Piece result = error == MPI_SUCCESS ? values.result() : nothing();
  error += to_all ? bcast_here(result, 0, *nodes.here) : bcast(result, nodes.first(0), comm);
  if (error == MPI_SUCCESS) {
    values.give();
  }
  return error;
}

}  // namespace meantime::coll::by_nodes
