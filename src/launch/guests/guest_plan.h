// What `--guest` and MEANTIME_GUEST_... ask for, as the keeper takes it (guest/plan.h).
#pragma once

#include <string>
#include <vector>

#include "launch/job.h"

namespace meantime::launch {

/// Fills in job.guests, if the job is to have some. Empty, or one line why it cannot be.
std::string plan_guests(Job& job);

/// What guests see of mpiexec's environment: nothing of MPI, of the job, or of what may be secret.
std::vector<std::string> guest_environment();

}  // namespace meantime::launch
