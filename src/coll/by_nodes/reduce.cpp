#include "coll/by_nodes/by_nodes.h"

#include <memory>
#include <vector>

#include "coll/by_nodes/steps.h"
#include "coll/thresholds.h"
#include "core/object/handles.h"

namespace meantime::coll::by_nodes {
namespace {

/// What a rank has of the values of all, as deposits lie: a speaker all of them, others their own.
class Values {
 public:
  Values(const Reduction& reduction, bool of_all, Steps& steps)
      : steps_(steps),
        joined_(std::make_shared<Joined>(reduction, steps.comm.size)),
        bytes_(joined_->elements.bytes(reduction.count)) {
    const auto size = static_cast<std::size_t>(steps.comm.size);
    char* place = steps.memory(bytes_ * (of_all ? size : 2));
    joined_->own = place;
    joined_->result = place + bytes_;
    if (of_all) {
      for (const std::vector<int>& node : steps.nodes.members) {
        for (const int rank : node) {
          joined_->deposits[static_cast<std::size_t>(rank)] = place;
          place += bytes_;
        }
      }
      joined_->own = of(steps.comm.rank);
      joined_->result = joined_->deposits.back();
    }
    steps.call([joined = joined_](auto&) {
      joined->elements.put(joined->reduction.input(), 0, joined->reduction.count, joined->own);
      return MPI_SUCCESS;
    });
  }

  Piece of_node(int node) const {
    const std::vector<int>& ranks = steps_.nodes.members[static_cast<std::size_t>(node)];
    return bytes_at(of(ranks.front()), bytes_ * ranks.size());
  }
  /// Those of this node, to that rank of it.
  void gather(int rank) const {
    const bool is_root = steps_.here.rank == rank;
    const Piece all =
        bytes_at(is_root ? of(steps_.nodes.first(steps_.nodes.own)) : nullptr, bytes_);
    steps_.gather_here(bytes_at(is_root ? MPI_IN_PLACE : joined_->own, bytes_),
                       {all.buffer, all.count, *all.type}, rank);
    if (is_root) {
      steps_.wait();
    }
  }
  /// Of all.
  void join() const {
    steps_.call([joined = joined_](auto&) {
      joined->elements.join(
          [&](int rank) { return joined->deposits[static_cast<std::size_t>(rank)]; },
          static_cast<int>(joined->deposits.size()), joined->reduction.count);
      return MPI_SUCCESS;
    });
  }
  Piece result() const { return bytes_at(joined_->result, bytes_); }
  void give() const {
    steps_.call([joined = joined_](auto&) {
      joined->elements.get(joined->result, joined->reduction.receive, 0, joined->reduction.count);
      return MPI_SUCCESS;
    });
  }

 private:
  /// What the calls need.
  struct Joined {
    Joined(const Reduction& reduction, int size)
        : reduction(reduction),
          elements(*hold(reduction.type), *hold(reduction.op)),
          deposits(static_cast<std::size_t>(size)) {}
    Joined(const Joined&) = delete;
    Joined& operator=(const Joined&) = delete;
    ~Joined() {
      drop(&reduction.type);
      drop(&reduction.op);
    }

    const Reduction reduction;
    const Elements elements;
    std::vector<char*> deposits;  ///< a speaker's, by rank; those of a node side by side
    char* own = nullptr;
    char* result = nullptr;
  };

  char* of(int rank) const { return joined_->deposits[static_cast<std::size_t>(rank)]; }

  Steps& steps_;
  const std::shared_ptr<Joined> joined_;
  const std::size_t bytes_;
};

}  // namespace

bool can_reduce(const Reduction& reduction, How how, const Communicator& comm) {
  const Elements elements(reduction.type, reduction.op);
  if (!possible(comm) || reduction.count == 0 || !elements.fit()) {
    return false;
  }
  const std::size_t bytes = elements.bytes(reduction.count);
  return bytes * static_cast<std::size_t>(comm.size) <= thresholds::values_by_nodes &&
         (how == How::at_once ? bytes <= thresholds::value_at_once
                              : bytes <= thresholds::value_scheduled &&
                                    ranks_a_node(comm) >= thresholds::ranks_to_exchange);
}

void reduce(Steps& steps, const Reduction& reduction, int root) {
  const Nodes& nodes = steps.nodes;
  const int speaker = speaker_here(steps.comm, root);
  const bool speaks = steps.here.rank == speaker;
  const Values values(reduction, speaks, steps);
  values.gather(speaker);
  if (!speaks) {
    return;
  }
  if (nodes.own != nodes.node_of(root)) {
    steps.send(values.of_node(nodes.own), root);
    return;
  }
  for (int node = 0; node < nodes.count(); ++node) {
    if (node != nodes.own) {
      steps.receive(values.of_node(node), nodes.first(node));
    }
  }
  steps.wait();
  values.join();
  values.give();
}

/// Each node's first rank gets the values of all others, and joins them: one message's time between
/// nodes. (Of many nodes that is many messages; then they go to the first, and the result back.)
void allreduce(Steps& steps, const Reduction& reduction) {
  constexpr int most_to_all = 8;
  const Nodes& nodes = steps.nodes;
  const Values values(reduction, nodes.is_first(), steps);
  values.gather(0);
  const bool to_all = nodes.count() <= most_to_all;
  if (nodes.is_first()) {
    const bool joins = to_all || nodes.own == 0;
    for (int node = 0; node < nodes.count(); ++node) {
      if (node == nodes.own) {
        continue;
      }
      if (joins) {
        steps.receive(values.of_node(node), nodes.first(node));
      }
      if (to_all || (node == 0 && !joins)) {
        steps.send(values.of_node(nodes.own), nodes.first(node));
      }
    }
    steps.wait();
    if (joins) {
      values.join();
    }
  }
  if (to_all) {
    steps.bcast_here(values.result(), 0);
  } else {
    bcast(steps, values.result(), nodes.first(0));
  }
  steps.wait();
  values.give();
}

}  // namespace meantime::coll::by_nodes
