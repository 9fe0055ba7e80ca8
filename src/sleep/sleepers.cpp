#include "sleep/sleepers.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/lock.h"
#include "node/segment.h"

namespace meantime::wait {
namespace {

constexpr int waiters_a_page = 4096 / sizeof(node::Waiter);

/// A thread rank waits in one call at a time and, now and then, in one inside of that: those of a
/// host take a few each out of one page. Sixty for each of a thousand were 4 MB.
constexpr int few = 4;
static_assert(waiters_a_page % few == 0);

node::Waiter* few_of_the_host() {
  static Mutex lock;
  static node::Waiter* left MEANTIME_GUARDED_BY(lock) = nullptr;
  static int count MEANTIME_GUARDED_BY(lock) = 0;
  const LockGuard locked(lock);
  if (count == 0) {
    const node::Link page = node::segment().grow(4096);
    if (page == 0) {
      return nullptr;
    }
    left = node::segment().at<node::Waiter>(page);
    count = waiters_a_page;
  }
  node::Waiter* const mine = left;
  left += few;
  count -= few;
  return mine;
}

}  // namespace

void Sleepers::prepare(int world_rank) {
  node::Segment& segment = node::segment();
  // A page of them: as many threads of one rank as are ever likely to sleep in MPI at once.
  const node::Link page = segment.start_of(world_rank);
  for (int index = 0; index < waiters_a_page; ++index) {
    node::Waiter* waiter = segment.at<node::Waiter>(page) + index;
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
    for (node::Waiter* waiter = more; waiter < more + few; ++waiter) {
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
