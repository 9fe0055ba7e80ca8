// Buffered sends (MPI 5.0, 3.6). The user attaches a buffer; we use it only as an allowance: the
// message is copied into our own memory, and its bytes count against the buffer's size until it has
// left. A small message goes into a cell at once, as any send does.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "core/communicator.h"
#include "core/datatype/datatype.h"

namespace meantime::core {

struct SendRequest;

/// Of one rank.
struct Buffered {
  bool attached = false;
  bool unlimited = false;
  void* buffer = nullptr;
  MPI_Count size = 0;
  MPI_Count used = 0;
  /// Not gone yet. Shared with a thread that waits in flush_buffer while another one, which needs
  /// room, drops those that have left.
  std::vector<std::shared_ptr<SendRequest>> sends;
};

int attach_buffer(void* buffer, MPI_Count size);
/// Waits until all buffered sends have left.
int detach_buffer(void** buffer, MPI_Count* size);
int flush_buffer();
/// MPI_ERR_BUFFER when the attached buffer has no room left.
int buffered_send(const void* buffer, MPI_Count count, Datatype& type, int destination, int tag,
                  Communicator& comm);

}  // namespace meantime::core
