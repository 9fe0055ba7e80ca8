#include "core/request/buffered.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error/error.h"
#include "core/request/messages.h"
#include "core/request/requests.h"
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

/// What a message counts beside its data. The ABI's MPI_BSEND_OVERHEAD is for every library;
/// programs are about that give room for their own's: 96 (MPICH) or 128 bytes (Open MPI). With ours
/// they would fail as soon as a message does not leave at once, to another node for instance.
constexpr MPI_Count counted_overhead = 128;
static_assert(counted_overhead <= MPI_BSEND_OVERHEAD);

MPI_Count weight(MPI_Count bytes) {
  return bytes + counted_overhead;
}

MPI_Count weight(const SendRequest& send) {
  return weight(send.operation.count);
}

void drop_those_that_left() {
  std::erase_if(state().sends, [](const Buffered::Kept& kept) {
    const bool left = kept.send->advance();
    kept.counts_in->used -= left ? weight(*kept.send) : 0;
    return left;
  });
}

/// Those that count in `place`; in any buffer if there is none.
std::vector<std::shared_ptr<SendRequest>> kept_in(const BufferPlace& place) {
  std::vector<std::shared_ptr<SendRequest>> sends;
  for (const Buffered::Kept& kept : state().sends) {
    if (place == nullptr || kept.counts_in == place) {
      sends.push_back(kept.send);
    }
  }
  return sends;
}

void wait_for(const std::vector<std::shared_ptr<SendRequest>>& sends) {
  std::vector<Request*> open;
  for (const std::shared_ptr<SendRequest>& send : sends) {
    open.push_back(send.get());
  }
  wait_all(open.data(), static_cast<int>(open.size()));
  drop_those_that_left();
}

/// The buffer that a send on `comm` counts in.
const BufferPlace& nearest_buffer(const Communicator& comm) {
  for (const BufferPlace* place : {&comm.buffer, &comm.session_buffer}) {
    if (*place != nullptr && (*place)->attached) {
      return *place;
    }
  }
  return process_buffer();
}

/// Complete when sends have left. They are the buffer's; others may drop them from it meanwhile.
struct FlushRequest final : Request {
  explicit FlushRequest(std::vector<std::shared_ptr<SendRequest>> sends)
      : Request(Type::collective), sends_(std::move(sends)) {}

  bool advance() override {
    std::erase_if(sends_, [](const std::shared_ptr<SendRequest>& send) { return send->advance(); });
    if (sends_.empty() && !complete) {
      complete = true;
      drop_those_that_left();
    }
    return complete;
  }
  int arm(node::Waiter& waiter) override {
    int leaves = 0;
    for (const std::shared_ptr<SendRequest>& send : sends_) {
      leaves += send->complete ? 0 : send->arm(waiter);
    }
    return leaves;
  }
  void disarm(node::Waiter& waiter) override {
    for (const std::shared_ptr<SendRequest>& send : sends_) {
      if (!send->complete) {
        send->disarm(waiter);
      }
    }
  }
  void describe(wait::Situation& situation) const override {
    if (!sends_.empty()) {
      sends_.front()->describe(situation);
    }
  }

 private:
  std::vector<std::shared_ptr<SendRequest>> sends_;
};

}  // namespace

BufferPlace& process_buffer() {
  Buffered& buffered = state();
  if (buffered.process == nullptr) {
    buffered.process = std::make_shared<Buffer>();
  }
  return buffered.process;
}

int attach_buffer(BufferPlace& place, void* address, MPI_Count size) {
  if (place == nullptr) {
    place = std::make_shared<Buffer>();
  }
  if (place->attached) {
    return fail(MPI_ERR_OTHER, "a buffer is attached already");
  }
  if (address == nullptr) {
    return fail(MPI_ERR_ARG, "the buffer is NULL");
  }
  if (address != MPI_BUFFER_AUTOMATIC && size < MPI_BSEND_OVERHEAD) {
    return fail(MPI_ERR_BUFFER,
                "a buffer of {} bytes has no room for a message: each takes {} more than its data",
                size, MPI_BSEND_OVERHEAD);
  }
  place->attached = true;
  place->address = address;
  place->size = size;
  place->unlimited = address == MPI_BUFFER_AUTOMATIC;
  return MPI_SUCCESS;
}

int flush_buffer(const BufferPlace& place) {
  if (place != nullptr) {
    wait_for(kept_in(place));
  }
  return MPI_SUCCESS;
}

void look_at_buffered() {
  Buffered* const buffered = self().buffered.get();
  if (buffered == nullptr) {
    return;
  }
  std::vector<Buffered::Kept>& sends = buffered->sends;
  for (int looks = 0; looks < 2 && !sends.empty(); ++looks) {
    if (buffered->next >= sends.size()) {
      buffered->next = 0;
    }
    if (!sends[buffered->next].send->advance()) {
      ++buffered->next;
      continue;
    }
    std::swap(sends[buffered->next], sends.back());
    const Buffered::Kept gone = std::move(sends.back());
    sends.pop_back();
    gone.counts_in->used -= weight(*gone.send);
  }
}

Request* start_flush(const BufferPlace& place) {
  auto* flush = new FlushRequest(place != nullptr ? kept_in(place)
                                                  : std::vector<std::shared_ptr<SendRequest>>());
  flush->advance();
  return flush;
}

void flush_all_buffers() {
  if (self().buffered != nullptr) {
    wait_for(kept_in(nullptr));
  }
}

int detach_buffer(BufferPlace& place, void** address, MPI_Count* size) {
  flush_buffer(place);
  const bool attached = place != nullptr && place->attached;
  *address = attached ? place->address : nullptr;
  *size = attached ? place->size : 0;
  if (attached) {
    place->attached = false;
  }
  return MPI_SUCCESS;
}

int buffered_send(const void* buffer, MPI_Count count, Datatype& type, int destination, int tag,
                  Communicator& comm) {
  if (destination == MPI_PROC_NULL) {
    return MPI_SUCCESS;
  }
  look_at_buffered();
  const BufferPlace place = nearest_buffer(comm);
  const MPI_Count bytes = count * type.size;
  if (!place->unlimited) {
    if (place->used + weight(bytes) > place->size) {
      progress();
      drop_those_that_left();
    }
    if (!place->attached || place->used + weight(bytes) > place->size) {
      return fail(MPI_ERR_BUFFER,
                  "a message of {} bytes does not fit: {} of {} bytes attached are "
                  "in use",
                  bytes, place->used, place->attached ? place->size : 0);
    }
  }
  PackedCopy copy(buffer, count, type);
  if (copy.data() == nullptr) {
    return fail(MPI_ERR_NO_MEM, "no memory for a buffered send of {} bytes", bytes);
  }
  const Operation operation{copy.data(),   bytes, resolve(MPI_BYTE),
                            destination,   tag,   ContextOffset::point_to_point,
                            Mode::standard};
  auto send = std::make_shared<SendRequest>(operation, comm);
  send->own_copy = copy.release();
  const int result = send->begin();
  if (result != MPI_SUCCESS || send->complete) {
    return result;
  }
  place->used += weight(*send);
  state().sends.push_back({std::move(send), place});
  return MPI_SUCCESS;
}

}  // namespace meantime::core
