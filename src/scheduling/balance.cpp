// Work stealing: a worker that has nothing to do takes a runnable rank from the one that has most.
// The rank stays where it was taken to, so a program whose ranks have unlike amounts to do finds
// its balance within a few rounds, and one that is balanced is left alone.
#include <cstdlib>

#include "scheduling/scheduler.h"

namespace meantime::ranks {
namespace {

/// A rank that will have to wait so many wake-ups for its own worker is better off with another,
/// which has to wake up, and then costs both a membarrier (a few us) and the rank its caches.
constexpr std::uint64_t wake_ups_worth_moving = 2;

}  // namespace

bool has_too_many(std::size_t runnable, std::uint64_t elapsed_ns, std::uint64_t switches) {
  // Half a switch more than were seen: the one under way.
  return 2 * runnable * elapsed_ns / (2 * switches + 1) >=
         wake_ups_worth_moving * wait::policy().wake_up_ns;
}

bool Thief::try_steal(Carrier& carrier, std::uint64_t now_ns) {
  const std::vector<std::unique_ptr<Worker>>& workers = host().workers;
  if (!host().plan->steal || workers.size() < 2 || now_ns - looked_ns_ < look_ns()) {
    return false;
  }
  const std::uint64_t elapsed = now_ns - looked_ns_;
  Worker* most = nullptr;
  std::size_t most_runnable = 0;
  if (!switches_.empty()) {
    for (const std::unique_ptr<Worker>& other : workers) {
      const std::size_t runnable = other->runnable();
      if (other.get() == &worker_ || runnable == 0 || other->asleep()) {
        continue;
      }
      const std::uint64_t done =
          other->switches() - switches_[static_cast<std::size_t>(other->number())];
      const bool nearer = most != nullptr && runnable == most_runnable &&
                          std::abs(other->number() - worker_.number()) <
                              std::abs(most->number() - worker_.number());
      if (has_too_many(runnable, elapsed, done) && (runnable > most_runnable || nearer)) {
        most = other.get();
        most_runnable = runnable;
      }
    }
  }
  looked_ns_ = now_ns;
  switches_.clear();
  for (const std::unique_ptr<Worker>& other : workers) {
    switches_.push_back(other->switches());
  }
  if (most == nullptr || !most->try_take()) {
    return false;
  }
  Fiber* const fiber = most->give_away();
  most->give_back();
  if (fiber == nullptr) {
    return false;
  }
  worker_.enter(carrier);
  worker_.adopt(*fiber);
  worker_.leave_hold(carrier);
  return true;
}

}  // namespace meantime::ranks
