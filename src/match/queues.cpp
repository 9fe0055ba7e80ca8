#include "match/queues.h"

#include <cstring>

#include "base/heuristics.h"

namespace meantime::match {
namespace {

constexpr std::uint32_t first_chains = 64;
/// So many messages are taken in order of arrival: what happened to be sent first, by whomever, is
/// received first, as a user expects who watches a few messages. And a lane of no more is short.
constexpr std::uint32_t few_messages = 64;
/// Of one lane in turn while a short one waits: its sender is not one that floods, and should not
/// wait for those who do.
constexpr std::uint32_t short_turn = 32;
/// … and else. A sender's cells go back to it in batches, and one that has no more of them sends
/// descriptions, which cost the receiver a wait for it each. With 16 ranks on 2 cores that send
/// 20 000 messages of 1 KiB each, turns of 1, 16, 256 messages took 3.2, 2, 1.6 times as many
/// switches of rank as the order of arrival, in which a sender's messages lie in long runs, too.
constexpr std::uint32_t long_turn = 2048;

std::uint32_t hash(const Envelope& envelope) {
  std::uint64_t key =
      (static_cast<std::uint64_t>(static_cast<std::uint32_t>(envelope.source)) << 32) |
      static_cast<std::uint32_t>(envelope.tag);
  key = (key + envelope.context * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
  return static_cast<std::uint32_t>(key >> 33);
}

unsigned wildcard_kind(const Receive& receive) {
  return (receive.source == MPI_ANY_SOURCE ? 1u : 0u) | (receive.tag == MPI_ANY_TAG ? 2u : 0u);
}

}  // namespace

Chain& QueueView::chain(const Table& table, const Envelope& key) const {
  return segment_.at<Chain>(table.chains)[hash(key) & table.mask];
}

template <class Entry>
inline Entry* QueueView::first_like(const Table& table, const Envelope& key) const {
  for (Link link = chain(table, key).first; link != 0;) {
    auto* entry = segment_.at<Entry>(link);
    if (static_cast<const Envelope&>(*entry) == key) {
      return entry;
    }
    link = entry->key_next;
  }
  return nullptr;
}

void QueueView::prepare() {
  for (Table* table : {&queues_.posted, &queues_.unexpected}) {
    table->chains = pool_.allocate(first_chains * sizeof(Chain));
    std::memset(segment_.at<Chain>(table->chains), 0, first_chains * sizeof(Chain));
    table->mask = first_chains - 1;
  }
}

template <class Entry>
void QueueView::append(Table& table, Entry& entry) {
  if (++table.entries > 2 * (table.mask + 1)) {
    enlarge<Entry>(table);
  }
  Chain& place = chain(table, entry);
  const Link link = segment_.link(&entry);
  entry.key_next = 0;
  entry.key_previous = place.last;
  (place.last != 0 ? segment_.at<Entry>(place.last)->key_next : place.first) = link;
  place.last = link;
}

template <class Entry>
void QueueView::unlink(Table& table, Entry& entry) {
  --table.entries;
  Chain& place = chain(table, entry);
  (entry.key_previous != 0 ? segment_.at<Entry>(entry.key_previous)->key_next : place.first) =
      entry.key_next;
  (entry.key_next != 0 ? segment_.at<Entry>(entry.key_next)->key_previous : place.last) =
      entry.key_previous;
}

// The old table goes back to nobody: it belongs to another rank's pool, perhaps, and all old tables
// together are smaller than the new one.
template <class Entry>
void QueueView::enlarge(Table& table) {
  const Table old = table;
  const std::uint32_t chains = (old.mask + 1) * 8;
  const Link place = pool_.allocate(chains * sizeof(Chain));
  if (place == 0) {
    return;  // longer chains, nothing worse
  }
  std::memset(segment_.at<Chain>(place), 0, chains * sizeof(Chain));
  table.chains = place;
  table.mask = chains - 1;
  table.entries = 0;
  for (std::uint32_t index = 0; index <= old.mask; ++index) {
    // In chain order, so entries with the same key stay in order.
    for (Link link = segment_.at<Chain>(old.chains)[index].first; link != 0;) {
      auto* entry = segment_.at<Entry>(link);
      link = entry->key_next;
      append(table, *entry);
    }
  }
  ++table.entries;  // the one that is about to be appended
}

Receive* QueueView::find_receive(const Envelope& message) const {
  if (queues_.posted.entries == 0) {
    return nullptr;
  }
  const std::uint32_t* with_kind = queues_.posted_by_kind;
  Receive* best = with_kind[0] != 0 ? first_like<Receive>(queues_.posted, message) : nullptr;
  if ((with_kind[1] | with_kind[2] | with_kind[3]) != 0) [[unlikely]] {
    for (unsigned kind = 1; kind < 4; ++kind) {
      Receive* other = with_kind[kind] == 0
                           ? nullptr
                           : first_like<Receive>(queues_.posted,
                                                 {message.context,
                                                  (kind & 1) != 0 ? MPI_ANY_SOURCE : message.source,
                                                  (kind & 2) != 0 ? MPI_ANY_TAG : message.tag});
      best = best == nullptr || (other != nullptr && other->order < best->order) ? other : best;
    }
  }
  return best;
}

Receive* QueueView::take_one_of_many(const Envelope& message) {
  Receive* const receive = find_receive(message);
  if (receive != nullptr) {
    remove_receive(*receive);
  }
  return receive;
}

void QueueView::add_receive(Receive& receive) {
  receive.order = queues_.order++;
  ++queues_.posted_by_kind[wildcard_kind(receive)];
  append(queues_.posted, receive);
}

void QueueView::remove_receive(Receive& receive) {
  --queues_.posted_by_kind[wildcard_kind(receive)];
  unlink(queues_.posted, receive);
}

Message* QueueView::find_message(const Envelope& wanted) const {
  if (queues_.unexpected.entries == 0) {
    return nullptr;
  }
  const bool from_any = wanted.source == MPI_ANY_SOURCE;
  if (!from_any && wanted.tag != MPI_ANY_TAG) {
    return first_like<Message>(queues_.unexpected, wanted);
  }
  if (from_any && queues_.in_lanes && queues_.lanes_in_use > 1) {
    return find_in_lanes(wanted);
  }
  for (Link link = queues_.arrivals.first; link != 0;) {
    auto* message = segment_.at<Message>(link);
    if (takes(wanted, *message)) {
      return message;
    }
    link = message->arrival_next;
  }
  return nullptr;
}

Lane& QueueView::lane(std::uint32_t world_rank) const {
  return segment_.at<Lane>(queues_.lanes)[world_rank];
}

/// From any source.
Message* QueueView::find_in_lanes(const Envelope& wanted) const {
  std::uint32_t number = queues_.turn;
  for (std::uint32_t left = queues_.lanes_in_use; left > 0; --left) {
    const Lane& one = lane(number);
    for (Link link = one.messages.first; link != 0;) {
      auto* message = segment_.at<Message>(link);
      if (takes(wanted, *message)) {
        if (number != queues_.turn) {
          queues_.turn = number;
          queues_.served = 0;
        }
        return message;
      }
      link = message->lane_next;
    }
    number = one.next;
  }
  return nullptr;
}

void QueueView::show(const Message& message) {
  if (queues_.turn != message.origin) {
    queues_.turn = message.origin;
    queues_.served = 0;
  }
  queues_.shown = true;
}

/// From here on there are many, until none is left.
void QueueView::make_lanes() {
  if (queues_.lanes == 0) {
    const std::size_t bytes = segment_.header().ranks * sizeof(Lane);
    queues_.lanes = pool_.allocate(bytes);
    if (queues_.lanes == 0) {
      return;  // in order of arrival, nothing worse
    }
    std::memset(segment_.at<Lane>(queues_.lanes), 0, bytes);
  }
  const std::uint32_t shown = queues_.turn;
  queues_.in_lanes = true;
  for (Link link = queues_.arrivals.first; link != 0;) {
    auto* message = segment_.at<Message>(link);
    join_lane(*message, link);
    link = message->arrival_next;
  }
  if (queues_.shown) {
    queues_.turn = shown;  // nothing was removed since: its lane is in use
  }
}

void QueueView::join_lane(Message& message, Link link) {
  const std::uint32_t number = message.origin;
  Lane& own = lane(number);
  message.lane_next = 0;
  message.lane_previous = own.messages.last;
  (own.messages.last != 0 ? segment_.at<Message>(own.messages.last)->lane_next
                          : own.messages.first) = link;
  own.messages.last = link;
  if (++own.entries == few_messages + 1) {
    --queues_.short_lanes;
  }
  if (own.entries > 1) {
    return;
  }
  ++queues_.short_lanes;
  if (queues_.lanes_in_use++ == 0) {
    own.next = own.previous = queues_.turn = number;
    queues_.served = 0;
    return;
  }
  // At the end of the round.
  Lane& turn = lane(queues_.turn);
  own.next = queues_.turn;
  own.previous = turn.previous;
  lane(turn.previous).next = number;
  turn.previous = number;
}

void QueueView::leave_lane(const Message& message) {
  Lane& own = lane(message.origin);
  (message.lane_previous != 0 ? segment_.at<Message>(message.lane_previous)->lane_next
                              : own.messages.first) = message.lane_next;
  (message.lane_next != 0 ? segment_.at<Message>(message.lane_next)->lane_previous
                          : own.messages.last) = message.lane_previous;
  if (--own.entries == few_messages) {
    ++queues_.short_lanes;
  }
  const std::uint32_t most = queues_.short_lanes != 0 ? short_turn : long_turn;
  if (queues_.turn == message.origin && (++queues_.served >= most || own.entries == 0)) {
    queues_.turn = own.next;
    queues_.served = 0;
  }
  if (own.entries == 0) {
    --queues_.short_lanes;
    lane(own.previous).next = own.next;
    lane(own.next).previous = own.previous;
    queues_.in_lanes = --queues_.lanes_in_use != 0;
  }
}

void QueueView::add_message(Message& message) {
  append(queues_.unexpected, message);
  const Link link = segment_.link(&message);
  message.arrival_next = 0;
  message.arrival_previous = queues_.arrivals.last;
  (queues_.arrivals.last != 0 ? segment_.at<Message>(queues_.arrivals.last)->arrival_next
                              : queues_.arrivals.first) = link;
  queues_.arrivals.last = link;
  if (queues_.in_lanes) {
    join_lane(message, link);
  } else if (uses(Heuristic::lanes) && queues_.unexpected.entries == few_messages + 1) {
    make_lanes();
  }
}

void QueueView::remove_message(Message& message) {
  unlink(queues_.unexpected, message);
  (message.arrival_previous != 0 ? segment_.at<Message>(message.arrival_previous)->arrival_next
                                 : queues_.arrivals.first) = message.arrival_next;
  (message.arrival_next != 0 ? segment_.at<Message>(message.arrival_next)->arrival_previous
                             : queues_.arrivals.last) = message.arrival_previous;
  queues_.shown = false;
  if (queues_.in_lanes) {
    leave_lane(message);
  }
}

}  // namespace meantime::match
