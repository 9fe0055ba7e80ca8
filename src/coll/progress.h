// The collectives of a rank that are under way in the background, and what it has learnt about
// waiting in collectives. All functions: rank's lock held.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "coll/state.h"

namespace meantime {

struct Rank;
namespace node {
struct Waiter;
}

namespace core {
struct CollectiveHooks;
}

namespace coll {

class ScheduleRequest;

struct Progress {
  /// Moves every collective under way as far as it goes. True if anything moved. For
  /// core::progress().
  bool advance();
  /// Under way, and no longer.
  void add(ScheduleRequest& request);
  void remove(ScheduleRequest& request);
  /// A rank that sleeps, for whatever, wakes up when any of its background collectives can move:
  /// each completion counts the waiter down. True if there may be some.
  bool arm(node::Waiter& waiter);
  void disarm(node::Waiter& waiter);

  /// For src/core, which must not know this.
  static const core::CollectiveHooks hooks;

  /// Of a communicator that is gone at this rank, see retire().
  struct Retired {
    std::unique_ptr<State> state;
    node::Link context_block;
  };
  std::vector<Retired> retired;

  std::vector<ScheduleRequest*> active;
  bool advancing = false;
};

/// Made at first use.
Progress& progress_of(Rank& rank);

}  // namespace coll
}  // namespace meantime
