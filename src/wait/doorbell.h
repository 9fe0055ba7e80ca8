// The doorbell: how a sleeping waiter is woken, exactly one and only if it sleeps.
//
//   state word     awake ─► arming ─► on_futex ─► awake
//                              └──► rung ◄──┘ (by a ringer)
//                            arming ◄───────┘ (its time is over)
//   told           like rung, by another thread of the same rank that was rung (see ladder.cpp)
//
// Why no wake-up is lost. The sleeper S and a ringer R share the state word and "the condition".
//   S: state := arming          R: condition := true
//      fence                       fence
//      look at the condition       look at state
//      cas arming → on_futex       arming/on_futex → cas to rung; if it was on_futex: FUTEX_WAKE
//      FUTEX_WAIT(on_futex)
// Both fences are sequentially consistent, so not both looks can miss: either S sees the condition
// and does not sleep, or R sees at least `arming` and rings. R's compare-and-swap from `arming`
// makes S's own fail, so S does not sleep and no system call is paid; from `on_futex` it changes
// the word, so a FUTEX_WAIT that has not begun returns at once, and one that has begun is woken.
// Only a compare-and-swap from a sleeping state pays: a waiter is rung once per sleep, whoever
// competes.
#pragma once

#include "node/layout.h"

namespace meantime::wait {

/// Announces the sleep. The sleeper must look again afterwards.
void begin_sleep(node::Waiter& waiter);
/// Sleeps until rung; returns at once if rung since `begin_sleep`. Signals do not end it. Keeps the
/// count of sleepers and looks for a deadlock if it is the last to fall asleep.
void sleep_until_rung(node::Waiter& waiter);
/// The same for at most so many nanoseconds; without a look for deadlocks.
void sleep_until_rung_or(node::Waiter& waiter, std::uint64_t nanoseconds);
/// The time of such a sleep is over: the waiter is `arming` again. False if it was rung: then
/// whoever did so has counted it out, or puts the thread rank on its worker's list.
bool time_is_over(node::Waiter& waiter);
/// Back to awake, whether it slept or not. Returns the state it was in.
node::Sleep end_sleep(node::Waiter& waiter);
/// Puts a thread rank on its worker's list and wakes that worker if it sleeps. For who made the
/// rank's waiter rung.
void make_runnable(node::Waiter& waiter);
/// The same for a rank that comes back from its own thread, by that thread: the rank may run before
/// this returns, so nothing of it is looked at.
void make_runnable_again(node::Waiter& waiter);
/// Rings on behalf of another thread of the same rank. Returns at once if it does not sleep.
void tell(node::Waiter& waiter);

}  // namespace meantime::wait
