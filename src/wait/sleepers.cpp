#include "wait/sleepers.h"

#include <cstdlib>

#include "node/segment.h"

namespace meantime::wait {

node::Waiter* Sleepers::take(int world_rank) {
  node::Segment& segment = node::segment();
  if (free_ == nullptr) {
    // A page of them: as many threads of one rank as are ever likely to sleep in MPI at once.
    constexpr int batch = 4096 / sizeof(node::Waiter);
    const node::Link page = segment.grow(4096);
    if (page == 0) {
      std::abort();  // a page is not to be had: the machine is out of memory
    }
    for (int index = 0; index < batch; ++index) {
      node::Waiter* waiter = segment.at<node::Waiter>(page) + index;
      waiter->owner = static_cast<std::uint32_t>(world_rank);
      give_back(waiter);
    }
  }
  node::Waiter* waiter = free_;
  free_ = waiter->next_sleeping == 0 ? nullptr : segment.at<node::Waiter>(waiter->next_sleeping);
  return waiter;
}

void Sleepers::give_back(node::Waiter* waiter) {
  waiter->next_sleeping = free_ == nullptr ? 0 : node::segment().link(free_);
  free_ = waiter;
}

}  // namespace meantime::wait
