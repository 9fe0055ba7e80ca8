#include "match/eager_ring.h"

#include <cstring>
#include <new>

#include "base/fetch.h"
#include "base/heuristics.h"
#include "match/sends.h"
#include "policy/policy.h"

namespace meantime::match {
namespace {

/// Short messages to a rank before a ring is made for it: it takes 128 KiB of addresses with its
/// reserve, and a mailbox has few places.
constexpr std::uint32_t worth_a_ring = 32;
/// Slots that each side fetches before it needs them: from the other's core, where they were last.
/// The receiver not the very next one, which the sender may be about to fill. (Windows of 64
/// messages of 8 bytes, two processes, millions/s: 17.8 with 2 and 1, 19.3 with 2 and 4, 18.9 with
/// 4 and 4.)
constexpr std::uint32_t ahead_of_sender = 2;
constexpr std::uint32_t ahead_of_receiver = 4;

}  // namespace

EagerRing* eager_ring_from(const node::RankArea& area, std::uint32_t origin) {
  for (const std::atomic<Link>& place : area.mailbox.eager_rings) {
    const Link link = place.load(std::memory_order_acquire);
    if (link == 0) {
      return nullptr;
    }
    auto* ring = node::segment().at<EagerRing>(link);
    if (ring->origin == origin) {
      return ring;
    }
  }
  return nullptr;
}

// --- sending

/// Of one that has none yet; called for each short message until it has.
bool Sends::make_ring(int destination, Peer& to) {
  if (!uses(Heuristic::eager_ring) || to.until_ring == Peer::never ||
      ++to.until_ring < worth_a_ring) {
    return false;
  }
  to.until_ring = Peer::never;
  if (ground_.is_thread_rank() || wait::policy().crowded ||
      destination == ground_.rank.world_rank) {
    return false;
  }
  const auto origin = static_cast<std::uint32_t>(ground_.rank.world_rank);
  node::RankArea& area = ground_.segment.area(destination);
  if (area.host.load(std::memory_order_relaxed) != 0 ||
      area.mailbox.eager_rings.back().load(std::memory_order_relaxed) != 0) {
    return false;
  }
  constexpr std::size_t bytes =
      sizeof(EagerRing) + (std::size_t{EagerRing::reserve_cells} << EagerRing::reserve_class);
  const Link link = ground_.pool.allocate(bytes);
  if (link == 0) {
    return false;
  }
  auto* ring = new (ground_.segment.at<void>(link)) EagerRing{};
  ring->origin = origin;
  ring->reserve = link + sizeof(EagerRing);
  for (std::atomic<Link>& place : area.mailbox.eager_rings) {
    Link nobody = 0;
    if (place.compare_exchange_strong(nobody, link, std::memory_order_acq_rel)) {
      to.ring = ring;
      return true;
    }
  }
  ground_.pool.release(link, bytes);
  return false;
}

/// The next slot of the ring to that rank, or nullptr: there is none, or it is full or closed.
EagerSlot* Sends::free_slot(int destination, Peer& to) {
  if (to.ring == nullptr && !make_ring(destination, to)) [[unlikely]] {
    return nullptr;
  }
  EagerRing& ring = *to.ring;
  const std::uint32_t position = ring.pushed;
  if (position - to.ring_taken >= EagerRing::slots) {
    // The acquire: what the slot held has been read.
    to.ring_taken = ring.taken.load(std::memory_order_acquire);
    if (position - to.ring_taken >= EagerRing::slots ||
        ring.adopted.load(std::memory_order_relaxed) > EagerRing::most_adopted ||
        ring.reserve_used.load(std::memory_order_relaxed) != 0) {
      to.ring_taken = position - EagerRing::slots;  // look again at the next one
      return nullptr;
    }
  }
  return &ring.at(position);
}

char* Sends::fill_slot(int destination, Peer& to, std::size_t bytes, const Envelope& envelope) {
  EagerSlot* const slot = to.waiting.empty() ? free_slot(destination, to) : nullptr;
  if (slot == nullptr) [[unlikely]] {
    return nullptr;
  }
  slot->bytes = static_cast<std::uint32_t>(bytes);
  slot->envelope = envelope;
  return slot->payload;
}

bool Sends::push_through_ring(const Message& message) {
  const auto destination = static_cast<int>(message.destination);
  EagerSlot* const slot = free_slot(destination, ground_.peers[destination]);
  if (slot == nullptr) {
    return false;
  }
  slot->bytes = EagerSlot::in_cell;
  const Link link = ground_.segment.link(&message);
  std::memcpy(slot->payload, &link, sizeof link);
  push_slot(destination);
  return true;
}

void Sends::push_slot(int destination) {
  EagerRing& ring = *ground_.peers[destination].ring;
  const std::uint32_t position = ring.pushed++;
  fetch_for_writing(&ring.at(position + ahead_of_sender));
  // No exchange: while it waited for the stores before it, a receiver that polls the line would
  // take it away.
  ring.at(position).number.store(position + 1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (ground_.segment.area(destination).mailbox.sleepers.load(std::memory_order_relaxed) != 0) {
    matcher_.drain(destination);
  }
}

// --- receiving

/// A cell for a message that nobody waits for yet.
Message& Matcher::adopt(Message& from, EagerRing& ring) {
  Message* message = cells_.take(static_cast<int>(from.destination),
                                 sizeof(Message) + (from.bytes > tiny_bytes ? from.bytes : 0));
  std::uint32_t keeper = static_cast<std::uint32_t>(ground_.rank.world_rank);
  if (message == nullptr) {
    const std::uint32_t used = ring.reserve_used.load(std::memory_order_relaxed);
    message = ground_.segment.at<Message>(ring.reserve + (Link{used} << EagerRing::reserve_class));
    message->size_class = EagerRing::reserve_class;
    message->destination = from.destination;
    ring.reserve_used.store(used + 1, std::memory_order_relaxed);
    keeper = ring.origin;
  }
  message->kind = ItemKind::eager;
  message->flags = adopted;
  message->envelope() = from;
  message->origin = from.origin;
  message->bytes = from.bytes;
  message->copy_ns = 0;
  message->keeper = keeper;
  std::memcpy(payload_of(*message), payload_of(from), from.bytes);
  ring.adopted.fetch_add(1, std::memory_order_relaxed);
  return *message;
}

/// The next message of the ring, which is there.
void Matcher::take_from_ring(node::RankArea& area, QueueView& queues, EagerRing& ring) {
  const std::uint32_t position = ring.taken.load(std::memory_order_relaxed);
  const EagerSlot& slot = ring.at(position);
  if (slot.bytes == EagerSlot::in_cell) {
    Link link = 0;
    std::memcpy(&link, slot.payload, sizeof link);
    ring.taken.store(position + 1, std::memory_order_release);
    match(area, queues, *ground_.segment.at<Message>(link));
    return;
  }
  __builtin_prefetch(&ring.at(position + ahead_of_receiver));
  Receive* const receive = queues.take_receive(slot.envelope);
  if (LocalReceive* own = receive == nullptr ? take_private(area, slot.envelope) : nullptr) {
    own->is_private = false;
    own->over = true;
    own->received.meet(slot.envelope, slot.bytes, own->capacity);
    if (own->address != 0) {
      std::memcpy(reinterpret_cast<void*>(own->address), slot.payload, own->received.bytes);
    } else if (own->received.bytes > 0) {
      ground_.typed.unpack(*own, 0, slot.payload, own->received.bytes);
    }
    ring.taken.store(position + 1, std::memory_order_release);
    return;
  }
  if (receive != nullptr && receive->address != 0 && ground_.is_me(receive->owner)) {
    receive->meet(slot.envelope, slot.bytes, 0);
    std::memcpy(reinterpret_cast<void*>(receive->address), slot.payload, receive->received.bytes);
    ring.taken.store(position + 1, std::memory_order_release);
    transitions_.finish_alone(*receive);
    return;
  }
  const auto owner = static_cast<std::uint32_t>(&area - &ground_.segment.area(0));
  Message& message = in_hands_[free_hand_].message;
  message.kind = ItemKind::eager;
  message.flags = in_hand;
  message.envelope() = slot.envelope;
  message.origin = ring.origin;
  message.destination = owner;
  message.bytes = slot.bytes;
  message.copy_ns = 0;
  std::memcpy(payload_of(message), slot.payload, slot.bytes);
  ring.taken.store(position + 1, std::memory_order_release);
  if (receive != nullptr) {
    transfers_.join(ground_.is_me(receive->owner) ? message : adopt(message, ring), *receive);
  } else if (is_for_hand(message)) {
    give_to_hand(message);
    free_hand_ = 1 - free_hand_;
  } else {
    add_unexpected(area.mailbox, queues, adopt(message, ring));
  }
}

/// Those that were pushed before a message of the same sender that came through the inbox.
void Matcher::take_from_ring_before(node::RankArea& area, QueueView& queues,
                                    const Message& message) {
  EagerRing& ring = *eager_ring_from(area, message.origin);
  while (static_cast<std::int32_t>(message.ring_before -
                                   ring.taken.load(std::memory_order_relaxed)) > 0) {
    take_from_ring(area, queues, ring);
  }
}

/// True if there is more to do: something lies in the inbox, perhaps from before.
bool Matcher::take_all_from_rings(node::RankArea& area, QueueView& queues) {
  const bool with_hand = hand_ != nullptr;
  const auto& places = area.mailbox.eager_rings;
  for (std::size_t index = 0; index < places.size(); ++index) {
    // What is caught ends this: the next time another ring is the first.
    const std::size_t place = (first_ring_ + index) % places.size();
    const Link link = places[place].load(std::memory_order_acquire);
    if (link == 0) {
      continue;
    }
    auto& ring = *ground_.segment.at<EagerRing>(link);
    for (std::uint32_t left = EagerRing::slots; left > 0; --left) {
      if (!ring.has(ring.taken.load(std::memory_order_relaxed), std::memory_order_acquire)) {
        break;
      }
      if (!area.mailbox.inbox.empty()) {
        return true;
      }
      take_from_ring(area, queues, ring);
      if (with_hand && hand_ == nullptr) {
        first_ring_ = place + 1;
        return false;  // the rest may wait for the next receive
      }
    }
  }
  return false;
}

}  // namespace meantime::match
