#include "sleep/sleepers.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/lock.h"
#include "node/segment.h"

namespace meantime::wait {
namespace {

/// Those of a host take a few each out of one page: sixty for each of a thousand were 4 MB.
static_assert(node::waiters_a_page % node::few_waiters == 0);

node::Waiter* few_of_the_host() {
  static Mutex lock;
  static node::Waiter* left MEANTIME_GUARDED_BY(lock) = nullptr;
  static int count MEANTIME_GUARDED_BY(lock) = 0;
  const LockGuard locked(lock);
  if (count == 0) {
    const node::Link page = node::segment().grow(node::start_page);
    if (page == 0) {
      return nullptr;
    }
    left = node::segment().at<node::Waiter>(page);
    count = node::waiters_a_page;
  }
  node::Waiter* const mine = left;
  left += node::few_waiters;
  count -= node::few_waiters;
  return mine;
}

}  // namespace

// A page of them: as many threads of one rank as are ever likely to sleep in MPI at once. A thread
// rank waits in one call at a time and, now and then, in one inside of that.
void Sleepers::prepare(int world_rank, int waiters) {
  node::Segment& segment = node::segment();
  const node::Link place = segment.start_of(world_rank);
  for (int index = 0; index < waiters; ++index) {
    node::Waiter* waiter = segment.at<node::Waiter>(place) + index;
    waiter->owner = static_cast<std::uint32_t>(world_rank);
    give_back(waiter);
  }
}

node::Waiter* Sleepers::take(int world_rank) {
  if (free_ == nullptr) {
    node::Waiter* const more = few_of_the_host();
    if (more == nullptr) {
      const std::string limit = node::what_limits(node::segment().header().full_because.load());
      std::fprintf(stderr,
                   "Meantime: rank %d: no shared memory for one more thread that waits%s%s\n",
                   world_rank, limit.empty() ? "" : ": ", limit.c_str());
      std::abort();
    }
    for (node::Waiter* waiter = more; waiter < more + node::few_waiters; ++waiter) {
      waiter->owner = static_cast<std::uint32_t>(world_rank);
      give_back(waiter);
    }
  }
  node::Waiter* waiter = free_;
  free_ = waiter->next_sleeping == 0 ? nullptr
                                     : node::segment().at<node::Waiter>(waiter->next_sleeping);
  return waiter;
}

void Sleepers::give_back(node::Waiter* waiter) {
  waiter->next_sleeping = free_ == nullptr ? 0 : node::segment().link(free_);
  free_ = waiter;
}

}  // namespace meantime::wait
