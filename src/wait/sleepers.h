// The rank's own Waiters, reused: taken for a sleep, given back after it.
#pragma once

#include "node/layout.h"

namespace meantime::wait {

/// Rank's lock held.
class Sleepers {
 public:
  node::Waiter* take(int world_rank);
  void give_back(node::Waiter* waiter);

 private:
  node::Waiter* free_ = nullptr;
};

}  // namespace meantime::wait
