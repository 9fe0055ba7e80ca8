// The process that the user sees as mpiexec. It does nothing but pass signals on to the supervisor,
// its child, and end with the job's status: so mpiexec may be killed in any way, and the supervisor
// is still there to clean up; and if the supervisor is killed, this process does it.
#pragma once

#include "launch/job.h"

namespace meantime::launch {

/// How the supervisor calls itself.
inline constexpr char supervisor_name[] = "meantime-job";
/// The command line of one of another launcher's tasks: "tasks of PROGRAM".
inline constexpr char tasks_of[] = "tasks of ";

/// Runs the job; returns mpiexec's exit status. `arguments` is main's argv: the supervisor writes
/// its own name there, so that killing mpiexec by name does not hit both.
int run_job(Job& job, char** arguments);

}  // namespace meantime::launch
