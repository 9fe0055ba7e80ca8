// What meantime.h adds to MPI.
#include <meantime.h>
#include <sched.h>

#include "api/entry_point.h"
#include "rank/rank.h"
#include "wait/wait.h"

// The header's macro is for callers.
#undef MPIX_Yield

MEANTIME_ENTRY_POINT int MPIX_Yield(void) {
  const meantime::Rank& rank = meantime::self();
  if (rank.phase.load(std::memory_order_relaxed) == meantime::Phase::active) {
    meantime::wait::give_way();
  } else {
    sched_yield();
  }
  return MPI_SUCCESS;
}
