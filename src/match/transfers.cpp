#include "match/transfers.h"

#include <cstring>
#include <utility>

#include "base/clock.h"
#include "match/ways/remote.h"
#include "node/cross_memory.h"
#include "policy/policy.h"

namespace meantime::match {

void Transfers::join(Message& message, Receive& receive) {
  receive.meet(message, message.bytes, ground_.segment.link(&message));
  if (message.kind == ItemKind::rendezvous) {
    begin(message, receive);
  } else if (ground_.is_me(receive.owner)) {
    deliver_from_cell(message, receive);
  } else if (message.kind == ItemKind::synchronous) {
    // The sender counts on the payload's leaving its cell, so the owner must come and get it.
    transitions_.call_owner(receive);
  } else {
    transitions_.leave_to_owner(receive);
  }
}

void Transfers::deliver_from_cell(Message& message, Receive& receive) {
  const std::size_t bytes = receive.received.bytes;
  const Stopwatch stopwatch(message.copy_ns != 0);
  if (receive.address != 0) {
    std::memcpy(reinterpret_cast<void*>(receive.address), payload_of(message), bytes);
  } else if (bytes > 0) {
    ground_.typed.unpack(local(receive), 0, payload_of(message), bytes);
  }
  note_copy(message, stopwatch);
  const bool eager = message.kind == ItemKind::eager;
  transitions_.finish_alone(receive);
  if (eager) {
    cells_.give_back(message);
  } else {
    transitions_.deliver(message);
  }
}

/// The way of a payload that stayed with its sender.
Piped Transfers::choose(const Message& message, const Transfer& transfer, const Receive& receive) {
  if ((message.flags & from_elsewhere) != 0) {
    return by_network;
  }
  if (pipe_is_quicker(message, transfer, receive)) {
    pipes.time(receive);
    return from_the_start;
  }
  if (transfer.copy.source_address == 0 || !node::can_attach(static_cast<int>(message.origin))) {
    return from_the_start;
  }
  return test_wire != nullptr && transfer.copy.destination_address != 0 ? by_wire : not_piped;
}

/// Of a large message that could be copied directly. Only if both sides stay in MPI until it is
/// there, each on a core of its own; and one at a time.
bool Transfers::pipe_is_quicker(const Message& message, const Transfer& transfer,
                                const Receive& receive) {
  return (message.flags & receive.flags & blocking) != 0 &&
         transfer.copy.bytes > Route::medium_bytes && transfer.copy.source_address != 0 &&
         transfer.copy.destination_address != 0 && ground_.is_me(receive.owner) &&
         !ground_.is_me(message.origin) && !pipes.is_timing() && !wait::policy().crowded &&
         !ground_.is_thread_rank() && test_wire == nullptr &&
         ground_.route.two_copies(transfer.copy.bytes);
}

Way& Transfers::way_of(std::uint32_t piped) {
  if (piped == by_wire) [[unlikely]] {
    return *test_wire;
  }
  if (piped == by_network) {
    return *ground_.remote;
  }
  return piped == not_piped ? static_cast<Way&>(copies) : pipes;
}

void Transfers::begin(Message& message, Receive& receive) {
  Transfer& transfer = transfer_of(message);
  transfer.receive = ground_.segment.link(&receive);
  transfer.copy.bytes = receive.received.bytes;
  transfer.copy.destination_address = receive.address;
  const Piped way = choose(message, transfer, receive);
  transfer.piped.store(way, std::memory_order_relaxed);
  receive.directly.store(way == from_the_start ? 0 : 1, std::memory_order_relaxed);
  if (transfer.copy.bytes == 0 && way != by_network) {
    transfer.holders.store(1, std::memory_order_relaxed);
    transitions_.finish(receive, done);
    transitions_.leave(message);
    return;
  }
  switch (way_of(way).begin(message, receive)) {
    case Way::First::receiver:
      if (ground_.is_me(receive.owner)) {
        to_receive_.push_back(&receive);
      } else {
        transitions_.call_owner(receive);
      }
      break;
    case Way::First::sender:
      to_send_.push_back(&message);
      break;
    case Way::First::nobody:
      break;
  }
}

void Transfers::work_off() {
  // In each round something may be added: what moves a payload also rings.
  for (;;) {
    ground_.bells.ring_noted();
    if (!to_receive_.empty()) {
      Receive* const receive = to_receive_.back();
      to_receive_.pop_back();
      take_part(*receive);
    } else if (!to_send_.empty()) {
      Message* const message = to_send_.back();
      to_send_.pop_back();
      way_of(transfer_of(*message).piped.load(std::memory_order_relaxed)).send(*message);
    } else if (!ground_.bells.noted()) {
      return;
    }
  }
}

/// By the owner, no match lock held.
void Transfers::take_part(Receive& receive) {
  Message& message = *ground_.segment.at<Message>(receive.message);
  if (message.kind != ItemKind::rendezvous) {
    deliver_from_cell(message, receive);
    return;
  }
  if (receive.state() == matched) {
    // Called by another rank, which moves nothing itself. A receive that we matched ourselves is
    // `copying` already, or, by the sender's doing, `done`.
    transitions_.begin_copy(receive);
  }
  const std::uint32_t piped = transfer_of(message).piped.load(std::memory_order_acquire);
  if (piped == went_over) {
    transitions_.leave(
        message);  // all fragments are claimed; as a pipe it comes by the attention list
  } else {
    way_of(piped).receive(message, receive);
  }
}

bool Transfers::attend() {
  Link link = ground_.box.attention.take_all();
  bool moved = false;
  while (link != 0) {
    auto* item = ground_.segment.at<Item>(link);
    link = item->next.load(std::memory_order_relaxed);
    if (item->kind == ItemKind::posted) {
      auto& receive = static_cast<Receive&>(*item);
      if (receive.state() == posted) [[unlikely]] {
        transitions_.put_on_list(receive);  // its match is being made (leave_to_owner)
        continue;
      }
      moved = true;
      auto& message = *ground_.segment.at<Message>(receive.message);
      if (message.kind == ItemKind::rendezvous && transfer_of(message).piped.load() == went_over) {
        pipes.receive(message, receive);
      } else {
        take_part(receive);
      }
      continue;
    }
    moved = true;
    auto& message = static_cast<Message&>(*item);
    if (item->kind == ItemKind::notice) [[unlikely]] {
      // The notice rings whichever thread of the rank may be signalled for any work; the one that
      // waits for this send may be another, which armed under the same lock.
      auto& send = *reinterpret_cast<LocalSend*>(message.fetched_send);
      send.matched = true;
      ground_.bells.ring(std::exchange(send.sleep, 0));
      cells_.give_back(message);
      continue;
    }
    Transfer& transfer = transfer_of(message);
    local(transfer).attended = true;
    const std::uint32_t piped = transfer.piped.load(std::memory_order_acquire);
    // What went over is found by its rescan, whether or not it was on this list.
    if (transfer.state() != delivered && piped != went_over) {
      way_of(piped).send(message);
    }
  }
  return moved;
}

bool Transfers::go_on() {
  bool moved = attention_waits() && attend();
  if (ground_.box.rescan.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    // Rare (Pipes::take_over). What is asked for from now on: again.
    ground_.box.rescan.exchange(0, std::memory_order_seq_cst);
    const auto go_on = [this](const LocalSend& send) { pipes.go_on(send); };
    ground_.peers.for_each([&](const Peer& to) {
      to.offered.for_each(go_on);
      to.overflowed.for_each(go_on);
    });
  }
  if (!pipes.idle()) [[unlikely]] {
    moved |= pipes.progress();
  }
  if (test_wire != nullptr) [[unlikely]] {
    moved |= test_wire->progress();
  }
  return moved;
}

}  // namespace meantime::match
