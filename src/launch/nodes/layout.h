// Which ranks are on which machine of a job, in blocks: each gets its slots; of more ranks than
// slots each gets its share.
#pragma once

#include <vector>

#include "launch/job.h"

namespace meantime::launch {

/// Of each machine, in order; machines at the end may have none.
std::vector<int> ranks_of_nodes(const std::vector<NodeRequest>& nodes, int ranks);

/// Gives the job's ranks to its members, in order; those of others than `own` (-1: of all) are
/// elsewhere.
void settle_ranks(Job& job, int own);

}  // namespace meantime::launch
