// The holder's work: empty an inbox, bring messages and receives together.
#include <mpi.h>

#include <algorithm>

#include "base/clock.h"
#include "base/pause.h"
#include "match/engine.h"
#include "match/seekers.h"
#include "node/cross_memory.h"
#include "policy/policy.h"
#include "sleep/doorbell.h"
#include "wait/wait.h"

namespace meantime::match {

bool Engine::try_right(node::Mailbox& box) {
  std::uint32_t nobody = 0;
  holds_right_ =
      box.right.load(std::memory_order_seq_cst) == 0 &&
      box.right.compare_exchange_strong(nobody, static_cast<std::uint32_t>(rank.world_rank) + 1,
                                        std::memory_order_seq_cst);
  return holds_right_;
}

/// Empties the inbox of `world_rank` as far as nobody else does it; posts `last` behind all that.
// Why nothing is left lying, if the owner has a thread that sleeps or is about to (`sleepers` is
// not 0): the release of the right and the look at the inbox after it are sequentially consistent,
// and so are a pusher's push and its try for the right. If the try found the right taken, the
// holder's release came later, and so its look sees the push.
bool Engine::drain(int world_rank, Receive* last) {
  node::RankArea& area = segment_.area(world_rank);
  node::Mailbox& box = area.mailbox;
  // What lies in the rings may as well come after a receive that is posted: it goes to its buffer
  // then, not to a cell. (Unless a thread sleeps that may wait for it.)
  const bool posting = last != nullptr;
  const auto more = [&] {
    return !box.inbox.empty(std::memory_order_seq_cst) ||
           ((!posting || box.sleepers.load(std::memory_order_seq_cst) != 0) &&
            express_waits(area, std::memory_order_seq_cst));
  };
  bool moved = false;
  do {
    if (!try_right(box)) {
      if (last == nullptr) {
        return moved;
      }
      // Somebody matches for us just now. The receive goes the way of the messages; then look
      // again.
      box.inbox.push(segment_.link(last), last->next);
      last = nullptr;
      continue;
    }
    if (box.queues == 0) {
      // It has not come to MPI_Init yet: then it will find everything in its inbox.
      let_go_of_right(box);
      return moved;
    }
    QueueView queues(*segment_.at<Queues>(box.queues), pool);
    if (!box.inbox.empty() || (last == nullptr && express_waits(area))) {
      empty_inbox(area, queues);
      moved = true;
    }
    if (last != nullptr) {
      sort_in(area, queues, *last);
      last = nullptr;
    }
    let_go_of_right(box);
  } while (more());
  return moved;
}

// The right stays in the hand meanwhile: who pushes leaves the matching to us anyway, and a try for
// the right that fails because of us is answered, as in `drain`, by a look at the inbox after the
// release.
Message* Engine::catch_message(const Envelope& hand, int turns, bool* at_once) {
  const bool else_to_do =
      !box_.attention.empty() || !pipes_out_.empty() || !pipes_in_.empty() || deferred_ != 0;
  if (else_to_do || !try_right(box_)) {
    return nullptr;
  }
  QueueView queues(*segment_.at<Queues>(box_.queues), pool);
  if (!box_.inbox.empty()) {
    empty_inbox(area_, queues);  // with no hand: a receive that was posted before may lie in it
  }
  Message* message = queues.find_message(hand.context, hand.source, hand.tag);
  bool polled = false;
  if (message != nullptr) {
    queues.remove_message(*message);
  } else {
    hand_ = &hand;
    caught_ = nullptr;
    for (int turn = 0;; ++turn) {
      if (!box_.inbox.empty() || express_waits(area_)) {
        empty_inbox(area_, queues);
      }
      if (caught_ != nullptr || turn >= turns) {
        break;
      }
      polled = true;
      wait::pause();
    }
    hand_ = nullptr;
    message = caught_;
  }
  if (message != nullptr && at_once != nullptr) {
    *at_once = !polled;
  }
  let_go_of_right(box_);
  // What lies in a ring may wait for the next call, if this rank has no thread that sleeps.
  if (!box_.inbox.empty(std::memory_order_seq_cst) ||
      (box_.sleepers.load(std::memory_order_seq_cst) != 0 &&
       express_waits(area_, std::memory_order_seq_cst))) {
    drain(rank.world_rank);
  }
  after_drain();
  return message;
}

/// And the rings.
void Engine::empty_inbox(node::RankArea& area, QueueView& queues) {
  node::Mailbox& box = area.mailbox;
  while (!box.inbox.empty() || take_all_express(area, queues)) {
    // The line of the newest message comes while the exchange gets the inbox's.
    __builtin_prefetch(segment_.at<Item>(box.inbox.newest()));
    Link newest = box.inbox.take_all();
    // The stack has the newest first; turn it round to keep each sender's order.
    Link oldest = 0;
    while (newest != 0) {
      auto* item = segment_.at<Item>(newest);
      const Link older = item->next.load(std::memory_order_relaxed);
      if (older != oldest) {  // not for a lone one: the store would fetch its line once more
        item->next.store(oldest, std::memory_order_relaxed);
      }
      oldest = newest;
      newest = older;
    }
    while (oldest != 0) {
      auto* item = segment_.at<Item>(oldest);
      oldest = item->next.load(std::memory_order_relaxed);
      sort_in(area, queues, *item);
    }
  }
}

bool Engine::is_for_hand(const Message& message) const {
  return hand_ != nullptr && hand_->context == message.context &&
         (hand_->source == message.source || hand_->source == MPI_ANY_SOURCE) &&
         (hand_->tag == message.tag || hand_->tag == MPI_ANY_TAG);
}

void Engine::add_unexpected(node::Mailbox& box, QueueView& queues, Message& message) {
  queues.add_message(message);
  for_each_seeker(segment_, box, message,
                  [this](const node::Waiter& seeker) { wake(wait::sleep_of(seeker)); });
}

void Engine::sort_in(node::RankArea& area, QueueView& queues, Item& item) {
  if (item.kind == ItemKind::posted) {
    auto& receive = static_cast<Receive&>(item);
    if (Message* message = queues.find_message(receive.context, receive.source, receive.tag)) {
      queues.remove_message(*message);
      join(*message, receive);
    } else {
      queues.add_receive(receive);
    }
    return;
  }
  auto& message = static_cast<Message&>(item);
  if ((message.flags & behind_express) != 0) {
    take_express_before(area, queues, message);
  }
  match(area, queues, message);
}

void Engine::match(node::RankArea& area, QueueView& queues, Message& message) {
  if (Receive* receive = queues.take_receive(message)) {
    join(message, *receive);
    return;
  }
  if (is_for_hand(message)) {
    hand_ = nullptr;  // what comes after it is not for us
    caught_ = &message;
    return;
  }
  add_unexpected(area.mailbox, queues, message);
}

/// A message and a receive belong together. Held or not, whoever calls has both for himself.
void Engine::join(Message& message, Receive& receive) {
  receive.message = segment_.link(&message);
  receive.matched_source = message.source;
  receive.matched_tag = message.tag;
  receive.matched_bytes = std::min<std::uint64_t>(message.bytes, receive.capacity);
  receive.error = message.bytes > receive.capacity ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  if (message.kind == ItemKind::rendezvous) {
    join_rendezvous(message, receive);
    return;
  }
  const bool mine = receive.owner == static_cast<std::uint32_t>(rank.world_rank);
  if (mine) {
    deliver_eager(message, receive);
  } else if (message.kind == ItemKind::synchronous) {
    // The sender counts on the payload's leaving its cell, so the owner must come and get it.
    call_for_owner(receive);
  } else {
    // The owner finds the payload in the cell. From the state's change on, the entry is its own.
    wake(receive.awaited().become(matched).sleep);
  }
}

void Engine::join_rendezvous(Message& message, Receive& receive) {
  Transfer& transfer = transfer_of(message);
  transfer.receive = segment_.link(&receive);
  transfer.bytes = receive.matched_bytes;
  transfer.destination_address = receive.address;
  // Two fragments at least, if both sides may copy, unless they were too small.
  transfer.fragment =
      std::max(least_fragment, std::min<std::uint64_t>(limits.fragment, transfer.bytes / 2));
  const bool mine = receive.owner == static_cast<std::uint32_t>(rank.world_rank);
  const bool from_me = message.origin == static_cast<std::uint32_t>(rank.world_rank);
  const bool through_pipe = mine && !from_me && goes_through_pipe(message, transfer, receive);
  const bool direct = transfer.source_address != 0 &&
                      node::can_attach(static_cast<int>(message.origin)) && !through_pipe;
  transfer.piped.store(direct ? not_piped : from_the_start, std::memory_order_relaxed);
  receive.directly.store(direct ? 1 : 0, std::memory_order_relaxed);
  if (transfer.bytes == 0) {
    transfer.holders.store(1, std::memory_order_relaxed);
    set_done(receive);
    leave(message);
    return;
  }
  if (direct && limits.wire.on && transfer.destination_address != 0) [[unlikely]] {
    transfer.holders.store(1, std::memory_order_relaxed);
    transfer.piped.store(by_wire, std::memory_order_relaxed);
    if (limits.wire.interface_answers) {
      receive.awaited().add(copying);
      ready_to_receive(message);
    } else if (mine) {
      receive.awaited().add(copying);
      put_on_wire(receive);
    } else {
      call_for_owner(receive);
    }
    return;
  }
  if (direct && from_me && !mine && transfer.destination_address != 0) {
    // Its owner computes or sleeps: the sender moves everything, and wakes it when all is there.
    transfer.holders.store(1, std::memory_order_relaxed);
    transfer.awaited().add(moving);
    receive.awaited().add(copying);
    to_copy_.push_back(&message);
    return;
  }
  transfer.holders.store(2, std::memory_order_relaxed);
  // Only if we are the owner: else the sender could finish a receive that is still on its owner's
  // attention list.
  const bool shared = direct && transfer.destination_address != 0 &&
                      transfer.bytes > transfer.fragment && mine && !from_me;
  if (mine) {
    // Before the sender knows: it may move everything before we come to it, and `done` is final.
    receive.awaited().add(copying);
  }
  if (!direct || shared) {
    notice_sender(message);
  }
  transfer.awaited().add(moving);
  if (!direct) {
    wake_rank(static_cast<int>(message.origin));
  }
  if (through_pipe) {
    timed_pipe_ = &receive;
    timed_pipe_began_ = now_ns();
  }
  if (mine) {
    to_take_part_.push_back(&receive);
  } else {
    call_for_owner(receive);
  }
}

/// A large message that could be copied directly. Only if both sides stay in MPI until it is there,
/// each on a core of its own; and one at a time, so that its pipe stays in the caches.
bool Engine::goes_through_pipe(const Message& message, const Transfer& transfer,
                               const Receive& receive) {
  return (message.flags & receive.flags & blocking) != 0 && transfer.bytes > Route::medium_bytes &&
         transfer.source_address != 0 && transfer.destination_address != 0 &&
         timed_pipe_ == nullptr && !wait::policy().crowded && !is_thread_rank() &&
         !limits.wire.on && route_.two_copies(transfer.bytes);
}

void Engine::after_drain() {
  // In each round something may be added: what moves a payload also wakes.
  while (!to_wake_.empty() || !ranks_to_wake_.empty() || !to_take_part_.empty() ||
         !to_copy_.empty()) {
    while (!to_wake_.empty()) {
      const node::SleepLink sleep = to_wake_.back();
      to_wake_.pop_back();
      wait::count_down(sleep);
    }
    while (!ranks_to_wake_.empty()) {
      const int world_rank = ranks_to_wake_.back();
      ranks_to_wake_.pop_back();
      wait::ring_rank(world_rank);
    }
    if (!to_take_part_.empty()) {
      Receive* receive = to_take_part_.back();
      to_take_part_.pop_back();
      take_part(*receive);
    } else if (!to_copy_.empty()) {
      Message* message = to_copy_.back();
      to_copy_.pop_back();
      copy_fragments(*message, false);
    }
  }
}

void Engine::wake_sleeper(node::SleepLink sleep) {
  if (holds_right_) {
    to_wake_.push_back(sleep);
  } else {
    wait::count_down(sleep);
  }
}

void Engine::wake_rank(int world_rank) {
  if (holds_right_) {
    ranks_to_wake_.push_back(world_rank);
  } else {
    wait::ring_rank(world_rank);
  }
}

}  // namespace meantime::match
