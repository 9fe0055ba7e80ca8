// Collectives as schedules of messages. The shapes are stars: with more ranks than cores the number
// of times a rank must run counts, and in a star every rank but the root runs once; in the usual
// trees most run several times. Reductions go in the order of ranks. On intercommunicators every
// rank talks directly to the ranks of the other group. In long reductions each member of an
// intracommunicator joins a share.
// Each function adds the calling rank's steps; the returned value is an MPI error class.
#pragma once

#include "coll/elements.h"
#include "coll/schedule/schedule.h"

namespace meantime::coll::plans {

int barrier(Schedule& schedule, Communicator& comm);
int bcast(Schedule& schedule, Piece piece, int root, Communicator& comm);
int gather(Schedule& schedule, Piece send, const Blocks& receive, int root, Communicator& comm);
int scatter(Schedule& schedule, const Blocks& send, Piece receive, int root, Communicator& comm);
int allgather(Schedule& schedule, Piece send, const Blocks& receive, Communicator& comm);
int alltoall(Schedule& schedule, const Blocks& send, const Blocks& receive, Communicator& comm);
int reduce(Schedule& schedule, const Reduction& reduction, int root, Communicator& comm);
int allreduce(Schedule& schedule, const Reduction& reduction, Communicator& comm);
int scan(Schedule& schedule, const Reduction& reduction, bool inclusive, Communicator& comm);
int reduce_scatter(Schedule& schedule, const Reduction& reduction, const MemberCounts& counts,
                   Communicator& comm);

/// MPI_ERR_TOPOLOGY if the communicator has none. Blocks are numbered by neighbour; an allgather
/// sends `send` to all of them.
int neighbor_allgather(Schedule& schedule, Piece send, const Blocks& receive, Communicator& comm);
int neighbor_alltoall(Schedule& schedule, const Blocks& send, const Blocks& receive,
                      Communicator& comm);

}  // namespace meantime::coll::plans
