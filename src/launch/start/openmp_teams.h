// OpenMP inside ranks: whether the threads of all ranks' teams are more than the CPUs. A team's
// threads poll for each other (libgomp: for milliseconds, at each parallel region and barrier);
// with more threads than CPUs they keep those from a CPU that they poll for. Then the ranks get
// OMP_WAIT_POLICY=passive, which every OpenMP run-time library goes by, unless the user has said
// something about that.
#pragma once

#include <string_view>

#include "launch/job.h"

namespace meantime::launch {

inline constexpr std::string_view wait_policy_variable = "OMP_WAIT_POLICY";

/// By OMP_NUM_THREADS; without it a team has as many threads as its rank has CPUs. Ranks that are
/// bound have those of their binding, and must do with them; thread ranks are not bound, so this is
/// to be asked once it is known which ranks are processes.
bool teams_outnumber_cpus(const Job& job);

/// The user has said how this program's teams wait.
bool says_how_teams_wait(const Job& job, const ProgramRequest& program);

}  // namespace meantime::launch
