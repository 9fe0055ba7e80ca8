#include "match/wire.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "match/engine.h"
#include "scheduling/worker.h"

namespace meantime::match {
namespace {

// Of the host's ranks, while there is a wire.
std::mutex all_lock;
std::vector<Engine*> all;

}  // namespace

Engine::~Engine() {
  forget_left_behind();
  if (limits.wire.on) {
    const std::lock_guard<std::mutex> lock(all_lock);
    std::erase(all, this);
  }
}

/// What has arrived for the ranks of this worker that do not run now. (Nothing in `progress` lets
/// another rank run, so the lock is not held for long.)
void Engine::help_neighbours() {
  const std::lock_guard<std::mutex> lock(all_lock);
  if (!known_) {
    known_ = true;
    all.push_back(this);
  }
  for (Engine* other : all) {
    if (other != this && ranks::rests_here(other->rank)) {
      other->progress();
    }
  }
}

/// The next step of this receive or send of ours is under way to us, or there already: a receive
/// that is posted late has no first gap, a sender whose answer comes at once none before its data.
void Engine::put_on_wire(Item& item) {
  if (step_has_arrived(item)) {
    return;
  }
  wire_.push_back(&item);
  ++steps_on_wire_;
  rank.starving = true;  // also if it has armed already, and only looks once more before it sleeps
}

/// The answer to the sender, which finds the message on its attention list. By the receive's owner,
/// or, for an interface that answers, by whoever has matched: before the request is there, perhaps.
void Engine::ready_to_receive(Message& message) {
  Transfer& transfer = transfer_of(message);
  transfer.due_ns = std::max(now_ns(), transfer.due_ns) + limits.wire.latency_ns;
  notice_sender(message);
  transfer.awaited().add(moving);
  wake_rank(static_cast<int>(message.origin));
}

/// Takes the step if it has arrived; false: it, or the one after it, is under way.
bool Engine::step_has_arrived(Item& step) {
  const std::uint64_t now = now_ns();
  const bool receives = step.kind == ItemKind::posted;
  Message& message = receives ? *segment_.at<Message>(static_cast<Receive&>(step).message)
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
        now + limits.wire.latency_ns +
        static_cast<std::uint64_t>(limits.wire.ns_per_byte * static_cast<double>(transfer.bytes));
    return false;
  } else {
    copy_fragments(message, false);
  }
  return true;
}

/// Steps that have arrived. The list has as many as a rank has requests, and order does not matter.
bool Engine::take_from_wire() {
  std::vector<Item*> steps;
  steps.swap(wire_);  // a step may wait for nothing, but others may come by what it does
  for (Item* step : steps) {
    if (!step_has_arrived(*step)) {
      wire_.push_back(step);
    }
  }
  const bool moved = wire_.size() < steps.size();
  steps_on_wire_ = wire_.size();
  if (steps_on_wire_ != 0) {
    rank.starved_looks = 0;  // however late it is, it comes
  }
  return moved;
}

}  // namespace meantime::match
