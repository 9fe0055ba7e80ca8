// `mpiexec --report`, by worker: who had a core, and what it did with it. Columns by the worker's
// own clock add up to its wall time; what the kernel says (CPU time, preempted) is apart from them.
#pragma once

#include <string>

#include "launch/job.h"
#include "ledger/reader.h"

namespace meantime::launch {

/// A line for each worker of thread ranks, with a head; empty if there is none.
std::string worker_table(const ledger::Figures& figures);
/// A list; a process rank is its own worker. Of one that did not get to MPI_Finalize the CPU time
/// is the whole process's, as it is in the list of ranks.
std::string json_workers(const Job& job, const ledger::Figures& figures);

}  // namespace meantime::launch
