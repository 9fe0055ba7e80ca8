// The process that starts the ranks, hears of everything that happens to them, and sees to it that
// nothing stays behind. It sleeps unless something happened.
#pragma once

#include "launch/job.h"

namespace meantime::launch {

/// Runs the job to its end in the calling process, which `front` has started and which must have no
/// other children; returns mpiexec's exit status. All signals that `supervised_signals` names are
/// blocked already. If `front` is gone, as early as it may be, the job ends.
int supervise(Job& job, pid_t front);

}  // namespace meantime::launch
