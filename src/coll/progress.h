// The collectives of a rank that are under way in the background, and what it has learnt about
// waiting in collectives. All functions: rank's lock held.
#pragma once

#include <cstdint>
#include <vector>

namespace meantime {

struct Rank;
namespace node {
struct Waiter;
}

namespace coll {

class ScheduleRequest;

struct Progress {
  /// Moves every collective under way as far as it goes. True if anything moved. For
  /// core::progress().
  bool advance();
  /// A rank that sleeps, for whatever, is rung when any of its background collectives can move.
  /// Returns how many completions may count `waiter.remaining` down; sets it to 1 if there are any.
  int arm(node::Waiter& waiter);
  void disarm(node::Waiter& waiter);

  std::vector<ScheduleRequest*> active;
  bool advancing = false;

  std::uint32_t vain_yields = 0;  ///< see GateWait
  std::uint32_t yields_to_skip = 0;
};

/// Made at first use.
Progress& progress_of(Rank& rank);

}  // namespace coll
}  // namespace meantime
