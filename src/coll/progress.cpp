#include "coll/progress.h"

#include <memory>

#include "coll/schedule.h"
#include "node/layout.h"
#include "rank/rank.h"

namespace meantime::coll {

bool Progress::advance() {
  if (active.empty() || advancing) {
    return false;
  }
  advancing = true;
  bool moved = false;
  // Whatever completes takes itself off the list.
  for (std::size_t index = active.size(); index-- > 0;) {
    if (index < active.size()) {
      moved = active[index]->move() || moved;
    }
  }
  advancing = false;
  return moved;
}

int Progress::arm(node::Waiter& waiter) {
  if (active.empty()) {
    return 0;
  }
  waiter.remaining.store(1, std::memory_order_relaxed);
  int leaves = 0;
  for (ScheduleRequest* request : active) {
    leaves += request->arm(waiter);
  }
  return leaves;
}

void Progress::disarm(node::Waiter& waiter) {
  for (ScheduleRequest* request : active) {
    request->disarm(waiter);
  }
}

Progress& progress_of(Rank& rank) {
  if (rank.collectives == nullptr) {
    rank.collectives = std::make_shared<Progress>();
  }
  return *rank.collectives;
}

}  // namespace meantime::coll
