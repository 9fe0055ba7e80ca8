// Waiting: from the moment a rank cannot go on until it can. This part knows no MPI objects; it
// sees a plain struct and something that can be awaited.
//   Awaited     what is waited for, as five questions
//   turn        one look at it that finds nothing; after each the policy names the next rung
//   rung        poll, yield, park
//
//          ready? ──yes──────────────────────────────────► go on      (no cost: never gets here)
//            │ no
//            ▼
//         quick turns ──ready────────────────────────────► go on      (short_wait.h)
//            │ nothing
//            ▼
//         in a crowd: give the core away ──ready─────────► go on      (yielding.h)
//            │ nothing
//            ▼
//      ┌─ progress ── something moved ──► ready?
//      │     │ nothing
//      │     ▼
//      │  policy: poll ──► pause ────────────┐
//      │          yield ─► sched_yield ──────┤ next turn
//      │          park ──► arm, look again, sleep on the doorbell, disarm
//      └─────────────────────────────────────┘
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "node/layout.h"

namespace meantime::wait {

struct Policy;
class Looks;

/// What a wait looks like from outside: policies and reports see this and nothing else.
struct Situation {
  std::uint32_t call = 0;             ///< index of the generated call table
  const void* call_site = nullptr;    ///< return address in the user's program
  std::uint32_t context = 0;          ///< of the communicator, 0 = several or none
  const std::string* name = nullptr;  ///< the communicator's, which may change meanwhile
  std::int32_t peer = node::no_peer;
  std::int32_t world_peer = node::no_peer;  ///< the same rank in the world, if it is one
  std::int32_t tag = 0;
  std::uint32_t requests = 1;  ///< how many it waits for; the rest is about the first of them
  std::uint64_t bytes = 0;
  const Policy* policy = nullptr;  ///< the communicator's own, if it has one
};

/// What tends to end a wait of this kind, for whoever learns from earlier ones.
enum class Kind : std::uint8_t {
  messages,
  gate,  ///< of a collective: all ranks come
};
inline constexpr int kinds = 2;

/// How a payload gets from one rank's memory to another's.
enum class Channel : std::uint8_t {
  shared_memory,  ///< into memory of the node and out of it
  direct_copy,    ///< from buffer to buffer
};

class Awaited {
 public:
  virtual Kind kind() const { return Kind::messages; }
  /// Of the first of what is not complete yet; once all is, of what was the last.
  virtual Channel channel() const { return Channel::shared_memory; }
  /// True once the wait is over. Cheap; called at every turn.
  virtual bool ready() = 0;
  /// Moves what this rank can move (its inbox, its transfers). True if anything did move.
  virtual bool progress() = 0;
  /// Makes sure that whoever makes this ready from now on rings `waiter` (by wait::ring, or by
  /// wait::count_down). Afterwards `progress` and `ready` are asked once more
  /// before the sleep: arm, look again, then sleep.
  virtual void arm(node::Waiter& waiter) = 0;
  /// Takes back what `arm` did. A ring that is still on its way does no harm.
  virtual void disarm(node::Waiter& waiter) = 0;
  virtual void describe(Situation& situation) const = 0;  ///< of what is not complete yet
  /// After those last looks: what they have started is armed now, too. And before a thread that was
  /// awake leaves others of its rank asleep.
  virtual void about_to_sleep() {}
  /// Memory is full, and nobody will ever give any back. True if the wait is over by that.
  virtual bool goes_without() { return false; }

 protected:
  ~Awaited() = default;
};

/// Waits until `what.ready()`. Lets go of the rank's lock while it sleeps or yields.
void until(Awaited& what);

/// For how many turns of polling a wait is not worth a clock, a report or an entry in a queue:
/// most that are not over yet are so within half a microsecond, if the other has a core.
int quick_turns();

/// The sleep that `waiter` has begun last. By its own rank, the lock held; or by who holds the
/// right under which the waiter says what it seeks (match/seekers.h).
node::SleepLink sleep_of(const node::Waiter& waiter);
/// For so many completions it sleeps: before it is armed for any; or for one, whatever it is.
void expect(node::Waiter& waiter, std::int32_t completions);
/// So many more (or fewer); returns how many are left.
std::int32_t expect_more(node::Waiter& waiter, std::int32_t more);
/// `instead` of `expected`; false, and nothing has changed, if something was completed meanwhile.
bool expect_instead(node::Waiter& waiter, std::int32_t expected, std::int32_t instead);

/// Rings the doorbell of `waiter` if it sleeps: one compare-and-swap, and a system call only if it
/// truly sleeps in the kernel. What the sleeper shall see must be written before; `ring` orders it.
void ring(node::Waiter& waiter);
/// The same if it is still that sleep. For who has learned of it from where it was armed, and may
/// be late: the sleeper may have gone on by itself, and sleep for something else.
void ring(node::SleepLink sleep);
/// `ring` by the world rank: wakes one sleeping waiter of that rank, if there is one, to look for
/// work (a message to match, a transfer to move). Nobody if another thread of it looks by itself
/// (lookers.h). One load when it is awake.
void ring_rank(int world_rank);
/// The caller completed something that was armed in that sleep: rings if it was the last. (Not
/// even counted if it was armed for the rank, and another thread looks by itself.)
void count_down(node::SleepLink sleep);

/// Gives the core to whoever can use it, for once.
void give_way();
/// When this thread came into MPI last: for looks.h, and only while it asks again and again.
struct NotedEntry {
  /// Calls between two looks. A program that looks no more pays for so many clocks.
  static constexpr int calls = 16;
  std::uint64_t at_ns = 0;  ///< 0: unknown, or known already
  int wanted = 0;           ///< by so many calls more

  void note() {
    --wanted;
    at_ns = wanted != 0 ? now_ns() : 0;
  }
};
extern constinit thread_local NotedEntry noted_entry;
/// A look of the program's own (Test, Iprobe …) found nothing: after a few in a row others get the
/// core, and after many it may last a little: then the caller says what it was for (Looks::sought),
/// and calls look_may_last. `about`: tells whether two looks are for the same.
Looks* fruitless_look(std::uintptr_t about);
/// It was for so many things, and `changed` says whether some are new. `what` awaits all that is
/// sought.
void look_may_last(Looks& looks, Awaited& what, std::size_t things, bool changed);
void fruitful_look();
/// There was nothing to look for: it says nothing of the program, but takes time.
void look_for_nothing();

}  // namespace meantime::wait
