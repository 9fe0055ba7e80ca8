#include "match/ways/test_wire.h"

#include <algorithm>

#include "base/clock.h"
#include "base/lock.h"
#include "match/engine.h"
#include "scheduling/worker.h"

namespace meantime::match {
namespace {

// Of the host's ranks.
Mutex all_lock;
std::vector<Engine*> all MEANTIME_GUARDED_BY(all_lock);

}  // namespace

TestWire::TestWire(Engine& engine, Transitions& transitions, Copies& copies)
    : engine_(engine), wire_(engine.limits.wire), transitions_(transitions), copies_(copies) {
  const LockGuard lock(all_lock);
  all.push_back(&engine_);
}

TestWire::~TestWire() {
  const LockGuard lock(all_lock);
  std::erase(all, &engine_);
}

void TestWire::offer(Transfer& transfer) const {
  transfer.due_ns = now_ns() + wire_.latency_ns;
}

void TestWire::take_what_arrived() {
  {
    // Nothing in `progress` lets another rank run, so the lock is not held for long.
    const LockGuard lock(all_lock);
    for (Engine* other : all) {
      if (other != &engine_ && ranks::rests_here(other->rank)) {
        other->progress();
      }
    }
  }
  engine_.progress();  // an interface may have answered within this call
}

Way::First TestWire::begin(Message& message, Receive& receive) {
  Transfer& transfer = transfer_of(message);
  copies_.divide(transfer);
  transfer.holders.store(1, std::memory_order_relaxed);
  const bool answers = wire_.interface_answers;
  if (answers || engine_.is_me(receive.owner)) {
    transitions_.begin_copy(receive);
  }
  if (answers) {
    ready_to_receive(message);
  }
  return answers ? First::nobody : First::receiver;
}

void TestWire::receive(Message&, Receive& receive) {
  put_on(receive);
}

/// The next step of this receive or send of ours is under way to us, or there already: a receive
/// that is posted late has no first gap, a sender whose answer comes at once none before its data.
void TestWire::put_on(Item& item) {
  if (has_arrived(item)) {
    return;
  }
  steps_under_way_.push_back(&item);
  engine_.starve(wait::nap_for_memory_ns);
}

/// The answer to the sender, which finds the message on its attention list. By the receive's owner,
/// or, for an interface that answers, by whoever has matched: before the request is there, perhaps.
void TestWire::ready_to_receive(Message& message) {
  Transfer& transfer = transfer_of(message);
  transfer.due_ns = std::max(now_ns(), transfer.due_ns) + wire_.latency_ns;
  transitions_.notice_sender(message);
  transitions_.begin_move(message);
  engine_.bells.ring_rank(static_cast<int>(message.origin));
}

/// Takes the step if it has arrived; false: it, or the one after it, is under way.
bool TestWire::has_arrived(Item& step) {
  const std::uint64_t now = now_ns();
  const bool receives = step.kind == ItemKind::posted;
  Message& message = receives ? *engine_.segment.at<Message>(static_cast<Receive&>(step).message)
                              : static_cast<Message&>(step);
  Transfer& transfer = transfer_of(message);
  if (now < transfer.due_ns) {
    return false;
  }
  if (receives) {
    ready_to_receive(message);
  } else if ((message.flags & data_on_wire) == 0) {
    message.flags |= data_on_wire;
    transfer.due_ns =
        now + wire_.latency_ns +
        static_cast<std::uint64_t>(wire_.ns_per_byte * static_cast<double>(transfer.copy.bytes));
    return false;
  } else {
    copies_.send(message);
  }
  return true;
}

/// Transitions that have arrived. The list has as many as a rank has requests, and order does not
/// matter.
bool TestWire::progress() {
  std::vector<Item*> steps;
  steps.swap(steps_under_way_);  // a step may wait for nothing, but others may come by what it does
  for (Item* step : steps) {
    if (!has_arrived(*step)) {
      steps_under_way_.push_back(step);
    }
  }
  const bool moved = steps_under_way_.size() < steps.size();
  if (!idle()) {
    engine_.rank.starvation.naps = 0;  // however late it is, it comes
  }
  return moved;
}

}  // namespace meantime::match
