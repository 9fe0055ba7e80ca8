// Probes: is there a message, without receiving it; and matched probes, which take it out of the
// queue, so that only the holder of its handle can receive it (MPI 5.0, 3.8).
#pragma once

#include <mpi.h>

#include "core/comm/communicator.h"
#include "core/datatype/datatype.h"
#include "core/request/request.h"

namespace meantime::core {

/// Waits for a matching message.
void probe(int source, int tag, Communicator& comm, MPI_Status* status);
/// One look. False: there is none.
bool look(int source, int tag, Communicator& comm, MPI_Status* status);

/// The same, taking the message out; the handle is MPI_MESSAGE_NO_PROC for MPI_PROC_NULL.
MPI_Message matched_probe(int source, int tag, Communicator& comm, MPI_Status* status);
/// MPI_MESSAGE_NULL: there is none.
MPI_Message matched_look(int source, int tag, Communicator& comm, MPI_Status* status);

/// Starts the receive of a matched message and sets the handle to MPI_MESSAGE_NULL.
int receive_message(void* buffer, MPI_Count count, Datatype& type, MPI_Message* message,
                    Request** request);

}  // namespace meantime::core
