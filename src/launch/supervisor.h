// The process that starts the ranks, hears of everything that happens to them, and sees to it that
// nothing stays behind. It sleeps unless something happened.
#pragma once

#include "launch/job.h"

namespace meantime::launch {

/// The signal by which the kernel tells the supervisor that mpiexec itself was killed.
int front_is_gone_signal();

/// The signal that carries all that mpiexec passes to the supervisor, with `relayed` as its value.
/// Not the signals themselves: SIGCONT would wipe out a SIGTSTP that the supervisor has not read
/// yet, and the ranks would never hear of it.
int relayed_signal();
/// `ranks_have_it`: the terminal has given the signal to the ranks already.
int relayed(int signal, bool ranks_have_it);

/// Runs the job to its end in the calling process, which must have no other children; returns
/// mpiexec's exit status. All signals that `supervised_signals` names are blocked already.
int supervise(Job& job);

/// What mpiexec passes on to the ranks or acts on.
sigset_t supervised_signals();

}  // namespace meantime::launch
