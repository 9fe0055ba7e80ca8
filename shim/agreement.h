// Whether calls on a communicator are ours. A blocking collective and its non-blocking twin do not
// match, so all ranks of a communicator do the same: they agree when the first of them calls, once,
// by a reduction on that communicator.
#pragma once

#include "shim/host_mpi.h"

namespace meantime::shim {

/// In MPI_Init: every rank has the shim. Else the job ends, and a line names one that has not.
void look_for_all();

/// Whether collectives on it wait by us. Called by all its ranks in the same order, as collectives
/// are.
bool is_ours(Handle communicator);

}  // namespace meantime::shim
