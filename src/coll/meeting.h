// A meeting: one epoch of a communicator, as one member goes through it.
//   arrive    "I have left all epochs before this one"; everything I say is in my slot (a thread
//             rank's word, and what it came for, lie elsewhere: area.h)
//   open      by the last to arrive (gate `all`) or by the root (gate `root`)
//   pass      wait until a gate is open; then wake those who sleep behind me
// A collective is a few of these steps; a member that needs nothing from the others arrives and
// goes on. Which collective, root and sizes is `what`: when the last member finds that not all came
// for the same, all who still wait get an error instead of waiting for ever.
//
// Why slots may be written again without a barrier in between. Stage s serves epochs e, e + 8 …
// A member that enters epoch f has seen that all arrived at some epoch >= f - window (4). Who
// arrives at an epoch has left all before it. So at e + 8 all have left the epochs below e + 4,
// that is: e itself, and also the wait at e's gate that a member does on entering e + 4. The same
// for words and for what a member came for, which are kept by stage, too.
//
// Why no wake-up is lost at a gate. All of these are sequentially consistent.
//   sleeper S: takes ticket t of its core's group     opener O: opened := epoch
//              writes its name at entry t                        for each group: reads the tickets;
//              looks at opened: if open, no sleep                if any: rings the name at entry 0
// Entry 0: if O reads neither ticket nor name of S, then S looked after O had opened, and does not
// sleep. Entry t > 0: it is signalled by the owner of ticket (t - 1) / 2 of the same group, after
// that one has seen the gate open; the same argument with it in O's place. By induction each
// sleeper's parent passes the gate: it sleeps and is signalled, or it does not sleep. A ticket is a
// duty: whoever holds one rings its children when it passes, whether it slept or not. A name of an
// older epoch, read between S's ticket and its entry, costs a ring that nobody needs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/state.h"

namespace meantime {
struct Communicator;
}

namespace meantime::coll {

enum class Code : std::uint8_t {
  barrier = 1,
  bcast,
  gather,
  scatter,
  allgather,
  alltoall,
  alltoall_table,
  reduce,
  reduce_split,
  allreduce,
  allreduce_split,
  reduce_scatter,
  scan,
  exscan,
  second_half,  ///< of those that meet twice
};

/// What all members must agree on: the collective, its root, and a number of bytes (0: none).
constexpr std::uint64_t what(Code code, int root = 0, std::uint64_t agreed = 0) {
  // The number is only compared: 32 mixed bits of it do.
  const std::uint64_t mixed = (agreed * 0x9e3779b97f4a7c15u) >> 32;
  return static_cast<std::uint64_t>(code) | static_cast<std::uint64_t>(root) << 8 | mixed << 32;
}

class Meeting {
 public:
  /// Enters the next epoch; waits while this member is too far ahead of the slowest one. Who says
  /// that it will not `deposit` does not, and nobody asks for its data.
  Meeting(Communicator& comm, State& state, std::uint64_t what, bool deposits = true);
  ~Meeting() {
    if (has_bulk_) {
      leave();
    }
  }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  /// Room for `bytes` of this member's data, which others may read until they arrive at a later
  /// epoch, or only `reader` may. nullptr when the node has no memory: the others then see
  /// `failed`.
  char* deposit(std::size_t bytes, int reader = all_members);
  /// A place for what a member gives, in place of a deposit of at most eight bytes, if the
  /// communicator is `in_words`.
  char* word(int rank) { return state_.area.word(stage_, rank); }
  Slot& mine() { return state_.area.slot(stage_, state_.rank); }
  Slot& slot(int rank) { return state_.area.slot(stage_, rank); }
  /// The data that a member deposited; valid behind the gate.
  char* data(int rank) {
    Slot& slot = this->slot(rank);
    if (slot.bulk == 0) {
      return slot.data;
    }
    has_bulk_ = true;
    return bulk(slot.bulk);
  }
  /// This member's deposit of an earlier meeting may be read until all have left this one.
  void keep(Meeting& earlier) {
    has_bulk_ = earlier.has_bulk_;
    state_.keep(earlier.mine().bulk, epoch_);
  }
  bool failed(int rank) { return slot(rank).bulk == no_deposit; }
  /// MPI_ERR_NO_MEM if any member had no memory for its deposit.
  int check_deposits();

  /// True for the last member, which must `open_all` after it has done what is to be done once.
  bool arrive();
  void open_all(int error = 0);
  /// For the last member: the error class if not all came for the same, else 0.
  int mismatched() const { return mismatch_; }
  /// The root has given its part.
  void open_root();
  /// These return the error class that the last member (or nobody: 0) found. Behind the root's gate
  /// lies what this member's root has given: where another has opened it, that is an error once all
  /// are there.
  int pass_root();
  int pass_all();
  char* result() { return stage_.result; }

  std::uint64_t epoch() const { return epoch_; }

 private:
  static char* bulk(node::Link link);
  /// The lower half of what a member came for: the collective and its root.
  std::uint32_t& said(int rank) const {
    return state_.in_words ? state_.area.member(rank).said[epoch_ % stage_count]
                           : state_.area.slot(stage_, rank).said;
  }
  int pass(Gate gate);
  void leave();
  int verdict() const;
  int fail_different(int rank) const;
  void open(Gate gate);
  int mismatch();

  Communicator& comm_;
  State& state_;
  const std::uint64_t what_;
  const std::uint64_t epoch_;
  Stage& stage_;
  int mismatch_ = 0;
  bool has_bulk_ = false;  ///< a deposit of its own, or one that it reads
};

/// Arrives, then waits for all; the error class that `pass_all` returns.
int meet(Meeting& meeting);
/// Arrives without waiting for anybody.
void go_on(Meeting& meeting);

}  // namespace meantime::coll
