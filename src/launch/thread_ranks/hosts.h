// Which processes carry a job's thread ranks, and how many workers each of them has.
#pragma once

#include <string>

#include "launch/job.h"

namespace meantime::launch {

/// Fills in Job::hosts, RankProcess::host and Job::first_workers by PreparedProgram::as_threads:
/// one host for all of them if that can be. There are several
///   - by --ranks-per-process, or if the system's limit of memory maps wants it;
///   - because what belongs to a process (-env, -wdir, --wait) is not the same for all programs;
///   - because process ranks lie between.
/// One line why it is refused, or empty.
std::string divide_into_hosts(Job& job);

}  // namespace meantime::launch
