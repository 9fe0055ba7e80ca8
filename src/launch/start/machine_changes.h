// What a job changes in the machine, if the settings ask for it: lower frequencies while ranks wait
// (MEANTIME_FREQUENCY, with MEANTIME_ENERGY=countdown), and a bound on idle states
// (MEANTIME_CPU_DMA_LATENCY). Both are prepared before mpiexec's two processes part, so that each
// can undo what was changed when the other is killed. A rank changes nothing: it sends its request
// to the supervisor, the only one who writes.
#pragma once

#include <string>

#include "launch/job.h"

namespace meantime::launch {

/// Before the job's two processes part. What cannot be done is said in one line, and the job goes
/// on without; or that line is returned, if the settings say `require`: then the job must not
/// start.
std::string prepare_machine(Job& job);

}  // namespace meantime::launch
