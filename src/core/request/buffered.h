// Buffered sends (MPI 5.0, 3.6). The user attaches a buffer to a communicator, a session or the
// process; we use it only as an allowance: the message is copied into our own memory, and its bytes
// count against the buffer's size until it has left. A small message goes into a cell at once, as
// any send does. Of the buffers that a send could use the nearest counts: that of its communicator,
// then that of the session its group came from, then the process's. Rank's lock held everywhere.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "core/comm/communicator.h"
#include "core/datatype/datatype.h"
#include "core/request/request.h"

namespace meantime::core {

struct SendRequest;

/// What a user attached, and how much of it is in use.
struct Buffer {
  bool attached = false;
  bool unlimited = false;  ///< MPI_BUFFER_AUTOMATIC: as much as it takes
  void* address = nullptr;
  MPI_Count size = 0;
  MPI_Count used = 0;
  std::string memory_kinds;  ///< of a session's, by which those made from it know it: what they say
};
/// Of a communicator, a session or the process; made when first attached.
using BufferPlace = std::shared_ptr<Buffer>;

/// Of one rank.
struct Buffered {
  struct Kept {
    // Shared with a thread that waits in flush_buffer while another one, which needs room, drops
    // those that have left.
    std::shared_ptr<SendRequest> send;
    BufferPlace counts_in;
  };
  BufferPlace process;
  std::vector<Kept> sends;  ///< not gone yet, or nobody has looked
  std::size_t next = 0;     ///< at which to look next
};

/// The process's.
BufferPlace& process_buffer();

int attach_buffer(BufferPlace& place, void* address, MPI_Count size);
/// Waits until all sends that count in the buffer have left.
int detach_buffer(BufferPlace& place, void** address, MPI_Count* size);
int flush_buffer(const BufferPlace& place);
/// The same without waiting: a request that is complete when they have.
Request* start_flush(const BufferPlace& place);
/// Looks at two of them, and drops what has left. With each buffered send and each turn of
/// progress: what is kept does not outgrow what is under way, and many under way cost no turn more
/// than two.
void look_at_buffered();
/// MPI_Finalize: those of all buffers.
void flush_all_buffers();
/// MPI_ERR_BUFFER when the buffer has no room left.
int buffered_send(const void* buffer, MPI_Count count, Datatype& type, int destination, int tag,
                  Communicator& comm);

}  // namespace meantime::core
