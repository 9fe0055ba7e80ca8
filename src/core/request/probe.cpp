#include "core/request/probe.h"

#include "core/error/error.h"
#include "core/request/progress.h"
#include "core/request/requests.h"
#include "core/request/status.h"
#include "core/request/watch_set.h"
#include "match/engine.h"
#include "policy/policy.h"
#include "rank/rank.h"
#include "sleep/doorbell.h"
#include "wait/test_calls.h"
#include "wait/wait.h"

namespace meantime::core {
namespace {

/// What lies behind an MPI_Message.
struct MatchedMessage : Object {
  static constexpr Kind object_kind = Kind::message;
  MatchedMessage(match::Message& what, Communicator& on)
      : Object(Kind::message), message(what), comm(on) {
    comm.retain();
  }
  ~MatchedMessage() = default;

  match::Message& message;
  Communicator& comm;
};

void set_status_of(MPI_Status* status, const match::Message& message) {
  if (status != MPI_STATUS_IGNORE) {
    status->MPI_SOURCE = message.source;
    status->MPI_TAG = message.tag;
    set_status_bytes(*status, static_cast<MPI_Count>(message.bytes));
    set_status_cancelled(*status, false);
  }
}

match::Message* find(int source, int tag, Communicator& comm, MPI_Status* status, bool take) {
  match::Engine& engine = *self().engine;
  match::Message* message = engine.matcher.probe({comm.context, source, tag}, take);
  if (message != nullptr) {
    set_status_of(status, *message);
  }
  return message;
}

/// Waits for a message to come. The sleeper is signalled when it is added to the unexpected ones.
class MessageAwaited final : public wait::Awaited {
 public:
  MessageAwaited(int source, int tag, Communicator& comm, MPI_Status* status, bool take)
      : source_(source), tag_(tag), comm_(comm), status_(status), take_(take) {}

  bool ready() override {
    if (found == nullptr) {
      found = find(source_, tag_, comm_, status_, take_);
    }
    return found != nullptr;
  }
  bool progress() override { return core::progress(); }
  void arm(node::Waiter& waiter) override {
    wait::expect(waiter, 1);
    core::arm_background(waiter);
    self().engine->matcher.arm_probe(waiter, {comm_.context, source_, tag_});
  }
  void disarm(node::Waiter& waiter) override {
    self().engine->matcher.disarm_probe(waiter);
    core::disarm_background(waiter);
  }
  int cost_of_look() const override { return core::cost_of_look(self()); }
  void about_to_sleep() override { core::let_go_before_sleep(self()); }
  void describe(wait::Situation& situation) const override {
    comm_.describe(source_, tag_, situation);
  }

  match::Message* found = nullptr;

 private:
  int source_;
  int tag_;
  Communicator& comm_;
  MPI_Status* status_;
  bool take_;
};

match::Message* wait_for(int source, int tag, Communicator& comm, MPI_Status* status, bool take) {
  const match::LooksElsewhere looks(*self().engine, may_come_from_elsewhere(source, comm));
  MessageAwaited awaited(source, tag, comm, status, take);
  wait::until(awaited);
  return awaited.found;
}

match::Message* look_for(int source, int tag, Communicator& comm, MPI_Status* status, bool take) {
  const match::LooksElsewhere looks(*self().engine, may_come_from_elsewhere(source, comm));
  core::progress();
  match::Message* message = find(source, tag, comm, status, take);
  if (message == nullptr) {
    const std::uint64_t from =
        std::uint64_t{comm.context} << 24 ^ static_cast<std::uint32_t>(source);
    wait::TestLoop* const loop = wait::fruitless_test(from << 32 ^ static_cast<std::uint32_t>(tag));
    if (loop != nullptr) {
      WatchSet& watched = watch_set_of(*loop);
      const bool awake = comm.waiting != nullptr && !comm.waiting->sleeps();
      const bool changed = watched.watch({comm.context, source, tag, awake});
      MessageAwaited call(source, tag, comm, status, take);
      WatchedAwaited awaited(watched, call, false);
      wait::test_may_last(*loop, awaited, 1, changed);
      message = call.found;  // it may have come meanwhile
    }
  } else {
    wait::fruitful_test();
  }
  return message;
}

MPI_Message handle_of(match::Message* message, Communicator& comm) {
  return message == nullptr ? MPI_MESSAGE_NULL
                            : reinterpret_cast<MPI_Message>(new MatchedMessage(*message, comm));
}

}  // namespace

void probe(int source, int tag, Communicator& comm, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_null_process_status(status);
  } else {
    wait_for(source, tag, comm, status, false);
  }
}

bool look(int source, int tag, Communicator& comm, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_null_process_status(status);
    return true;
  }
  return look_for(source, tag, comm, status, false) != nullptr;
}

MPI_Message matched_probe(int source, int tag, Communicator& comm, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_null_process_status(status);
    return MPI_MESSAGE_NO_PROC;
  }
  return handle_of(wait_for(source, tag, comm, status, true), comm);
}

MPI_Message matched_look(int source, int tag, Communicator& comm, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_null_process_status(status);
    return MPI_MESSAGE_NO_PROC;
  }
  return handle_of(look_for(source, tag, comm, status, true), comm);
}

int receive_message(void* buffer, MPI_Count count, Datatype& type, MPI_Message* message,
                    Request** request) {
  if (*message == MPI_MESSAGE_NO_PROC) {
    *message = MPI_MESSAGE_NULL;
    return start_receive(receive_of(buffer, count, type, MPI_PROC_NULL, MPI_ANY_TAG),
                         *self().all_ranks, request);
  }
  auto* matched = object_behind<MatchedMessage>(*message);
  if (matched == nullptr) {
    return fail(MPI_ERR_ARG, "the message handle is not one of a matched probe");
  }
  auto* receive =
      new ReceiveRequest({buffer, count, &type, matched->message.source, matched->message.tag,
                          ContextOffset::point_to_point, Mode::standard},
                         matched->comm);
  const int result = receive->begin_probed(matched->message);
  drop(&matched->comm);
  delete matched;
  *message = MPI_MESSAGE_NULL;
  *request = receive;
  return result;
}

}  // namespace meantime::core
