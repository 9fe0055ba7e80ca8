// The ladder: what a rank does while it waits, turn by turn.
//   turn         one step on one rung, then a look at what is awaited
//   rung         one thing that a waiting rank can do: when it is due, and one step of it. Of the
//                rungs of a ladder the first that is due has the turn
//   short wait   one that ends on the quick rungs: no clock, no report
//   long wait    any other: it goes by a policy, and is recorded
//
//     ready? ── yes ─► go on                                  (no cost: never gets here)
//       │ no
//     quick rungs     look │ give way ── over ─► go on
//       │ none of them is due any more
//     the ladder      threads │ neighbours │ timer │ poll │ yield │ park ── over ─► go on
//
// A new rung is one more type here (CONTRIBUTING.md); ladder_test.cpp has one of its own.
#pragma once

#include <cstdint>

#include "ledger/accounts.h"
#include "policy/yielding.h"
#include "rank/rank.h"
#include "sleep/progressing.h"
#include "wait/advisor.h"
#include "wait/park.h"
#include "wait/record.h"
#include "wait/short_wait.h"
#include "wait/wait.h"

namespace meantime::wait {

/// A wait, on the stack of the thread that waits, the rank's lock held.
class Wait {
 public:
  Wait(Rank& rank, Awaited& what, int looks);
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  /// Moves what can be moved.
  bool is_over() {
    if (what.ready()) {
      return true;
    }
    if (what.progress()) {
      turns = 0;
      return what.ready();
    }
    ++turns;
    return false;
  }
  /// It has ended on the quick rungs.
  void was_short();

  Rank& rank;
  Awaited& what;
  std::uint32_t turns = 0;  ///< in vain, since something moved
  int looks_left;           ///< on the first rung
  Yields yields;

 private:
  ShortWait short_wait_;
};

/// One that has not ended on the quick rungs.
class LongWait {
 public:
  LongWait(Rank& rank, Awaited& what, Progressing& progressing);
  ~LongWait();
  LongWait(const LongWait&) = delete;
  LongWait& operator=(const LongWait&) = delete;

  bool is_over();
  /// Sleeps for so long at most (0: until somebody rings), then begins its turns anew.
  Woken sleep(std::uint64_t nanoseconds);
  /// A turn that may have taken long is over.
  void begins_anew();

  Rank& rank;
  Awaited& what;
  Record record;                ///< has the policy and the plan that it goes by
  Consultation consultation;    ///< with who is asked in the policy's place
  std::uint32_t turns = 1;      ///< in vain, since something moved or it slept
  Step named = Step::poll;      ///< for this turn, by these
  bool neighbours = false;      ///< in this turn others of its worker could run
  bool timer;                   ///< a sleep until shortly before the message is still to come
  std::uint64_t waited_ns = 0;  ///< as last known

 private:
  void moved();
  void was_in_vain();
  void ask();

  Progressing& progressing_;
  Napper napper_;
  bool signalled_ = false;  ///< and has not looked since
};

/// A rung is a type, so that a ladder costs no more than its conditions.
template <ledger::Activity what>
struct Rung {
  static constexpr ledger::Activity activity = what;  ///< in the accounts of a long wait
};

/// Turns, until the wait is over: true. False: none of these rungs is due.
template <class... Rungs, class AnyWait>
bool climb(AnyWait& wait) {
  const auto has_turn = [&wait]<class One>() {
    if (!One::is_due(wait)) {
      return false;
    }
    if constexpr (requires { wait.record; }) {
      wait.record.enter(One::activity);
    }
    One::step(wait);
    return true;
  };
  do {
    if (!(has_turn.template operator()<Rungs>() || ...)) {
      return false;
    }
  } while (!wait.is_over());
  return true;
}

// --- The quick rungs, in their order

/// Looks again at once. A thread rank lets the others of its worker run before each look, because
/// what it waits for they have to do.
struct Look : Rung<ledger::Activity::poll> {
  static bool is_due(Wait& wait);
  static void step(Wait& wait);
};
/// Where ranks share cores: yields to any of them (yielding.h).
struct GiveWay : Rung<ledger::Activity::yield> {
  static bool is_due(Wait& wait);
  static void step(Wait& wait);
};

// --- Those of a long wait, in their order

/// Lets this rank's other threads into MPI: one of them may be what is waited for.
struct Threads : Rung<ledger::Activity::poll> {
  static bool is_due(LongWait& wait);
  static void step(LongWait& wait);
};
/// Lets the other ranks of this thread rank's worker run, until they have had their turns.
struct Neighbours : Rung<ledger::Activity::help> {
  static bool is_due(LongWait& wait);
  static void step(LongWait& wait);
};
/// Sleeps until shortly before the message is expected.
struct Timer : Rung<ledger::Activity::sleep> {
  static bool is_due(LongWait& wait);
  static void step(LongWait& wait);
};
struct Poll : Rung<ledger::Activity::poll> {
  static bool is_due(LongWait& wait);
  static void step(LongWait& wait);
};
/// Lets whoever wants this core have it, be it another program.
struct Yield : Rung<ledger::Activity::yield> {
  static bool is_due(LongWait& wait);
  static void step(LongWait& wait);
};
/// Sleeps until somebody rings. Always due.
struct Park : Rung<ledger::Activity::sleep> {
  static bool is_due(LongWait&) { return true; }
  static void step(LongWait& wait);
};

}  // namespace meantime::wait
