#include "rank/clocks.h"

#include <algorithm>

#include "base/clock.h"
#include "ledger/kernel_account.h"
#include "rank/counters.h"
#include "rank/ticks.h"
#include "scheduling/fiber.h"
#include "scheduling/scheduler.h"

namespace meantime::ranks {

constinit thread_local Clocks own_clocks;

namespace {

/// Never back: a kernel may move a thread between cores whose counters differ by a few ticks.
std::uint64_t difference(std::uint64_t now, std::uint64_t before) {
  return now > before ? now - before : 0;
}

void add(Span& sum, const Span& span) {
  sum.ticks += span.ticks;
  sum.ns += span.ns;
}

/// Others may have had the core for a part of it.
bool is_long(std::uint64_t ticks) {
  return 8 * ticks > Ticks::per_ms();
}

/// Others had the core, between the two.
std::uint64_t lost_ticks(const CpuMark& before, const CpuMark& now) {
  if (before.ticks == 0) {
    return 0;
  }
  const double cpu = static_cast<double>(difference(now.cpu_ns, before.cpu_ns)) * 1e-9;
  return difference(difference(now.ticks, before.ticks),
                    static_cast<std::uint64_t>(cpu / Ticks::seconds()));
}

}  // namespace

double Span::seconds() const {
  return static_cast<double>(ticks) * Ticks::seconds() + static_cast<double>(ns) * 1e-9;
}

HandOver hand_over_now(int thread, bool computes) {
  Ticks::choose();
  return {true, computes, Ticks::now(), ledger::cpu_ns_of(thread)};
}

void Clocks::begin() {
  if (counters != nullptr) [[unlikely]] {
    counters->begin(*this);
  }
  if (fiber == nullptr) {
    running.begin();
    return;
  }
  by_cpu = !away && (fiber->state.load(std::memory_order_relaxed) != State::running ||
                     fiber->worker->shares_its_cpu());
  if (by_cpu) {
    since = thread_cpu_ns();
    return;
  }
  since = Ticks::now();
  if (!away && since - fiber->carrier->mark.ticks > Ticks::per_ms()) [[unlikely]] {
    fiber->carrier->mark = {since, thread_cpu_ns()};
  }
}

Span Clocks::passed() {
  if (fiber == nullptr) {
    return {0, running.passed_ns()};
  }
  if (by_cpu) {
    return {0, difference(thread_cpu_ns(), since)};
  }
  // acquire: the state is changed after hand_over was written.
  const bool left_alone = !away && fiber->state.load(std::memory_order_acquire) == State::offloaded;
  CpuMark now{left_alone ? fiber->hand_over.ticks : Ticks::now(), 0};
  Span span{difference(now.ticks, since), 0};
  if (!away && is_long(span.ticks)) [[unlikely]] {
    CpuMark& mark = fiber->carrier->mark;
    now.cpu_ns = left_alone ? fiber->hand_over.cpu_ns : thread_cpu_ns();
    span.ticks -= std::min(span.ticks, lost_ticks(mark, now));
    mark = now;
  }
  if (left_alone) [[unlikely]] {
    span.ns = difference(thread_cpu_ns(), fiber->hand_over.cpu_ns);
  }
  return span;
}

void Clocks::add_to_core(const Span& span) {
  if (fiber == nullptr) {
    add(core, span);
    return;
  }
  CoreClock& clock = fiber->worker->core_clock();
  if (span.ns == 0) [[likely]] {
    // By the one rank that runs, and the next one runs on the same carrier: one writer. (After a
    // hand-over there are others, but then nobody comes here.)
    clock.ticks.store(clock.ticks.load(std::memory_order_relaxed) + span.ticks,
                      std::memory_order_relaxed);
    return;
  }
  clock.ticks.fetch_add(span.ticks, std::memory_order_relaxed);
  clock.ns.fetch_add(span.ns, std::memory_order_relaxed);
}

void Clocks::settle() {
  const Span span = passed();
  if (ticks_for_rank) {
    add(ran, span);
  }
  if (in_section && !away) {
    add_to_core(span);
  }
  if (counters != nullptr) [[unlikely]] {
    counters->settle(*this);
  }
}

void Clocks::settle_if_going() {
  if (stopped == 0) {
    settle();
    if (fiber == nullptr) {
      running.go_on();
    } else {
      begin();
    }
  }
}

void Clocks::stop() {
  if (stopped++ == 0) {
    settle();
  }
}

void Clocks::go() {
  if (--stopped == 0) {
    begin();
  }
}

void Clocks::switch_on() {
  if (on) {
    return;
  }
  fiber = self().fiber;
  if (fiber != nullptr) {
    Ticks::choose();
  }
  begin();
  on = true;
  self().uses_clocks.store(true, std::memory_order_relaxed);
}

void clocks_go_away() {
  Clocks& clocks = own_clocks;
  if (clocks.on && clocks.stopped == 0) [[unlikely]] {
    clocks.stop();
    clocks.away = true;
    clocks.go();
  }
}

void clocks_are_back() {
  Clocks& clocks = own_clocks;
  clocks.away = false;
  if (clocks.on && clocks.stopped == 0) {
    clocks.begin();  // it did not go
  }
}

double rank_seconds() {
  Clocks& clocks = own_clocks;
  clocks.switch_on();
  clocks.settle_if_going();
  clocks.ticks_for_rank = true;
  return clocks.ran.seconds();
}

bool start_processor_timer() {
  Clocks& clocks = own_clocks;
  clocks.switch_on();
  if (clocks.in_section) {
    return false;
  }
  clocks.settle_if_going();
  clocks.in_section = true;
  return true;
}

bool stop_processor_timer() {
  Clocks& clocks = own_clocks;
  if (!clocks.in_section) {
    return false;
  }
  clocks.settle_if_going();
  clocks.in_section = false;
  return true;
}

double processor_seconds() {
  Clocks& clocks = own_clocks;
  clocks.switch_on();
  clocks.settle_if_going();
  if (clocks.fiber == nullptr) {
    return clocks.core.seconds();
  }
  const CoreClock& clock = clocks.fiber->worker->core_clock();
  return Span{clock.ticks.load(std::memory_order_relaxed), clock.ns.load(std::memory_order_relaxed)}
      .seconds();
}

}  // namespace meantime::ranks
