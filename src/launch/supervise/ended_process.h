// How a process ended that is not our child, from a pidfd that was opened while it lived.
#pragma once

#include <sys/types.h>

#include <optional>

namespace meantime::launch {

/// A pidfd (close-on-exec), or -1.
int watch_process(pid_t pid);

/// Sends it a signal, and never another process that has got its pid.
void signal_process(int pidfd, int signal);

/// A status as waitpid gives it; nothing on kernels before 6.15, which do not tell.
std::optional<int> wait_status_of(int pidfd);

}  // namespace meantime::launch
