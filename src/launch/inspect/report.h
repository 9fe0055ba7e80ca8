// What each rank of a running job does: the list that deadlocks, --timeout and SIGQUIT show. Reads
// the job's segment and /proc; changes nothing and needs no answer from a rank, which may be stuck.
#pragma once

#include <string>

#include "launch/job.h"

namespace meantime::launch {

/// Many lines, the last one not ended; of ranks of this machine's nodes, and how many others there
/// are. `segments`: the job's descriptors, one a node; or none.
std::string job_report(const Job& job, const std::vector<int>& segments);

/// Without those others; it may be empty.
std::string report_of_ranks_here(const Job& job, const std::vector<int>& segments);

}  // namespace meantime::launch
