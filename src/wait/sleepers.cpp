#include "wait/sleepers.h"

#include <cstdio>
#include <cstdlib>

#include "node/segment.h"

namespace meantime::wait {

bool Sleepers::prepare(int world_rank) {
  node::Segment& segment = node::segment();
  // A page of them: as many threads of one rank as are ever likely to sleep in MPI at once.
  constexpr int batch = 4096 / sizeof(node::Waiter);
  const node::Link page = segment.grow(4096);
  if (page == 0) {
    return false;
  }
  for (int index = 0; index < batch; ++index) {
    node::Waiter* waiter = segment.at<node::Waiter>(page) + index;
    waiter->owner = static_cast<std::uint32_t>(world_rank);
    give_back(waiter);
  }
  return true;
}

node::Waiter* Sleepers::take(int world_rank) {
  if (free_ == nullptr && !prepare(world_rank)) {
    std::fprintf(stderr, "Meantime: rank %d: no shared memory for one more thread that waits\n",
                 world_rank);
    std::abort();
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
