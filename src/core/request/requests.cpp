#include "core/request/requests.h"

#include <cstdlib>
#include <utility>

#include "core/error/error.h"
#include "core/request/buffered.h"
#include "core/request/segment_memory.h"
#include "node/segment.h"
#include "rank/rank.h"
#include "wait/wait.h"

namespace meantime::core {
namespace {

const char* data_begin(const Operation& operation) {
  return static_cast<const char*>(operation.buffer) + operation.type->true_lb;
}

void describe_operation(const Operation& operation, const Communicator& comm,
                        wait::Situation& situation) {
  const bool of_program = operation.context_offset == ContextOffset::point_to_point ||
                          operation.context_offset == ContextOffset::partitioned_offer;
  comm.describe(operation.peer, of_program ? operation.tag : node::no_tag, situation);
  situation.bytes = static_cast<std::uint64_t>(operation.count * operation.type->size);
}

wait::Channel channel_of(bool directly) {
  return directly ? wait::Channel::direct_copy : wait::Channel::shared_memory;
}

void pack_send(const match::LocalSend& send, std::size_t offset, void* to, std::size_t bytes) {
  const auto& request = static_cast<const SendRequest&>(send);
  pack(request.operation.buffer, request.operation.count, *request.operation.type, offset, to,
       bytes);
}

void unpack_receive(const match::LocalReceive& receive, std::size_t offset, const void* from,
                    std::size_t bytes) {
  const auto& request = static_cast<const ReceiveRequest&>(receive);
  unpack(request.operation.buffer, request.operation.count, *request.operation.type, offset, from,
         bytes);
}

}  // namespace

bool may_come_from_elsewhere(int source, const Communicator& comm) {
  match::Engine& engine = *self().engine;
  return engine.remote != nullptr &&
         (source == MPI_ANY_SOURCE || engine.peers[comm.peer_world_rank(source)].elsewhere);
}

namespace {

/// What is sent from there may be the first that this rank hears from there.
bool is_unheard(int source, const Communicator& comm) {
  return source == MPI_ANY_SOURCE || self().engine->peers[comm.peer_world_rank(source)].heard == 0;
}

}  // namespace

const match::Typed typed{pack_send, unpack_receive};

// --- send

SendRequest::SendRequest(const Operation& what, Communicator& communicator)
    : Request(Type::send), operation(what) {
  comm = &communicator;
  comm->retain();
  hold(*operation.type);
}

SendRequest::~SendRequest() {
  drop(operation.type);
  std::free(own_copy);
}

int SendRequest::begin(bool tried) {
  source = MPI_ANY_SOURCE;  // a send's status says only whether it was cancelled
  tag = MPI_ANY_TAG;
  complete = false;
  active = true;
  cancelled = false;
  error = MPI_SUCCESS;
  if (operation.peer == MPI_PROC_NULL) {
    complete = true;
    return MPI_SUCCESS;
  }
  LocalSend& send = *this;
  send = LocalSend{};
  send.envelope() = envelope_of(operation, comm->rank, *comm);
  send.destination = comm->peer_world_rank(operation.peer);
  send.bytes = static_cast<std::uint64_t>(operation.count * operation.type->size);
  send.contiguous = operation.type->contiguous ? data_begin(operation) : nullptr;
  send.synchronous = operation.mode == Mode::synchronous;
  send.blocking = of_blocking_call;
  if (operation.mode == Mode::buffered) {
    complete = true;
    return buffered_send(operation.buffer, operation.count, *operation.type, operation.peer,
                         operation.tag, *comm);
  }
  if (!tried && !send.synchronous && send_eagerly(operation, *comm)) {
    complete = send.done = true;  // not directly
    return MPI_SUCCESS;
  }
  return self().engine->sends.start(*this);
}

bool SendRequest::advance() {
  if (!complete && self().engine->sends.finished(*this)) {
    complete = true;
    error = match::LocalSend::error != 0
                ? fail(match::LocalSend::error, "the send buffer cannot be read")
                : MPI_SUCCESS;
  }
  return complete;
}

int SendRequest::arm(node::Waiter& waiter) {
  return self().engine->sends.arm(*this, waiter);
}
void SendRequest::disarm(node::Waiter&) {
  self().engine->sends.disarm(*this);
}

void SendRequest::describe(wait::Situation& situation) const {
  describe_operation(operation, *comm, situation);
}

wait::Channel SendRequest::channel() const {
  return channel_of(self().engine->sends.goes_directly(*this));
}

int SendRequest::start() {
  return begin();
}

// MPI 4.0 deprecated the cancelling of sends, and a send that has left cannot be called back.
int SendRequest::cancel() {
  return MPI_SUCCESS;
}

// --- receive

ReceiveRequest::ReceiveRequest(const Operation& what, Communicator& communicator)
    : Request(Type::receive), operation(what) {
  comm = &communicator;
  comm->retain();
  hold(*operation.type);
}

ReceiveRequest::~ReceiveRequest() {
  if (is_private) [[unlikely]] {  // its thread is being ended
    self().engine->matcher.publish();
  }
  drop(operation.type);
}

int ReceiveRequest::prepare() {
  complete = false;
  active = true;
  cancelled = false;
  error = MPI_SUCCESS;
  bytes = 0;
  envelope() = envelope_of(operation, operation.peer, *comm);
  address = operation.type->contiguous ? reinterpret_cast<std::uint64_t>(data_begin(operation)) : 0;
  capacity = static_cast<std::uint64_t>(operation.count * operation.type->size);
  looks_elsewhere = may_come_from_elsewhere(operation.peer, *comm);
  may_be_first = looks_elsewhere && is_unheard(operation.peer, *comm);
  if (!self().engine->take_entry(*this)) [[unlikely]] {
    const auto look = [this] {
      return self().engine->take_entry(*this) ? node::segment().link(entry) : 0;
    };
    if (in_background || needed_segment_memory(*comm, sizeof(match::Receive), look) == 0) {
      return fail_for_shared_memory("a receive");
    }
  }
  return MPI_SUCCESS;
}

int ReceiveRequest::begin() {
  if (operation.peer == MPI_PROC_NULL) {
    complete = true;
    active = true;
    cancelled = false;
    error = MPI_SUCCESS;
    bytes = 0;
    source = MPI_PROC_NULL;
    tag = MPI_ANY_TAG;
    return MPI_SUCCESS;
  }
  const int result = prepare();
  if (result == MPI_SUCCESS) {
    self().engine->post(*this);
  }
  return result;
}

int ReceiveRequest::begin_probed(match::Message& message) {
  const int result = prepare();
  if (result == MPI_SUCCESS) {
    self().engine->receive_probed(*this, message);
  }
  return result;
}

bool ReceiveRequest::advance() {
  if (!complete && self().engine->finished(*this)) {
    take_results();
  }
  return complete;
}

void ReceiveRequest::take_results() {
  complete = true;
  cancelled = was_cancelled;
  if (cancelled) {
    source = MPI_ANY_SOURCE;
    tag = MPI_ANY_TAG;
  } else {
    source = received.source;
    tag = received.tag;
    bytes = static_cast<MPI_Count>(received.bytes);
    error = received.error;
    if (error == MPI_ERR_TRUNCATE) {
      error = fail(MPI_ERR_TRUNCATE,
                   "the message from rank {} with tag {} is longer than the receive buffer of {} "
                   "bytes",
                   source, tag, capacity);
    } else if (error == MPI_SUCCESS && !operation.type->contiguous &&
               ends_within_element(*operation.type, bytes)) {
      error = fail(MPI_ERR_TYPE,
                   "the {} bytes from rank {} with tag {} end within an element of the receive's "
                   "datatype",
                   bytes, source, tag);
    } else if (error != MPI_SUCCESS) {
      error = fail(error, "the receive buffer or the sender's buffer cannot be accessed");
    }
  }
}

int ReceiveRequest::arm(node::Waiter& waiter) {
  return self().engine->arm(*this, waiter);
}
void ReceiveRequest::disarm(node::Waiter&) {
  self().engine->disarm(*this);
}

void ReceiveRequest::describe(wait::Situation& situation) const {
  describe_operation(operation, *comm, situation);
}

wait::Channel ReceiveRequest::channel() const {
  if (entry == nullptr) {
    return channel_of(directly);
  }
  const int from = operation.peer < 0 ? node::no_peer : comm->peer_world_rank(operation.peer);
  return channel_of(self().engine->goes_directly(*this, from));
}

int ReceiveRequest::start() {
  return begin();
}

int ReceiveRequest::cancel() {
  if (!complete && entry != nullptr) {
    self().engine->matcher.cancel(*this);
  }
  return MPI_SUCCESS;
}

// --- bundle

BundleRequest::BundleRequest(std::vector<Request*> parts, Communicator& communicator)
    : Request(Type::collective), parts_(std::move(parts)) {
  comm = &communicator;
  comm->retain();
}

BundleRequest::~BundleRequest() {
  for (Request* part : parts_) {
    delete part;
  }
  std::free(scratch);
}

bool BundleRequest::advance() {
  bool all = true;
  for (Request* part : parts_) {
    all = (part->complete || part->advance()) && all;
  }
  if (all && !complete) {
    complete = true;
    for (Request* part : parts_) {
      if (part->error != MPI_SUCCESS) {
        error = part->error;
      }
      if (part->type == Type::receive) {
        source = part->source;
        tag = part->tag;
        bytes = part->bytes;
      }
    }
  }
  return complete;
}

int BundleRequest::arm(node::Waiter& waiter) {
  int leaves = 0;
  for (Request* part : parts_) {
    leaves += part->complete ? 0 : part->arm(waiter);
  }
  return leaves;
}

void BundleRequest::disarm(node::Waiter& waiter) {
  for (Request* part : parts_) {
    if (!part->complete) {
      part->disarm(waiter);
    }
  }
}

void BundleRequest::describe(wait::Situation& situation) const {
  if (!parts_.empty()) {
    parts_.back()->describe(situation);
  }
}

wait::Channel BundleRequest::channel() const {
  return parts_.empty() ? wait::Channel::shared_memory : parts_.back()->channel();
}

// --- complete from the start

namespace {

struct CompletedSend final : Request {
  CompletedSend() : Request(Type::send) { complete = true; }
  bool advance() override { return true; }
  int arm(node::Waiter&) override { return 0; }
  void disarm(node::Waiter&) override {}
  void describe(wait::Situation&) const override {}
  int cancel() override { return MPI_SUCCESS; }
};

}  // namespace

Request* const completed_send = ::new CompletedSend;

}  // namespace meantime::core
