// The rank's own Waiters, reused: taken for a sleep, given back after it.
#pragma once

#include "node/layout.h"

namespace meantime::wait {

/// Rank's lock held.
class Sleepers {
 public:
  /// Makes enough of them that most process ranks never need more: a rank must be able to wait when
  /// memory is short. (A thread rank has those that its host made, its ticket among them.)
  void prepare(int world_rank);
  node::Waiter* take(int world_rank);
  void give_back(node::Waiter* waiter);

 private:
  node::Waiter* free_ = nullptr;
};

}  // namespace meantime::wait
