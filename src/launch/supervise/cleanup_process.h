// The cleanup process undoes what a job has changed in the machine when mpiexec and its supervisor
// are both killed. There only if the job may lower frequencies. It is outside its job's process
// tree, so nobody who ends that ends it; it sleeps until the last of the two is gone, restores what
// they have left, and ends. Of an mpiexec inside a job it is not outside the outer job: the outer
// supervisor is the reaper that it falls to, and where that one kills all its descendants at once,
// the cleanup process is killed with the two.
#pragma once

#include "launch/job.h"

namespace meantime::launch {

/// How it calls itself.
inline constexpr char cleanup_process_name[] = "meantime-undo";

/// Before the job's two processes part, and before this one becomes the reaper of its descendants.
/// `rename`: gives the calling process another name. False, and errno: it cannot be started.
bool start_cleanup_process(Job& job, void (*rename)(const char* name, char** arguments),
                           char** arguments);

}  // namespace meantime::launch
