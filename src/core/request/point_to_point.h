// Point-to-point operations as the core offers them to entry points, collectives and the making of
// communicators. Ranks are peers of the communicator; MPI_PROC_NULL is legal. Arguments are checked
// by the entry points. All functions return an MPI error class and run with the rank's lock held.
#pragma once

#include <mpi.h>

#include "core/comm/communicator.h"
#include "core/datatype/datatype.h"
#include "core/request/request.h"

namespace meantime::core {

enum class Mode : std::uint8_t { standard, synchronous, buffered, ready };
/// Added to a communicator's context, and below `context_step`: which sort of messages.
enum class ContextOffset : std::uint32_t {
  point_to_point,
  collective,
  partitioned_offer,  ///< where a partitioned send and its receive meet, with the user's tags
  partitioned_data,   ///< the partitions; the tags are the sender's, see core/request/partitioned.h
};

/// What a point-to-point call names; kept by persistent requests.
struct Operation {
  void* buffer = nullptr;
  MPI_Count count = 0;
  Datatype* type = nullptr;
  int peer = MPI_PROC_NULL;
  int tag = 0;
  ContextOffset context_offset = ContextOffset::point_to_point;
  Mode mode = Mode::standard;
};
inline Operation send_of(const void* buffer, MPI_Count count, Datatype& type, int destination,
                         int tag, ContextOffset context_offset = ContextOffset::point_to_point,
                         Mode mode = Mode::standard) {
  return {const_cast<void*>(buffer), count, &type, destination, tag, context_offset, mode};
}
inline Operation receive_of(void* buffer, MPI_Count count, Datatype& type, int source, int tag,
                            ContextOffset context_offset = ContextOffset::point_to_point) {
  return {buffer, count, &type, source, tag, context_offset};
}

/// The usual case: a small message goes into a cell, and nothing is left to do. False if it has to
/// be started as a request.
bool send_eagerly(const Operation& send, Communicator& comm);

/// Starts a send. `*request` is nullptr when the send is already complete (the usual case for
/// small messages), else the caller owns the new request.
int start_send(const Operation& send, Communicator& comm, Request** request);
/// Starts a receive; `*request` is a request that the caller owns, or nullptr after an error. Where
/// the segment is full it waits, unless `in_background`: within progress, where it must not.
int start_receive(const Operation& receive, Communicator& comm, Request** request,
                  bool in_background = false);

/// Blocking forms. `status` may be MPI_STATUS_IGNORE.
int send(const Operation& send, Communicator& comm);
int receive(const Operation& receive, Communicator& comm, MPI_Status* status);
int send_receive(const Operation& send, const Operation& receive, Communicator& comm,
                 MPI_Status* status);

/// Waits for one request, writes the status, and deletes it (unless persistent). Returns its error.
int finish(Request* request, MPI_Status* status);
void set_status(MPI_Status* status, const Request& request);

/// Drains this rank's inbox and moves its transfers and collectives. True if anything moved.
bool progress();

}  // namespace meantime::core
