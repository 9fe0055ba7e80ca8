// The blocking collectives of an intracommunicator that has an area: by deposits in shared memory
// and meetings (meeting.h). Each rank sleeps at most once per meeting. All return an MPI error
// class; rank's lock held; arguments checked. Results do not depend on who arrives when:
// reductions go in the order of ranks, whoever executes them.
#pragma once

#include <mpi.h>

#include "coll/blocks.h"
#include "coll/elements.h"
#include "core/comm/communicator.h"
#include "core/op/op.h"

namespace meantime::coll::shared {

int barrier(Communicator& comm);
int bcast(Piece piece, int root, Communicator& comm);
/// `receive` matters at the root only; `send` may be in place there.
int gather(Piece send, const Blocks& receive, int root, Communicator& comm);
int scatter(const Blocks& send, Piece receive, int root, Communicator& comm);
int allgather(Piece send, const Blocks& receive, Communicator& comm);
int alltoall(const Blocks& send, const Blocks& receive, Communicator& comm);

// Reductions need elements that can be deposited: Elements::fit.
int reduce(const Reduction& reduction, int root, Communicator& comm);
int allreduce(const Reduction& reduction, Communicator& comm);
int scan(const Reduction& reduction, bool inclusive, Communicator& comm);
/// `counts` are the elements of each member; reduction.count is their sum.
int reduce_scatter(const Reduction& reduction, const MemberCounts& counts, Communicator& comm);

}  // namespace meantime::coll::shared
