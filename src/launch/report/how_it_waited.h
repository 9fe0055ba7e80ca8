// For `mpiexec --report`: how the job's ranks waited; as the settings were when they started, and
// what the program changed about it while it ran.
#pragma once

#include <string>
#include <vector>

#include "launch/job.h"
#include "ledger/reader.h"

namespace meantime::launch {

/// What is to be said of ranks that only poll, and are more than there are CPUs for; empty if none
/// do.
std::string crowded_polling(const Job& job);

/// Whether somebody has asked for that, for this job; a file is for many.
bool asked_to_poll(const Job& job);

/// By rank, as it found them in MPI_Init: a script, or the program before it, may have changed the
/// environment since. Of a rank that did not get there, what mpiexec gave it.
std::vector<std::string> ways_of_ranks(const Job& job);
std::vector<std::string> energy_policies_of_ranks(const Job& job);

/// "waiting: adaptive; rank 3: poll; ranks 4 to 7: event", ended; and a line with the above
std::string wait_line(const Job& job);
/// "energy policy: balanced; rank 1: none", ended; empty if no rank has one
std::string energy_policy_line(const Job& job);

/// "changed while it ran: MEANTIME_WAIT=poll (2 ranks)", ended; empty if nothing was
std::string changes_line(const ledger::Figures& figures);

/// An array of what was changed and by how many ranks, or by this one; and behind it, as a member
/// of its own, how many changes are not in it.
std::string json_changes(const ledger::Figures& figures);
std::string json_changes(const ledger::RankFigures& rank);

}  // namespace meantime::launch
