// All processes that descend from this one, found in /proc. Both mpiexec's processes are
// subreapers, so a rank's orphans come back as children and nobody can slip away.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <initializer_list>
#include <vector>

namespace meantime::machine {

/// Without the calling process itself.
std::vector<pid_t> descendants();

/// Sends the signals, in their order, to each.
void signal_descendants(std::initializer_list<int> signals);

/// SIGSTOP for all, also for those that they make meanwhile.
void stop_descendants();

/// Kills all descendants and waits until none is left; `patience_seconds` bounds the wait for
/// those that the kernel does not let go. `ended` hears of each child. Returns how many stayed.
int kill_descendants(double patience_seconds,
                     const std::function<void(pid_t pid, const rusage& used)>& ended = {});

}  // namespace meantime::machine
