#include "match/matcher.h"

#include <algorithm>
#include <cstring>

#include "base/heuristics.h"
#include "base/pause.h"
#include "match/probers.h"
#include "node/address_limit.h"
#include "node/cross_memory.h"

namespace meantime::match {

void Matcher::prepare() {
  const Link place = ground_.pool.allocate(sizeof(Queues));
  Queues& queues = *new (ground_.segment.at<void>(place)) Queues{};
  QueueView(queues, ground_.pool).prepare();
  // From here on others may match for this rank. What they pushed before is in the inbox.
  node::Mailbox& box = ground_.box;
  std::uint32_t unlocked = 0;
  while (!box.match_lock.compare_exchange_weak(
      unlocked, static_cast<std::uint32_t>(ground_.rank.world_rank) + 1)) {
    unlocked = 0;
  }
  box.queues = place;
  spilled_.prepare(std::min(ground_.segment.header().memory, node::address_limit()) / 4 /
                   static_cast<std::size_t>(ground_.rank.world_size));
  box.match_lock.store(0, std::memory_order_seq_cst);
  allows_private_ =
      uses(Heuristic::private_receives) && !ground_.is_thread_rank() && !ground_.limits.wire.on;
}

// Why no private receive misses what others have sorted in, or gets what is an older one's. Who
// holds another's match lock says so first (`settle`), then takes what lies in the inbox, and alone
// writes the number: no read-modify-write. The owner looks
//   with the lock, which shows it (acquire) what all holders before have done. If the number is
//     another one it publishes before it sorts in anything.
//   without it, in may_stay_private: is the inbox empty (acquire) because somebody took an older
//     receive of its own out (seq_cst), it sees that one's number, and nothing stays private. Else
//     that receive is in the queues, or still in the inbox.
//   without it, in has_mail: only when to look. It may be late, as any look at the inbox; before it
//     sleeps it publishes all, and that takes the lock or leaves the receives to its holder.
bool Matcher::may_be_private(const LocalReceive& receive) const {
  return allows_private_ && receive.capacity <= ground_.limits.eager &&
         ground_.box.sleepers.load(std::memory_order_relaxed) == 0;
}

bool Matcher::may_stay_private(const LocalReceive& receive) const {
  return may_be_private(receive) && unexpected_ == 0 && !private_.full() &&
         ground_.box.inbox.empty(std::memory_order_acquire) && !others_were_here();
}

// With the lock, and all that was pushed sorted in: no younger receive of this rank comes to the
// queue any more, where it would count as older, and no unexpected message is for this one.
void Matcher::take_back_now(LocalReceive& receive) {
  node::Mailbox& box = ground_.box;
  if (!try_lock(box)) {
    return;
  }
  QueueView queues = queues_of(box);
  settle(ground_.area, queues);
  empty_inbox(ground_.area, queues);
  Receive& entry = *receive.entry;
  if (entry.state() == posted && queues.has_one_receive()) {
    queues.remove_receive(entry);
    receive.is_private = true;
    private_.add(receive);
  }
  unlock(box);
  look_again(ground_.rank.world_rank);
}

void Matcher::publish_private(QueueView& queues) {
  while (!private_.empty()) {
    sort_in(ground_.area, queues, filled_entry(private_.take_first()));
  }
}

void Matcher::settle(node::RankArea& area, QueueView& queues) {
  if (&area != &ground_.area) {
    std::atomic<std::uint32_t>& held = area.mailbox.held_by_others;
    held.store(held.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  } else if (others_were_here()) [[unlikely]] {
    held_by_others_ = ground_.box.held_by_others.load(std::memory_order_relaxed);
    publish_private(queues);
  }
}

// Why no message is overlooked. The push and the look at `sleepers` are sequentially consistent, as
// are a sleeper's count-in and its last look at the inbox: one of the two sees the other. If a
// holder of the match lock keeps us from matching, it looks at the inbox again after its release,
// which is ordered after our failed compare-and-swap and so after our push.
void Matcher::push(Message& message) {
  const auto destination = static_cast<int>(message.destination);
  node::Mailbox& box = ground_.segment.area(destination).mailbox;
  const Link link = ground_.segment.link(&message);
  const bool offer = message.kind == ItemKind::rendezvous;
  box.inbox.push(link, message.next);
  // One that is awake in MPI empties its inbox itself. One that computes does so at its next call,
  // unless there is a large payload that could be moved meanwhile. For one that sleeps we match, so
  // that it is woken only by what it waits for.
  if (box.sleepers.load(std::memory_order_seq_cst) != 0 ||
      (offer && (box.pollers.load(std::memory_order_relaxed) == 0 ||
                 ground_.limits.wire.interface_answers))) {
    drain(destination);
  }
}

bool Matcher::try_lock(node::Mailbox& box) {
  std::uint32_t nobody = 0;
  ground_.bells.only_note = box.match_lock.load(std::memory_order_seq_cst) == 0 &&
                            box.match_lock.compare_exchange_strong(
                                nobody, static_cast<std::uint32_t>(ground_.rank.world_rank) + 1,
                                std::memory_order_seq_cst);
  return ground_.bells.only_note;
}

// Why nothing is left lying, if the owner has a thread that sleeps or is about to (`sleepers` is
// not 0): the release of the match lock and the look at the inbox after it are sequentially
// consistent, and so are a pusher's push and its try for the match lock. If the try found it taken,
// the holder's release came later, and so its look sees the push.
bool Matcher::drain(int world_rank, Receive* last) {
  node::RankArea& area = ground_.segment.area(world_rank);
  node::Mailbox& box = area.mailbox;
  // What lies in the rings may as well come after a receive that is posted: it goes to its buffer
  // then, not to a cell. (Unless a thread sleeps that may wait for it.)
  const bool posting = last != nullptr;
  const auto more = [&] {
    return !box.inbox.empty(std::memory_order_seq_cst) ||
           ((!posting || box.sleepers.load(std::memory_order_seq_cst) != 0) &&
            eager_rings_have_mail(area, std::memory_order_seq_cst));
  };
  bool moved = false;
  do {
    if (!try_lock(box)) {
      if (last == nullptr) {
        break;
      }
      // Somebody matches for us just now. The receives go the way of the messages; then look
      // again.
      while (!private_.empty()) {
        Receive& receive = filled_entry(private_.take_first());
        box.inbox.push(ground_.segment.link(&receive), receive.next);
      }
      box.inbox.push(ground_.segment.link(last), last->next);
      receives_in_inbox_ = true;
      last = nullptr;
      continue;
    }
    if (box.queues == 0) {
      // It has not come to MPI_Init yet: then it will find everything in its inbox.
      unlock(box);
      break;
    }
    QueueView queues = queues_of(box);
    settle(area, queues);
    const bool mail = !box.inbox.empty() || (last == nullptr && eager_rings_have_mail(area));
    if (last != nullptr && private_.empty() && !receives_in_inbox_) {
      sort_in_last(queues, *last, mail);
    } else {
      if (mail) {
        empty_inbox(area, queues);
      }
      if (last != nullptr) {
        publish_private(queues);
        sort_in(area, queues, *last);
      }
    }
    moved = moved || mail;
    last = nullptr;
    unlock(box);
  } while (more());
  transfers_.after_match();
  return moved;
}

// In order, because all that was pushed before is sorted in first: if a posted receive matches
// then, no earlier message of its sender does. With the match lock held it is copied at once: a
// short message takes less than to say that it is being copied.
bool Matcher::copy_to_posted(int world_rank, const Envelope& envelope, const char* payload,
                             std::size_t bytes) {
  node::RankArea& area = ground_.segment.area(world_rank);
  if (!try_lock(area.mailbox)) {
    return false;
  }
  QueueView queues = queues_of(area.mailbox);
  settle(area, queues);
  empty_inbox(area, queues);
  Receive* const receive = queues.find_receive(envelope);
  const bool fits =
      receive != nullptr && bytes <= receive->capacity && (receive->address != 0 || bytes == 0);
  if (fits) {
    queues.remove_receive(*receive);
    receive->meet(envelope, bytes, 0);
    receive->directly.store(1, std::memory_order_relaxed);
    if (bytes > 0) {
      std::memcpy(reinterpret_cast<void*>(receive->address), payload, bytes);
    }
    transitions_.finish(*receive, done);
  }
  unlock(area.mailbox);
  look_again(world_rank);
  return fits;
}

// The match lock is held meanwhile: who pushes leaves the matching to us anyway, and a try for
// the match lock that fails because of us is answered, as in `drain`, by a look at the inbox after
// the release.
Message* Matcher::catch_message(const Envelope& hand, int turns, bool* at_once) {
  node::Mailbox& box = ground_.box;
  if (turns == 0 && seems_empty()) {
    return nullptr;
  }
  if (Message* const message = take_spilled(hand)) {
    return message;
  }
  if (!try_lock(box)) {
    return nullptr;
  }
  QueueView queues = queues_of(box);
  settle(ground_.area, queues);
  if (receives_in_inbox_) [[unlikely]] {
    empty_inbox(ground_.area, queues);  // with no hand: those were posted before
  }
  caught_ = queues.take_message(hand);
  bool polled = false;
  if (caught_ == nullptr) {
    hand_ = &hand;
    for (int turn = 0;; ++turn) {
      if (has_mail()) {
        empty_inbox(ground_.area, queues);
      }
      if (caught_ != nullptr || turn >= turns) {
        break;
      }
      polled = true;
      wait::pause();
    }
    hand_ = nullptr;
  }
  Message* const message = caught_;
  if (message != nullptr && at_once != nullptr) {
    *at_once = !polled;
  }
  unlock(box);
  look_again(ground_.rank.world_rank);
  return message;
}

void Matcher::spill() {
  bool freed = false;
  // What comes to the inbox meanwhile is sorted in after the release, and nobody rings for that.
  while ((unexpected_ != spilled_.entries() || !nothing_came()) && spill_cells(freed)) {
  }
  if (!freed) {
    spill_offers();
  }
  if (spilled_.can_copy_more()) {
    ground_.starve(wait::nap_for_memory_ns);  // nobody rings for it if that was not enough
  }
}

/// With everything sorted in first, no receive that is posted waits for one of these. True if any
/// went.
bool Matcher::spill_cells(bool& freed) {
  if (!try_lock(ground_.box)) {
    ground_.starve(wait::nap_for_memory_ns);  // the holder does not ring
    return false;
  }
  const std::uint32_t before = spilled_.entries();
  QueueView queues = queues_of(ground_.box);
  settle(ground_.area, queues);
  empty_inbox(ground_.area, queues);
  while (Message* const message = queues.oldest_message()) {
    if (!spilled_.add(*message)) {
      break;
    }
    queues.remove_message(*message);
    if (message->kind == ItemKind::eager) {
      message->copy_ns = 0;
      cells_.give_back(*message);
      freed = true;
    }
  }
  unlock(ground_.box);
  look_again(ground_.rank.world_rank);
  cells_.flush();
  return spilled_.entries() != before;
}

/// Where nothing else was left to do for it. Some at a time: each is a copy of its payload.
void Matcher::spill_offers() {
  for (int left = 64; left > 0; --left) {
    Message* given = nullptr;
    const bool more = spilled_.copy_one([&given](Message& message, char* payload) {
      const Transfer& transfer = transfer_of(message);
      const auto origin = static_cast<int>(message.origin);
      if (message.kind == ItemKind::synchronous) {
        std::memcpy(payload, payload_of(message), message.bytes);
      } else if (transfer.copy.source_address == 0 || !node::can_attach(origin) ||
                 node::read_from(origin, payload, transfer.copy.source_address, message.bytes) !=
                     0) {
        return false;
      }
      given = &message;
      return true;
    });
    if (!more) {
      return;
    }
    if ((given->flags & until_matched) != 0) {
      transitions_.end_fetch(*given);
    } else {
      transitions_.deliver(*given);
    }
  }
}

/// After the release of a match lock, outside `drain`. What lies in a ring may wait for the owner's
/// next call, if it has no thread that sleeps. (A process rank may have begun a ring to a thread
/// rank before it was known to be one.)
void Matcher::look_again(int world_rank) {
  const node::RankArea& area = ground_.segment.area(world_rank);
  const node::Mailbox& box = area.mailbox;
  if (!box.inbox.empty(std::memory_order_seq_cst) ||
      (box.sleepers.load(std::memory_order_seq_cst) != 0 &&
       eager_rings_have_mail(area, std::memory_order_seq_cst))) {
    drain(world_rank);
  } else {
    transfers_.after_match();
  }
}

/// An own receive that is younger than all that lies there: it gets the first message for it, be it
/// in the queues or, past them, in the inbox.
void Matcher::sort_in_last(QueueView& queues, Receive& receive, bool mail) {
  caught_ = queues.take_message(receive);
  hand_ = caught_ == nullptr ? &receive : nullptr;
  if (mail) {
    empty_inbox(ground_.area, queues);
  }
  hand_ = nullptr;
  if (Message* const message = caught_) {
    transfers_.join(*message, receive);
  } else {
    queues.add_receive(receive);
  }
}

void Matcher::empty_inbox_once(node::RankArea& area, QueueView& queues) {
  node::Mailbox& box = area.mailbox;
  // The line of the newest message comes while the exchange gets the inbox's.
  __builtin_prefetch(ground_.segment.at<Item>(box.inbox.newest()));
  Link newest = box.inbox.take_all();
  // The stack has the newest first; turn it round to keep each sender's order.
  Link oldest = 0;
  while (newest != 0) {
    auto* item = ground_.segment.at<Item>(newest);
    const Link older = item->next.load(std::memory_order_relaxed);
    if (older != oldest) {  // not for a lone one: the store would fetch its line once more
      item->next.store(oldest, std::memory_order_relaxed);
    }
    oldest = newest;
    newest = older;
  }
  while (oldest != 0) {
    auto* item = ground_.segment.at<Item>(oldest);
    oldest = item->next.load(std::memory_order_relaxed);
    sort_in(area, queues, *item);
  }
}

void Matcher::add_unexpected(node::Mailbox& box, QueueView& queues, Message& message) {
  queues.add_message(message);
  if (&box != &ground_.box) {
    ground_.bells.memory_is_back(static_cast<int>(message.destination));  // if it is to spill it
  }
  for_each_prober(ground_.segment, box, message, [this](const node::Waiter& prober) {
    ground_.bells.ring(wait::sleep_of(prober));
  });
}

void Matcher::sort_in(node::RankArea& area, QueueView& queues, Item& item) {
  if (item.kind == ItemKind::posted) {
    auto& receive = static_cast<Receive&>(item);
    if (Message* message = queues.take_message(receive)) {
      transfers_.join(*message, receive);
    } else {
      queues.add_receive(receive);
    }
    return;
  }
  auto& message = static_cast<Message&>(item);
  if ((message.flags & behind_ring) != 0) {
    take_from_ring_before(area, queues, message);
  }
  match(area, queues, message);
}

void Matcher::match(node::RankArea& area, QueueView& queues, Message& message) {
  if (Receive* receive = take_receive(area, queues, message)) {
    transfers_.join(message, *receive);
    return;
  }
  if (is_for_hand(message)) {
    give_to_hand(message);
    return;
  }
  add_unexpected(area.mailbox, queues, message);
}

}  // namespace meantime::match
