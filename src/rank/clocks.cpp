#include "rank/clocks.h"

#include <ctime>

#include "rank/fiber.h"
#include "rank/scheduler.h"
#include "rank/ticks.h"

namespace meantime::ranks {

constinit thread_local Clocks own_clocks;

std::uint64_t Clocks::now() const {
  if (by_ticks) [[likely]] {
    return Ticks::now();
  }
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

double Clocks::seconds(std::uint64_t ticks) const {
  return static_cast<double>(ticks) * (by_ticks ? Ticks::seconds() : 1e-9);
}

/// Only the rank that its worker runs gets here, so a worker's clock has one writer at a time, and
/// the next one runs on the same kernel thread.
std::uint64_t& Clocks::core_clock() {
  return fiber == nullptr ? core : fiber->worker->core_clock();
}

void Clocks::settle() {
  const std::uint64_t time = now();
  // A worker that the kernel moves between cores whose counters differ by a few ticks: never back.
  const std::uint64_t passed = time > since ? time - since : 0;
  since = time;
  if (ticks_for_rank) {
    ran += passed;
  }
  // A rank that holds its worker up (monitor.h) is elsewhere, too, though nobody has told its
  // clocks.
  const bool on_core =
      fiber == nullptr || fiber->state.load(std::memory_order_relaxed) == State::running;
  if (in_section && !away && on_core) {
    core_clock() += passed;
  }
}

void Clocks::settle_if_going() {
  if (stopped == 0) {
    settle();
  }
}

void Clocks::stop() {
  if (stopped++ == 0) {
    settle();
  }
}

void Clocks::go() {
  if (--stopped == 0) {
    since = now();
  }
}

void Clocks::switch_on() {
  if (on) {
    return;
  }
  fiber = self().fiber;
  if (fiber != nullptr) {
    Ticks::choose();
    by_ticks = true;
  }
  since = now();
  on = true;
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
  own_clocks.away = false;
}

double rank_seconds() {
  Clocks& clocks = own_clocks;
  clocks.switch_on();
  clocks.settle_if_going();
  clocks.ticks_for_rank = true;
  return clocks.seconds(clocks.ran);
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
  return clocks.seconds(clocks.core_clock());
}

}  // namespace meantime::ranks
