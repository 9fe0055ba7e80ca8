#include "core/request/point_to_point.h"
#include "core/request/buffered.h"
#include "core/request/ending.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "core/request/partitioned.h"
#include "core/request/progress.h"
#include "core/request/requests.h"
#include "core/request/status.h"
#include "match/engine.h"
#include "rank/rank.h"
#include "scheduling/worker.h"
#include "sleep/doorbell.h"
#include "wait/short_wait.h"
#include "wait/wait.h"

namespace meantime::core {
namespace {

/// The payload of an eager message to where the user wants it; false if it does not fit.
bool take_payload(match::Message& message, void* buffer, MPI_Count count, Datatype& type,
                  MPI_Status* status) {
  const std::size_t bytes = message.bytes;
  if (bytes > static_cast<std::size_t>(count * type.size) ||
      (!type.contiguous && ends_within_element(type, message.bytes))) {
    return false;
  }
  const Stopwatch stopwatch(message.copy_ns != 0);
  if (bytes == 0) {
    // No data, and perhaps no buffer.
  } else if (type.contiguous) {
    std::memcpy(static_cast<char*>(buffer) + type.true_lb, payload_of(message), bytes);
  } else {
    unpack(buffer, count, type, 0, payload_of(message), bytes);
  }
  match::note_copy(message, stopwatch);
  if (status != MPI_STATUS_IGNORE) {
    status->MPI_SOURCE = message.source;
    status->MPI_TAG = message.tag;
    set_status_bytes(*status, static_cast<MPI_Count>(bytes));
    set_status_cancelled(*status, false);
  }
  return true;
}

void pack_all(const void* buffer, MPI_Count count, Datatype& type, char* to, std::size_t bytes) {
  if (bytes == 0) {
    // No data, and perhaps no buffer.
  } else if (type.contiguous) {
    std::memcpy(to, static_cast<const char*>(buffer) + type.true_lb, bytes);
  } else {
    pack(buffer, count, type, 0, to, bytes);
  }
}

}  // namespace

bool send_eagerly(const void* buffer, MPI_Count count, Datatype& type, int destination, int tag,
                  Communicator& comm, ContextOffset offset) {
  const auto bytes = static_cast<std::size_t>(count * type.size);
  match::Engine& engine = *self().engine;
  match::Sends& sends = engine.sends;
  const int world_rank = comm.peer_world_rank(destination);
  const match::Envelope envelope{comm.context | static_cast<std::uint32_t>(offset), comm.rank, tag};
  if (type.contiguous && bytes <= engine.limits.eager &&
      sends.copy_to_posted(world_rank, envelope, static_cast<const char*>(buffer) + type.true_lb,
                           bytes)) {
    return true;
  }
  if (bytes <= match::eager_slot_bytes && bytes <= engine.limits.eager) {
    if (char* place = sends.eager_slot(world_rank, bytes, envelope)) {
      pack_all(buffer, count, type, place, bytes);
      sends.push_slot(world_rank);
      return true;
    }
  }
  match::Message* message = sends.eager_cell(world_rank, bytes, type.contiguous);
  if (message == nullptr) {
    return false;
  }
  message->envelope() = envelope;
  const Stopwatch stopwatch(message->copy_ns != 0);
  pack_all(buffer, count, type, payload_of(*message), bytes);
  match::note_copy(*message, stopwatch);
  sends.push(*message);
  return true;
}

int start_send(const void* buffer, MPI_Count count, Datatype& type, int destination, int tag,
               Communicator& comm, Mode mode, ContextOffset offset, Request** request) {
  *request = nullptr;
  if (destination == MPI_PROC_NULL) {
    return MPI_SUCCESS;
  }
  if (mode != Mode::synchronous &&
      send_eagerly(buffer, count, type, destination, tag, comm, offset)) {
    return MPI_SUCCESS;
  }
  auto* send = new SendRequest(
      {const_cast<void*>(buffer), count, &type, destination, tag, offset, mode}, comm);
  const int result = send->begin(true);
  if (result != MPI_SUCCESS || send->complete) {
    delete send;
    return result;
  }
  *request = send;
  return MPI_SUCCESS;
}

int start_receive(void* buffer, MPI_Count count, Datatype& type, int source, int tag,
                  Communicator& comm, ContextOffset offset, Request** request, bool in_background) {
  auto* receive =
      new ReceiveRequest({buffer, count, &type, source, tag, offset, Mode::standard}, comm);
  receive->in_background = in_background;
  const int result = receive->begin();
  if (result != MPI_SUCCESS) {
    delete receive;
    receive = nullptr;
  }
  *request = receive;
  return result;
}

int send(const void* buffer, MPI_Count count, Datatype& type, int destination, int tag,
         Communicator& comm, Mode mode, ContextOffset offset) {
  if (destination == MPI_PROC_NULL ||
      (mode != Mode::synchronous &&
       send_eagerly(buffer, count, type, destination, tag, comm, offset))) {
    return MPI_SUCCESS;
  }
  SendRequest request({const_cast<void*>(buffer), count, &type, destination, tag, offset, mode},
                      comm);
  request.of_blocking_call = true;
  int result = request.begin(true);
  if (result == MPI_SUCCESS && !request.complete) {
    Request* one = &request;
    wait_all(&one, 1);
    result = request.error;
  }
  return result;
}

namespace {

class Caught final : public wait::Awaited {
 public:
  Caught(match::Engine& engine, const match::Envelope& hand) : engine_(engine), hand_(hand) {}
  bool ready() override {
    message = engine_.catch_message(hand_, 0);
    return message != nullptr;
  }
  bool progress() override { return false; }
  void arm(node::Waiter&) override {}
  void disarm(node::Waiter&) override {}
  void describe(wait::Situation&) const override {}

