// What a carrier does while its worker has nothing to run: it looks for a while, as its ranks would
// have it, steals, then sleeps on the worker's bell.
#include <algorithm>

#include "base/clock.h"
#include "base/pause.h"
#include "ledger/layout.h"
#include "node/segment.h"
#include "policy/policy.h"
#include "scheduling/countdown.h"
#include "scheduling/fiber.h"
#include "scheduling/monitor.h"
#include "scheduling/scheduler.h"
#include "sleep/doorbell.h"

namespace meantime::ranks {

constinit WhenIdle detail::when_idle = nullptr;

namespace {

/// How long to look where a rank would look for a while: as the job says, if it does say how long.
const wait::Policy& looking_policy() {
  if (wait::policy().sleeps()) {
    return wait::policy();
  }
  static const wait::Policy event = [] {
    wait::PolicySettings given;
    given.preset = wait::find_preset("event");
    return wait::make_policy(given, wait::policy().crowded);
  }();
  return event;
}

}  // namespace

/// True if the carrier may sleep: who is counted to sleep with it stays so until it is up.
bool Worker::begin_idle_sleep(Carrier& carrier) {
  enter(carrier);
  const bool nothing = !has_runnable();
  if (nothing) {
    // One that is offloaded is awake until it is on the list (which we have looked at since).
    place_.suspended.store(static_cast<std::uint32_t>(living() - offloaded_),
                           std::memory_order_relaxed);
    place_.offloaded.store(static_cast<std::uint32_t>(offloaded_), std::memory_order_relaxed);
    asleep_.store(true, std::memory_order_seq_cst);
  }
  leave_hold(carrier);
  return nothing;
}

/// That of the most eager of those that left; a worker may also have none.
Eagerness Worker::eagerness() const {
  return waiting_[static_cast<int>(Eagerness::learns)] != 0   ? Eagerness::learns
         : waiting_[static_cast<int>(Eagerness::sleeps)] == 0 ? Eagerness::looks
         : waiting_[static_cast<int>(Eagerness::looks)] != 0  ? Eagerness::looks
                                                              : Eagerness::sleeps;
}

/// Nothing to run: looks whether there is something as long as its ranks would. False if there is
/// something now.
bool Worker::poll_for_work(Carrier& carrier, Eagerness eagerness, std::uint64_t began,
                           Countdown& countdown) {
  if (eagerness == Eagerness::sleeps) {
    return true;
  }
  const wait::Policy& looking = looking_policy();
  contention_.wait_begins();
  const bool learns = eagerness == Eagerness::learns && !contention_.shared();
  const wait::Plan plan{.poll_until_ns = learns ? patience_ns_ : 0};
  std::uint64_t waited = 0;
  Thief thief(*this);
  for (std::uint32_t turn = 1;; ++turn) {
    if (has_runnable() || host().living.load(std::memory_order_relaxed) == 0) {
      return false;
    }
    if ((turn & 63) == 0) {
      const std::uint64_t now = now_ns();
      if (now - began - waited >= wait::Contention::hold_up_ns) [[unlikely]] {
        contention_.held_up();
      }
      times_.polled(now);
      waited = now - began;
      if (thief.try_steal(carrier, now)) {
        return false;
      }
      if (now >= countdown.next_ns()) [[unlikely]] {
        countdown.ask(now);
      }
    }
    if (when_idle() != nullptr && when_idle()()) [[unlikely]] {
      waited = now_ns() - began;  // it had its core
    }
    const wait::Step rung = looking.next(turn, waited, plan);
    if (rung == wait::Step::park) {
      return true;
    }
    if (rung == wait::Step::yield) {
      times_.yields();
      wait::give_core_to_kernel();
    } else {
      wait::pause();
    }
  }
}

std::uint64_t Worker::idle(Carrier& carrier, Eagerness eagerness, bool naps, bool quiet) {
  const std::uint64_t began = now_ns();
  if (naps && wait::policy().sleeps() && !returns_.any(began)) {
    eagerness = std::min(eagerness, Eagerness::looks);
  }
  times_.change_to(ledger::Doing::poll, began);
  Countdown countdown(host().plan->first_worker + number_, quiet, began);
  const bool in_vain = poll_for_work(carrier, eagerness, began, countdown);
  const std::uint64_t looked = naps ? now_ns() - began : 0;
  if (in_vain && sleep(carrier, countdown) && host().plan->steal && !has_runnable()) {
    help(carrier);
  }
  const std::uint64_t now = now_ns();
  times_.change_to(ledger::Doing::run, now);
  patience_ns_ = wait::policy().patience_after(now - began, patience_ns_);
  return looked;
}

/// Until signalled, or until the next timer, which nobody changes while the worker sleeps. A piece
/// of it that ends because the countdown is to be asked leaves the bell `arming`, as it was before:
/// who rings from then on makes the next piece return at once.
void Worker::sleep_on_bell(Countdown& countdown) {
  const std::uint64_t timer = timers_.next_ns();
  for (;;) {
    const std::uint64_t now = now_ns();
    if (timer <= now) {
      return;
    }
    if (countdown.next_ns() <= now) [[unlikely]] {
      countdown.ask(now);
    }
    const std::uint64_t until = std::min(timer, countdown.next_ns());
    if (until == Timers::never) {
      wait::sleep_until_signalled(place_.bell);
      return;
    }
    wait::sleep_until_signalled_or(place_.bell, until - now);
    if (wait::state_of(place_.bell) != node::Sleep::arming) {
      return;
    }
    if (until == timer) {
      lateness_.learn(now_ns() - timer);
      return;
    }
  }
}

/// True if it was signalled.
bool Worker::sleep(Carrier& carrier, Countdown& countdown) {
  if (!begin_idle_sleep(carrier)) {
    return false;
  }
  carrier.counter_files.close_what_is_not_in_use();
  times_.change_to(ledger::Doing::sleep, now_ns());
  // `living` is 0 before the bell is signalled for it (finish), and the bell is armed before the
  // look.
  wait::begin_sleep(place_.bell);
  if (place_.woken.empty(std::memory_order_seq_cst) &&
      host().living.load(std::memory_order_seq_cst) > 0) {
    sleep_on_bell(countdown);
  }
  const bool signalled = wait::end_sleep(place_.bell) == node::Sleep::signalled;
  carrier.mark = {};
  // Who rang counts us out after it has signalled, by `suspended`, which must not change before.
  while (place_.asleep.load(std::memory_order_acquire) != 0) {
    wait::give_core_to_kernel();
  }
  asleep_.store(false, std::memory_order_seq_cst);
  a_worker_is_up();
  return signalled;
}

/// Signalled with nothing on its list: the monitor has seen a worker with too many. Its ranks may
/// want no looking at all, so it looks only as long as a thief needs to see the same.
void Worker::help(Carrier& carrier) {
  const std::uint64_t began = now_ns();
  times_.change_to(ledger::Doing::poll, began);
  Thief thief(*this);
  for (std::uint64_t now = began;; now = now_ns()) {
    if (thief.try_steal(carrier, now) || now - began >= Thief::look_ns() || has_runnable() ||
        host().living.load(std::memory_order_relaxed) == 0) {
      return;
    }
    wait::pause();
  }
}

}  // namespace meantime::ranks
