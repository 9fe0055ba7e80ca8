// What the clocks of meantime.h cost at a switch (the paper's Figures 3 and 4): the time of each
// single invocation of the suspend and of the resume logic, for a rank that asked for no clock, for
// MPIX_Rtime's and for MPIX_Ptime's inside of a section, and for MPIX_Counter_start's events.
// "nothing" is the measurement itself.
// Prints lines "case side quantile ns"; `meantime bench clocks` makes tables and figures of them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "rank/clocks.h"
#include "rank/counters.h"
#include "rank/ticks.h"
#include "scheduling/fiber.h"
#include "scheduling/scheduler.h"

namespace {

using meantime::ranks::own_clocks;
using meantime::ranks::Ticks;

struct Case {
  const char* name;
  bool nothing, on, rank_clock, section;
  std::vector<const char*> events = {};
  std::vector<double> suspend = {}, resume = {};
};

/// False: the kernel does not count it.
bool start(const Case& what) {
  bool started = true;
  for (const char* event : what.events)
    started = meantime::ranks::start_counter(meantime::ranks::counter_event(event)) == 0 && started;
  return started;
}

void stop(const Case& what) {
  for (const char* event : what.events)
    meantime::ranks::stop_counter(meantime::ranks::counter_event(event));
}

void measure(Case& what, int invocations) {
  own_clocks.on = false;
  if (!start(what)) {
    stop(what);
    return;
  }
  for (int i = 0; i < invocations; i++) {
    own_clocks.on = what.on;
    meantime::self().uses_clocks = what.on;
    own_clocks.ticks_for_rank = what.rank_clock;
    own_clocks.in_section = what.section;
    alignas(meantime::ranks::Stopped) char place[sizeof(meantime::ranks::Stopped)] = {};
    auto* stopped = reinterpret_cast<meantime::ranks::Stopped*>(place);
    asm volatile("" ::: "memory");
    const std::uint64_t a = Ticks::now();
    if (!what.nothing) new (stopped) meantime::ranks::Stopped;
    asm volatile("" ::: "memory");
    const std::uint64_t b = Ticks::now();
    asm volatile("" ::: "memory");
    const std::uint64_t c = Ticks::now();
    if (!what.nothing) stopped->~Stopped();
    asm volatile("" ::: "memory");
    const std::uint64_t d = Ticks::now();
    what.suspend.push_back(static_cast<double>(b - a) * Ticks::seconds() * 1e9);
    what.resume.push_back(static_cast<double>(d - c) * Ticks::seconds() * 1e9);
  }
  stop(what);
}

void print(const char* name, const char* side, std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const auto at = [&values](double quantile) {
    return values[std::min(values.size() - 1, static_cast<std::size_t>(
                                                  quantile * static_cast<double>(values.size())))];
  };
  for (int i = 0; i < 200; i++)
    std::printf("%s %s %.4f %.2f\n", name, side, i / 200.0, at(i / 200.0));
  for (double quantile : {0.99, 0.999, 1.0})
    std::printf("%s %s %.4f %.2f\n", name, side, quantile, at(quantile));
}

}  // namespace

int main() {
  Ticks::choose();
  if (!Ticks::of_processor()) std::fprintf(stderr, "the processor's counter is not used here\n");
  meantime::node::WorkerPlace place{};
  meantime::ranks::Worker worker(0, place);
  auto* fiber = new meantime::ranks::Fiber;
  fiber->worker = &worker;
  fiber->carrier = new meantime::ranks::Carrier;
  fiber->state = meantime::ranks::State::running;
  meantime::self().fiber = own_clocks.fiber = fiber;
  Case cases[] = {{"nothing", true, false, false, false},
                  {"none", false, false, false, false},
                  {"Rtime", false, true, true, false},
                  {"Ptime", false, true, false, true},
                  {"page-faults", false, true, false, false, {"page-faults"}},
                  {"two-faults", false, true, false, false, {"page-faults", "context-switches"}},
                  {"cpu-migrations", false, true, false, false, {"cpu-migrations"}},
                  {"cycles", false, true, false, false, {"cycles"}}};
  // In turns, so that whatever disturbs the machine disturbs all of them.
  for (int round = 0; round < 700; round++)
    for (Case& each : cases) measure(each, 100);
  for (Case& each : cases) {
    if (each.suspend.empty()) continue;
    print(each.name, "suspend", each.suspend);
    print(each.name, "resume", each.resume);
  }
}
