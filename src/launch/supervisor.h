// The process that starts the ranks, hears of everything that happens to them, and sees to it that
// nothing stays behind. It sleeps unless something happened.
#pragma once

#include "launch/job.h"

namespace meantime::launch {

/// The signal by which the kernel tells the supervisor that mpiexec itself was killed.
int front_is_gone_signal();

/// Runs the job to its end in the calling process, which must have no other children; returns
/// mpiexec's exit status. All signals that `supervised_signals` names are blocked already.
int supervise(Job& job);

/// What mpiexec passes on to the ranks or acts on.
sigset_t supervised_signals();

}  // namespace meantime::launch
