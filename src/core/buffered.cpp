#include "core/buffered.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/messages.h"
#include "core/requests.h"
#include "rank/rank.h"

namespace meantime::core {
namespace {

Buffered& state() {
  Rank& rank = self();
  if (rank.buffered == nullptr) {
    rank.buffered = std::make_shared<Buffered>();
  }
  return *rank.buffered;
}

MPI_Count weight(const SendRequest& send) {
  return send.operation.count + MPI_BSEND_OVERHEAD;
}

void drop_those_that_left(Buffered& buffered) {
  std::erase_if(buffered.sends, [&](const std::shared_ptr<SendRequest>& send) {
    const bool left = send->advance();
    buffered.used -= left ? weight(*send) : 0;
    return left;
  });
}

}  // namespace

int attach_buffer(void* buffer, MPI_Count size) {
  Buffered& buffered = state();
  if (buffered.attached) {
    return fail(MPI_ERR_BUFFER, "a buffer is attached already");
  }
  buffered.attached = true;
  buffered.buffer = buffer;
  buffered.size = size;
  // MPI_BUFFER_AUTOMATIC: as much as it takes.
  buffered.unlimited = buffer == MPI_BUFFER_AUTOMATIC;
  return MPI_SUCCESS;
}

int flush_buffer() {
  Buffered& buffered = state();
  const std::vector<std::shared_ptr<SendRequest>> kept = buffered.sends;
  std::vector<Request*> open;
  for (const std::shared_ptr<SendRequest>& send : kept) {
    open.push_back(send.get());
  }
  wait_all(open.data(), static_cast<int>(open.size()));
  drop_those_that_left(buffered);
  return MPI_SUCCESS;
}

int detach_buffer(void** buffer, MPI_Count* size) {
  Buffered& buffered = state();
  flush_buffer();
  *buffer = buffered.attached ? buffered.buffer : nullptr;
  *size = buffered.attached ? buffered.size : 0;
  buffered.attached = false;
  return MPI_SUCCESS;
}

int buffered_send(const void* buffer, MPI_Count count, Datatype& type, int destination, int tag,
                  Communicator& comm) {
  if (destination == MPI_PROC_NULL) {
    return MPI_SUCCESS;
  }
  Buffered& buffered = state();
  const MPI_Count bytes = count * type.size;
  if (!buffered.unlimited) {
    if (buffered.used + bytes + MPI_BSEND_OVERHEAD > buffered.size) {
      progress();
      drop_those_that_left(buffered);
    }
    if (!buffered.attached || buffered.used + bytes + MPI_BSEND_OVERHEAD > buffered.size) {
      return fail(MPI_ERR_BUFFER,
                  "a message of {} bytes does not fit: {} of {} bytes attached are "
                  "in use",
                  bytes, buffered.used, buffered.attached ? buffered.size : 0);
    }
  }
  PackedCopy copy(buffer, count, type);
  if (copy.data() == nullptr) {
    return fail(MPI_ERR_NO_MEM, "no memory for a buffered send of {} bytes", bytes);
  }
  const Operation operation{copy.data(),   bytes, resolve(MPI_BYTE),
                            destination,   tag,   Plane::point_to_point,
                            Mode::standard};
  auto send = std::make_shared<SendRequest>(operation, comm);
  send->own_copy = copy.release();
  const int result = send->begin();
  if (result != MPI_SUCCESS || send->complete) {
    return result;
  }
  buffered.used += weight(*send);
  buffered.sends.push_back(std::move(send));
  return MPI_SUCCESS;
}

}  // namespace meantime::core
