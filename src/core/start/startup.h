// The library comes up: for one rank with its first use, for a host before its thread ranks run.
#pragma once

#include "scheduling/worker.h"

namespace meantime {
struct Rank;
}

namespace meantime::core {

/// The rank joins its job, or makes one (core/start/joining.h), and is in MPI. An MPI error class.
int start_up(Rank& rank);

/// For a host of thread ranks: maps the segment, then runs the plan to its end. An errno.
int start_thread_ranks(ranks::Plan plan, int segment);

}  // namespace meantime::core