  match::Message* message = nullptr;

 private:
  match::Engine& engine_;
  const match::Envelope& hand_;
};

/// The message, if it is here already or comes with the first looks: then nothing is posted. While
/// others of its worker can run, a thread rank lets them, for one of them may send it.
match::Message* catch_message(match::Engine& engine, const match::Envelope& hand) {
  if (ranks::others_runnable()) {
    Caught caught(engine, hand);
    if (!caught.ready()) {
      wait::is_over_soon(caught);
    }
    return caught.message;
  }
  bool at_once = false;
  wait::ShortWait short_wait(self());
  match::Message* message = engine.catch_message(hand, wait::quick_turns(), &at_once);
  if (message != nullptr && !at_once) {
    short_wait.over(ledger::Activity::poll);
  }
  return message;
}

}  // namespace

int receive(void* buffer, MPI_Count count, Datatype& type, int source, int tag, Communicator& comm,
            ContextOffset offset, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_null_process_status(status);
    return MPI_SUCCESS;
  }
  match::Engine& engine = *self().engine;
  const match::Envelope hand{comm.context | static_cast<std::uint32_t>(offset), source, tag};
  advance_abandoned();
  advance_collectives();
  match::Message* const message = catch_message(engine, hand);
  if (message != nullptr && message->kind == match::ItemKind::eager &&
      take_payload(*message, buffer, count, type, status)) {
    engine.empty(*message);
    return MPI_SUCCESS;
  }
  // On the stack: a blocking receive is over when this returns.
  ReceiveRequest request({buffer, count, &type, source, tag, offset, Mode::standard}, comm);
  request.of_blocking_call = true;
  int result = message == nullptr ? request.begin() : request.begin_probed(*message);
  if (result == MPI_SUCCESS) {
    Request* one = &request;
    wait_all(&one, 1);
    set_status(status, request);
    result = request.error;
  }
  return result;
}

int send_receive(const void* send_buffer, MPI_Count send_count, Datatype& send_type,
                 int destination, int send_tag, void* receive_buffer, MPI_Count receive_count,
                 Datatype& receive_type, int source, int receive_tag, Communicator& comm,
                 ContextOffset offset, MPI_Status* status) {
  Request* requests[2] = {nullptr, nullptr};
  int result = start_receive(receive_buffer, receive_count, receive_type, source, receive_tag, comm,
                             offset, &requests[0]);
  if (result != MPI_SUCCESS) {
    return result;
  }
  result = start_send(send_buffer, send_count, send_type, destination, send_tag, comm,
                      Mode::standard, offset, &requests[1]);
  if (result != MPI_SUCCESS) {
    requests[0]->cancel();
    finish(requests[0], MPI_STATUS_IGNORE);
    return result;
  }
  wait_all(requests, 2);
  result = finish(requests[0], status);
  if (requests[1] != nullptr) {
    const int sent = finish(requests[1], MPI_STATUS_IGNORE);
    result = result != MPI_SUCCESS ? result : sent;
  }
  return result;
}

bool progress() {
  bool moved = self().engine->progress();
  moved |= advance_abandoned();
  moved |= advance_collectives();
  moved |= advance_unmatched();
  look_at_buffered();
  return moved;
}

bool arm_background(node::Waiter& waiter) {
  Rank& rank = self();
  if (rank.engine != nullptr) {
    rank.starving = rank.engine->starving();
    rank.nap_ns = rank.engine->nap_ns();
  }
  bool armed = collective_hooks() != nullptr && collective_hooks()->arm(waiter);
  armed = arm_unmatched(waiter) || armed;
  rank.unattended = false;
  return armed;
}

void disarm_background(node::Waiter& waiter) {
  if (collective_hooks() != nullptr) {
    collective_hooks()->disarm(waiter);
  }
  disarm_unmatched(waiter);
}

void let_go_before_sleep(Rank& rank) {
  hand_over_background(rank);
  if (rank.engine != nullptr) {
    rank.engine->memory.let_go();
  }
}

void hand_over_background_now(Rank& rank) {
  rank.unattended = false;
  const node::SleepLink last = rank.area->mailbox.sleeper.load(std::memory_order_relaxed);
  if (last == 0) {
    return;  // whoever falls asleep arms
  }
  node::Waiter& heir = wait::waiter_of(last);
  if (collective_hooks() != nullptr) {
    collective_hooks()->hand_over(heir);
  }
  hand_over_unmatched(heir);
  if (rank.engine->starving()) {
    wait::ring(heir);  // it may sleep for good, and shall nap
  }
}

}  // namespace meantime::core
