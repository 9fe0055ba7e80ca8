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
bool take_payload(match::Message& message, const Operation& receive, MPI_Status* status) {
  const std::size_t bytes = message.bytes;
  Datatype& type = *receive.type;
  if (bytes > static_cast<std::size_t>(receive.count * type.size) ||
      (!type.contiguous && ends_within_element(type, message.bytes))) {
    return false;
  }
  const Stopwatch stopwatch(message.copy_ns != 0);
  if (bytes == 0) {
    // No data, and perhaps no buffer.
  } else if (type.contiguous) {
    std::memcpy(static_cast<char*>(receive.buffer) + type.true_lb, payload_of(message), bytes);
  } else {
    unpack(receive.buffer, receive.count, type, 0, payload_of(message), bytes);
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

void pack_all(const Operation& send, char* to, std::size_t bytes) {
  const Datatype& type = *send.type;
  if (bytes == 0) {
    // No data, and perhaps no buffer.
  } else if (type.contiguous) {
    std::memcpy(to, static_cast<const char*>(send.buffer) + type.true_lb, bytes);
  } else {
    pack(send.buffer, send.count, *send.type, 0, to, bytes);
  }
}

}  // namespace

bool send_eagerly(const Operation& send, Communicator& comm) {
  Datatype& type = *send.type;
  const auto bytes = static_cast<std::size_t>(send.count * type.size);
  match::Engine& engine = *self().engine;
  match::Sends& sends = engine.sends;
  const int destination = comm.peer_world_rank(send.peer);
  const match::Envelope envelope = envelope_of(send, comm.rank, comm);
  if (engine.is_thread_rank() && type.contiguous && bytes <= engine.limits.eager &&
      sends.copy_to_posted(destination, envelope,
                           static_cast<const char*>(send.buffer) + type.true_lb, bytes)) {
    return true;
  }
  if (bytes <= match::eager_slot_bytes && bytes <= engine.limits.eager) {
    if (char* place = sends.eager_slot(destination, bytes, envelope)) {
      pack_all(send, place, bytes);
      sends.push_slot(destination);
      return true;
    }
  }
  match::Message* message = sends.eager_cell(destination, bytes, type.contiguous);
  if (message == nullptr) {
    return false;
  }
  message->envelope() = envelope;
  const Stopwatch stopwatch(message->copy_ns != 0);
  pack_all(send, payload_of(*message), bytes);
  match::note_copy(*message, stopwatch);
  sends.push(*message);
  return true;
}

int start_send(const Operation& send, Communicator& comm, Request** request) {
  *request = nullptr;
  if (send.peer == MPI_PROC_NULL || (send.mode != Mode::synchronous && send_eagerly(send, comm))) {
    return MPI_SUCCESS;
  }
  auto* started = new SendRequest(send, comm);
  const int result = started->begin(true);
  if (result != MPI_SUCCESS || started->complete) {
    delete started;
    return result;
  }
  *request = started;
  return MPI_SUCCESS;
}

int start_receive(const Operation& receive, Communicator& comm, Request** request,
                  bool in_background) {
  auto* started = new ReceiveRequest(receive, comm);
  started->in_background = in_background;
  const int result = started->begin();
  if (result != MPI_SUCCESS) {
    delete started;
    started = nullptr;
  }
  *request = started;
  return result;
}

int send(const Operation& send, Communicator& comm) {
  if (send.peer == MPI_PROC_NULL || (send.mode != Mode::synchronous && send_eagerly(send, comm))) {
    return MPI_SUCCESS;
  }
  SendRequest request(send, comm);
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
    message = engine_.catch_message(hand_, 0, true);
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
match::Message* catch_message(match::Engine& engine, const match::Envelope& hand,
                              bool looks_elsewhere) {
  if (ranks::others_runnable()) {
    Caught caught(engine, hand);
    if (!caught.ready()) {
      wait::is_over_soon(caught);
    }
    return caught.message;
  }
  bool at_once = false;
  wait::ShortWait short_wait(self());
  match::Message* message =
      engine.catch_message(hand, wait::quick_turns(), looks_elsewhere, &at_once);
  if (message != nullptr && !at_once) {
    short_wait.over(ledger::Activity::poll);
  }
  return message;
}

}  // namespace

int receive(const Operation& receive, Communicator& comm, MPI_Status* status) {
  if (receive.peer == MPI_PROC_NULL) {
    set_null_process_status(status);
    return MPI_SUCCESS;
  }
  match::Engine& engine = *self().engine;
  const match::Envelope hand = envelope_of(receive, receive.peer, comm);
  advance_abandoned();
  advance_collectives();
  match::Message* const message =
      catch_message(engine, hand, may_come_from_elsewhere(receive.peer, comm));
  if (message != nullptr && message->kind == match::ItemKind::eager &&
      take_payload(*message, receive, status)) {
    engine.empty(*message);
    return MPI_SUCCESS;
  }
  // On the stack: a blocking receive is over when this returns.
  ReceiveRequest request(receive, comm);
  request.blocking = true;
  int result = message == nullptr ? request.begin() : request.begin_probed(*message);
  if (result == MPI_SUCCESS) {
    Request* one = &request;
    wait_all(&one, 1);
    set_status(status, request);
    result = request.error;
  }
  return result;
}

int send_receive(const Operation& send, const Operation& receive, Communicator& comm,
                 MPI_Status* status) {
  Request* requests[2] = {nullptr, nullptr};
  int result = start_receive(receive, comm, &requests[0]);
  if (result != MPI_SUCCESS) {
    return result;
  }
  result = start_send(send, comm, &requests[1]);
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

int cost_of_look(const Rank& rank) {
  // 0.8 us by UCX's epoll_wait, a tenth of that in memory.
  constexpr int of_network = 8;
  return rank.engine != nullptr && rank.engine->waits_for_network() ? of_network : 1;
}

void let_go_before_sleep(Rank& rank) {
  hand_over_background(rank);
  if (rank.engine != nullptr) {
    rank.engine->let_go();
    rank.engine->hear_network();
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
