// The collectives of a rank that are under way in the background, and what it has learnt about
// waiting in collectives. All functions: rank's lock held.
//
// Who looks after them if several threads of a rank wait and compute. A message rings one sleep
// only.
//   awake in MPI  such a thread moves all of them on; what it starts rings nobody. While one waits
//                 there (progressing, sleep/progressing.h), their messages ring nobody else either
//   waiters       of a collective: threads that sleep for it. Its messages ring the last of them
//   heir          the thread that fell asleep last: all other messages ring it
//   unattended    messages may ring nobody, or somebody who does not sleep any more
// Offers that partitioned receives wait for (core/request/partitioned.h) are looked after likewise.
//
// Why it goes on as long as a thread of the rank sleeps or is awake in MPI. Whoever starts
// messages, and whoever ends a sleep that messages ring, makes the rank unattended. Before such a
// thread sleeps again or leaves MPI it hands over: it arms all messages for whom they shall ring,
// and rings him if one is over by then. All this is done with the rank's lock held, so a sleeper on
// the rank's list (park.cpp) stays there meanwhile: it sleeps, or has been signalled and will
// disarm, which makes the rank unattended again. That no completion falls between its state and its
// arming is the argument of match/awaited_word.h, and that of doorbell.h from there on. That the
// heir's count is set to 1 loses nothing: a completion that counts it down just before or just
// after finds 1 or the heir's own count, and a count that has reached 0 has signalled.
// tests/model/handover.pml is this protocol for the model checker.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "coll/state.h"
#include "match/memory.h"

namespace meantime {

struct Rank;
namespace node {
struct Waiter;
}

namespace core {
struct CollectiveHooks;
}

namespace coll {

class ScheduleRequest;

struct Progress final : match::Depositor {
  Progress();
  ~Progress();
  /// Moves every collective under way as far as it goes. True if anything moved. For
  /// core::progress().
  bool advance();
  /// Under way, and no longer.
  void add(ScheduleRequest& request);
  void remove(ScheduleRequest& request);
  /// A thread that falls asleep, for whatever, is the heir: each completion of a message of these
  /// collectives counts it down. True if there may be some.
  bool arm(node::Waiter& waiter);
  void disarm(node::Waiter& waiter);
  /// Arms what is unattended for that sleeper.
  void hand_over(node::Waiter& to);

  /// Others may still read what that state has given them.
  void has_deposits(State& state);
  /// Whether this rank is not too far ahead for that. A single deposit it may always give.
  bool may_give(std::size_t bytes);
  void take_back() override;

  /// For src/core, which must not know this.
  static const core::CollectiveHooks hooks;

  const std::size_t most_given_bytes;
  std::size_t given_bytes = 0;     ///< of what others may still read
  std::vector<State*> depositors;  ///< who has given it
  /// Of communicators that are gone at this rank: others may still read what it gave them.
  std::vector<std::unique_ptr<State>> retired;

  std::vector<ScheduleRequest*> active;
  node::Waiter* heir = nullptr;
  bool advancing = false;
};

/// Made at first use.
Progress& progress_of(Rank& rank);

}  // namespace coll
}  // namespace meantime
