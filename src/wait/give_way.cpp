#include "wait/give_way.h"

#include <sched.h>

#include "base/pause.h"
#include "policy/policy.h"
#include "rank/rank.h"
#include "scheduling/worker.h"
#include "wait/others_turn.h"

namespace meantime::wait {

void give_way(Rank& rank) {
  if (rank.fiber != nullptr) {
    if (!ranks::yield()) {
      if (policy().crowded) {
        give_core_to_kernel();
      } else {
        pause();
      }
    }
    return;
  }
  {
    OthersTurn turn(rank);
    sched_yield();
  }
  if (!policy().crowded) {
    rank.spreading.yielded(rank.world_rank, rank.world_size);
  }
}

void give_way() {
  give_way(self());
}

void give_core_away(Rank& rank) {
  if (rank.fiber != nullptr) {
    give_core_to_kernel();
  } else {
    give_way(rank);
  }
}

}  // namespace meantime::wait
