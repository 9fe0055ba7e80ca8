// The area: what the members of a communicator share for its blocking collectives.
//   epoch     the number of a meeting (one collective, or one round of a long one): 1, 2, 3 …; all
//             members count alike, because they call the collectives of a communicator in one order
//   stage     the memory for one epoch; a ring of `stage_count` of them
//   slot      what one member says and gives in one epoch, a small deposit included
//   said      what a member came for, for the text of a mismatch: process ranks say it in the slot,
//             whose line they write anyway, thread ranks in a line of their own that is always the
//             same
//   word      what thread ranks give in place of a slot, if it fits: eight members in a line, which
//             whoever reads them all has to fetch. (A line for each of few members was slower.)
//             Process ranks on two cores would take such lines from each other
//   deposit   a member's data where all can read it: in the slot, or in a place of its own (bulk)
//   gate      what ranks wait at, two in a stage: `root` opens when the root has given its part,
//             `all` when the last member has arrived
//   sleepers  who sleeps at a gate, by the core it ran on: each is woken by one of its own core
// Offsets and links only, zero-filled is valid. Knows nothing of communicators and datatypes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "node/collective_area_bytes.h"
#include "node/layout.h"

namespace meantime::coll {

enum class Gate : std::uint8_t { root = 0, all = 1 };

inline constexpr std::size_t inline_bytes = slot_bytes - 32;

/// Written by its member before it arrives (or before it opens the root's gate); then read only.
struct alignas(node::cache_line) Slot {
  std::uint32_t said;   ///< by a process rank
  std::uint64_t bytes;  ///< of this deposit
  std::uint64_t total;  ///< of the whole contribution, where it differs
  node::Link bulk;      ///< where the deposit is; 0: in `data`
  char data[inline_bytes];
};
static_assert(sizeof(Slot) == slot_bytes);
inline constexpr node::Link no_deposit = ~node::Link{0};       ///< the member had no memory for one
inline constexpr node::Link exposed_deposit = no_deposit - 1;  ///< `data` says where

/// Where the thread ranks that began on one worker arrive: most of them run on one kernel thread in
/// turn, so the line stays with its core, and only the last of them arrives for all at the stage's
/// counter. (64 ranks on two cores that count on one line take it from each other 64 times.)
struct alignas(node::cache_line) Gathering {
  std::atomic<std::uint64_t> arrived;  ///< as Stage::arrived
};

/// A small collective of two ranks on two cores lives in the first line of this.
struct alignas(node::cache_line) Stage {
  /// Members that have arrived below, the sum of a hash of what they came for above: the last one
  /// sees without a look at the slots whether all came for the same.
  std::atomic<std::uint64_t> arrived;
  std::atomic<std::uint64_t> opened[gate_count];  ///< epoch that the gate last opened for
  std::atomic<std::uint64_t> verdict;  ///< epoch << 8 | an error class: written before `all` opens
  std::atomic<std::uint64_t> given;    ///< by a root: what it came for, written before `root` opens
  char result[256 - 40];               ///< of a reduction by the last member
  /// Tickets given out to those who go to sleep at a gate: epoch << 16 | how many.
  std::atomic<std::uint64_t> tickets[gate_count][core_groups];
  Gathering gatherings[core_groups];  ///< by worker
};
static_assert(sizeof(Stage) == stage_head_bytes);
inline constexpr std::size_t result_bytes = sizeof(Stage::result);

/// In place of a sleeper's rank at a gate, see Area::sleeper.
inline constexpr std::uint16_t nobody = 0xffff;
static_assert(node::most_ranks <= nobody);

/// One for each member: what outlives the stages, and what a thread rank says in each of them.
struct alignas(node::cache_line) Member {
  std::atomic<node::SleepLink> waiter;  ///< signalled when this member sleeps at a gate
  /// It reads no deposit of this epoch or an earlier one any more. (Of an epoch whose deposits all
  /// lie in slots it need not say so.)
  std::atomic<std::uint64_t> left;
  std::uint32_t said[stage_count];  ///< by a thread rank; by stage
};
static_assert(sizeof(Member) == member_bytes);

/// The way around in an area of a known number of members.
class Area {
 public:
  Area() = default;
  Area(char* base, int members) : base_(base), members_(members) {}

  explicit operator bool() const { return base_ != nullptr; }
  int members() const { return members_; }
  Member& member(int rank) const { return reinterpret_cast<Member*>(base_)[rank]; }
  Stage& stage(std::uint64_t epoch) const {
    return *reinterpret_cast<Stage*>(base_ + members_ * member_bytes +
                                     epoch % stage_count * stage_bytes(members_));
  }
  /// The member (its rank) that took a ticket at a gate; of an older epoch if it has not written
  /// yet; nobody once it has left.
  std::atomic<std::uint16_t>& sleeper(Stage& stage, Gate gate, int group, int ticket) const {
    auto* entries = reinterpret_cast<std::atomic<std::uint16_t>*>(&stage + 1);
    return entries[(static_cast<int>(gate) * core_groups + group) * members_ + ticket];
  }
  /// What a member gives, if it is no longer than that; `word_stride` apart.
  char* word(Stage& stage, int rank) const {
    return reinterpret_cast<char*>(&stage + 1) + sleeper_bytes(members_) +
           static_cast<std::size_t>(rank) * word_stride;
  }
  Slot& slot(Stage& stage, int rank) const {
    return reinterpret_cast<Slot*>(word(stage, 0) + words_bytes(members_))[rank];
  }

 private:
  char* base_ = nullptr;
  int members_ = 0;
};

}  // namespace meantime::coll
