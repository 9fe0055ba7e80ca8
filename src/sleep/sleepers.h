// The rank's own Waiters, reused: taken for a sleep, given back after it.
#pragma once

#include "node/layout.h"

namespace meantime::wait {

/// Rank's lock held.
class Sleepers {
 public:
  /// The first ones, in memory that is set aside, and so many that most ranks never need more: a
  /// rank must be able to wait when memory is short. `waiters`: node::waiters_a_page, or
  /// few_waiters.
  void prepare(int world_rank, int waiters);
  node::Waiter* take(int world_rank);
  void give_back(node::Waiter* waiter);

 private:
  node::Waiter* free_ = nullptr;
};

}  // namespace meantime::wait
