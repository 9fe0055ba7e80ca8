// The doorbell: how a sleeping waiter is woken, exactly one and only if it sleeps.
//
//   state word     awake ─► arming ─► on_futex ─► awake
//                              └─► signalled ◄─┘ (by a ringer)
//                            arming ◄───────┘ (its time is over)
//   hearing        where the job has several nodes, in the place of on_futex: ear.h
//   sleep          from arming to awake. Each has a number, which stands above the state in the
//                  word; a SleepLink is a waiter and such a number
//
// Why no wake-up is lost. The sleeper S and a ringer R share the state word and "the condition".
//   S: state := arming          R: condition := true
//      fence                       fence
//      look at the condition       look at state
//      cas arming → on_futex       cas → signalled; if it was on_futex: FUTEX_WAKE
//      FUTEX_WAIT(on_futex)
// Both fences are sequentially consistent, so not both looks can miss: either S sees the condition
// and does not sleep, or R sees at least `arming` and rings. R's compare-and-swap from `arming`
// makes S's own fail, so S does not sleep and no system call is paid; from `on_futex` it changes
// the word, so a FUTEX_WAIT that has not begun returns at once, and one that has begun is woken.
// Only a compare-and-swap from a sleeping state pays: a waiter is signalled once per sleep, whoever
// competes.
//
// Why nobody is woken by a ring for an earlier sleep. Whoever completes something that was armed
// learns there, in the same compare-and-swap that completes it, of which sleep it was; he may lose
// his core before he rings. The sleeper may not need him: its time is over, it looks, goes on and
// sleeps for something else. Its word then has another number, so the ring's compare-and-swap
// cannot succeed, and count_down finds another number beside the count. Nothing is lost by that:
// who sleeps anew has armed anew before its look, and a completion that comes after the new arming
// finds the new number. (16 bits of the number are compared: after 65536 sleeps a very late ring
// may hit, and wakes in vain.) The worker's own bell, and whoever rings a rank for any work
// (ring_rank), means the present sleep, whichever that is.
#pragma once

#include "node/layout.h"

namespace meantime::wait {

/// The sleep that `waiter` has begun last. By its own rank, the lock held; or by who holds the
/// match lock under which the waiter says what it probes for (match/probers.h).
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
/// work (a message to match, a transfer to move). Nobody if another thread of it progresses by
/// itself (progressing.h). One load when it is awake.
void ring_rank(int world_rank);
/// The caller completed something that was armed in that sleep: rings if it was the last. (Not
/// even counted if it was armed for the rank, and another thread progresses by itself.)
void count_down(node::SleepLink sleep);

// --- For the sleeper.

/// What the word says of the sleep's state.
inline node::Sleep state_of(const node::Waiter& waiter) {
  return static_cast<node::Sleep>(waiter.state.load(std::memory_order_acquire) &
                                  ((1u << node::sleep_bits) - 1));
}
/// Whose sleep it is.
node::Waiter& waiter_of(node::SleepLink sleep);

/// Announces a new sleep. The sleeper must look again afterwards.
void begin_sleep(node::Waiter& waiter);
/// Sleeps until signalled; returns at once if signalled since `begin_sleep`. Signals do not end it.
/// Keeps the count of sleepers and looks for a deadlock if it is the last to fall asleep.
void sleep_until_signalled(node::Waiter& waiter);
/// The same for at most so many nanoseconds; without a look for deadlocks.
void sleep_until_signalled_or(node::Waiter& waiter, std::uint64_t nanoseconds);
/// The time of such a sleep is over: the waiter is `arming` again. False if it was signalled: then
/// whoever did so has counted it out, or puts the thread rank on its worker's list.
bool time_is_over(node::Waiter& waiter);
/// Back to awake, whether it slept or not. Returns the state it was in.
node::Sleep end_sleep(node::Waiter& waiter);
/// Puts a thread rank on its worker's list and wakes that worker if it sleeps. For who made the
/// rank's waiter signalled.
void make_runnable(node::Waiter& waiter);
/// The same for a rank that comes back from its own thread, by that thread: the rank may run before
/// this returns, so nothing of it is looked at.
void make_runnable_again(node::Waiter& waiter);

}  // namespace meantime::wait
