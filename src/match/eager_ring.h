// Eager ring: short messages from one sender to one mailbox, beside the inbox. A message is one
// line of the cache, which goes from core to core once; through the inbox two go, and some of them
// come back with the emptied cells.
//   slot        envelope and payload, or the cell of a longer message, which then needs no inbox;
//               full once its number says so
//   position    how many messages were pushed before; that of a slot's message is its number less 1
//   taken       positions before it are out of their slots, which the sender may fill again
//   to adopt    to give a message that nobody waits for a cell: whose takes it out of the slot, who
//               may be any rank, has the cell in its pool
//   reserve     cells for those that are adopted when there is no memory: their sends are over, so
//               they cannot be refused. It is the sender's, and when some of it is used the ring is
//               closed for good: what is in it then, and what is pushed until the sender looks
//               again, are no more than two rounds
//
// Only between process ranks that have cores of their own: where ranks share cores the receiver
// sleeps, its sender matches for it, and a message that is adopted is copied once more.
//
// Order. A sender's messages take the inbox when their payload stays with it, or the ring is full.
// Each says how many went through the ring before it, and whoever sorts it in takes those first.
// The other way round: whoever sees a slot's number (acquire) sees all of that sender's earlier
// pushes, so if the inbox is empty after that, they are sorted in. Both by who holds the match lock
// (match/matcher.h).
//
// No message is overlooked, by the argument of the inbox (Matcher::push) with a fence in it: a
// sender stores the number, then comes its sequentially consistent fence, then its look at
// `sleepers`. A sleeper counts itself in, then looks at the places and numbers, both sequentially
// consistent (or behind a fence, sleep/park.cpp). If the sender's look misses the count, the fence
// is before the count in their single order, so before the sleeper's look, which then sees the
// number. And who releases a match lock looks again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "match/items.h"
#include "node/segment.h"

namespace meantime::match {

struct alignas(cache_line) EagerSlot {
  static constexpr std::uint32_t in_cell = ~std::uint32_t{0};

  std::atomic<std::uint32_t> number;
  std::uint32_t bytes;  ///< or in_cell: a cell's Link stands in place of envelope and payload
  Envelope envelope;
  char payload[44];
};
static_assert(sizeof(EagerSlot) == cache_line);

inline constexpr std::size_t eager_slot_bytes = sizeof(EagerSlot::payload);

/// Valid when zero-filled, but for `origin`.
struct EagerRing {
  static constexpr std::uint32_t slots = 128;
  /// Adopted messages of one sender that lie in cells. With more the sender uses the inbox, where
  /// credit is counted.
  static constexpr std::uint32_t most_adopted = 2048;
  static constexpr std::uint32_t reserve_cells = 2 * slots;
  static constexpr int reserve_class = 8;  ///< of 256 bytes

  // The sender's.
  std::uint32_t pushed;
  // Of whoever holds the match lock. The sender reads it once a round.
  alignas(cache_line) std::atomic<std::uint32_t> taken;
  std::uint32_t origin;  ///< the sender's world rank, constant
  std::atomic<std::uint32_t> adopted;
  std::atomic<std::uint32_t> reserve_used;  ///< cells
  Link reserve;                             ///< the first of reserve_cells, constant
  EagerSlot slot[slots];

  EagerSlot& at(std::uint32_t position) { return slot[position % slots]; }
  bool has(std::uint32_t position, std::memory_order order) {
    return at(position).number.load(order) == position + 1;
  }
};

/// A message out of its slot, in memory of the rank that holds it.
struct InHand {
  Message message;
  char payload[eager_slot_bytes];
};
static_assert(sizeof(InHand) <= std::size_t{1} << EagerRing::reserve_class);
static_assert(sizeof(InHand) == eager_payload_offset + cache_line);  // payload_of finds it

/// The ring of that sender among those of a mailbox, or nullptr.
EagerRing* eager_ring_from(const node::RankArea& area, std::uint32_t origin);

/// Whether anything lies in one of them.
inline bool eager_rings_have_mail(const node::RankArea& area,
                                  std::memory_order order = std::memory_order_relaxed) {
  const bool strictly = order == std::memory_order_seq_cst;
  for (const std::atomic<Link>& place : area.mailbox.eager_rings) {
    const Link link = place.load(strictly ? order : std::memory_order_acquire);
    if (link == 0) {
      return false;
    }
    auto& ring = *node::segment().at<EagerRing>(link);
    if (ring.has(ring.taken.load(order), order)) {
      return true;
    }
  }
  return false;
}

}  // namespace meantime::match
