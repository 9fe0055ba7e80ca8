// What meantime.h adds to MPI.
#include <meantime.h>
#include <sched.h>

#include "api/entry_point.h"
#include "core/errhandler.h"
#include "core/error.h"
#include "rank/clocks.h"
#include "rank/rank.h"
#include "rank/worker.h"
#include "wait/wait.h"

// The header's macros are for callers.
#undef MPIX_Yield
#undef MPIX_Stay
#undef MPIX_Rtime
#undef MPIX_Start_processor_timer
#undef MPIX_Stop_processor_timer
#undef MPIX_Ptime

namespace meantime {
namespace {

bool is_active() {
  return self().phase.load(std::memory_order_relaxed) == Phase::active;
}

/// To the handler of MPI_COMM_SELF, as far as there is one.
int report(const char* call, int code) {
  return is_active() ? core::invoke_error_handler(nullptr, code, call) : code;
}

}  // namespace
}  // namespace meantime

using namespace meantime;

MEANTIME_ENTRY_POINT int MPIX_Yield(void) {
  if (is_active()) {
    wait::give_way();
  } else {
    sched_yield();
  }
  return MPI_SUCCESS;
}

MEANTIME_ENTRY_POINT int MPIX_Stay(int stay) {
  ranks::stay(stay != 0);
  return MPI_SUCCESS;
}

MEANTIME_ENTRY_POINT double MPIX_Rtime(void) {
  return ranks::rank_seconds();
}

MEANTIME_ENTRY_POINT int MPIX_Start_processor_timer(void) {
  return ranks::start_processor_timer()
             ? MPI_SUCCESS
             : report("MPIX_Start_processor_timer", fail(MPI_ERR_OTHER,
                                                         "this rank is in a timed section already: "
                                                         "MPIX_Stop_processor_timer ends it"));
}

MEANTIME_ENTRY_POINT int MPIX_Stop_processor_timer(void) {
  return ranks::stop_processor_timer()
             ? MPI_SUCCESS
             : report("MPIX_Stop_processor_timer", fail(MPI_ERR_OTHER,
                                                        "this rank is in no timed section: "
                                                        "MPIX_Start_processor_timer begins one"));
}

MEANTIME_ENTRY_POINT double MPIX_Ptime(void) {
  return ranks::processor_seconds();
}
