#include "coll/schedule/progress.h"

#include <memory>

#include "coll/schedule/schedule.h"
#include "core/request/progress.h"
#include "node/layout.h"
#include "rank/rank.h"
#include "wait/wait.h"

namespace meantime::coll {

void Progress::add(ScheduleRequest& request) {
  active.push_back(&request);
  request.in_background = true;
  self().background = static_cast<std::uint32_t>(active.size());
}

void Progress::remove(ScheduleRequest& request) {
  std::erase(active, &request);
  request.in_background = false;
  self().background = static_cast<std::uint32_t>(active.size());
  self().unattended = self().unattended && self().has_background();
}

bool Progress::advance() {
  if (active.empty() || advancing) {
    return false;
  }
  // Reset by a destructor, because a user's operator may end its thread.
  const struct Advancing {
    explicit Advancing(bool& now) : now(now) { now = true; }
    ~Advancing() { now = false; }
    bool& now;
  } guard(advancing);
  bool moved = false;
  // Whatever completes takes itself off the list.
  for (std::size_t index = active.size(); index-- > 0;) {
    if (index < active.size()) {
      moved = active[index]->move() || moved;
    }
  }
  return moved;
}

bool Progress::arm(node::Waiter& waiter) {
  bool armed = false;
  for (ScheduleRequest* request : active) {
    armed = request->arm_in_background(waiter) || armed;
  }
  heir = &waiter;
  return armed;
}

void Progress::disarm(node::Waiter& waiter) {
  if (heir != &waiter) {
    return;
  }
  heir = nullptr;
  for (ScheduleRequest* request : active) {
    request->disarm_in_background(waiter);
  }
}

void Progress::hand_over(node::Waiter& to) {
  heir = &to;
  for (ScheduleRequest* request : active) {
    request->hand_over(*heir);
  }
}

const core::CollectiveHooks Progress::hooks{
    [] { return progress_of(self()).advance(); },
    [](node::Waiter& waiter) { return progress_of(self()).arm(waiter); },
    [](node::Waiter& waiter) { progress_of(self()).disarm(waiter); },
    [](node::Waiter& heir) { progress_of(self()).hand_over(heir); }};

Progress& progress_of(Rank& rank) {
  if (rank.collectives == nullptr) {
    rank.collectives = std::make_shared<Progress>();
  }
  return *rank.collectives;
}

}  // namespace meantime::coll
