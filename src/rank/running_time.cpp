#include "rank/running_time.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/clock.h"
#include "ledger/kernel_account.h"

namespace meantime::ranks {
namespace {

/// Nobody is off the core and back in less: two switches of the kernel's take longer.
constexpr std::uint64_t shortest_absence_ns = 1'000;

std::uint64_t difference(std::uint64_t now, std::uint64_t before) {
  return now > before ? now - before : 0;
}

std::uint64_t times_slept() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw);
}

}  // namespace

RunningTime::Clocks RunningTime::now() {
  // The CPU clock first: what lies between the two is time off the core, then, and never less than
  // none.
  const std::uint64_t cpu_ns = thread_cpu_ns();
  return {.wall_ns = now_ns(), .cpu_ns = cpu_ns};
}

std::uint64_t RunningTime::off_ns(const Clocks& from, const Clocks& to) {
  return difference(difference(to.wall_ns, from.wall_ns), difference(to.cpu_ns, from.cpu_ns));
}

void RunningTime::begin() {
  began_ = now();
  if (off_ns(looked_, began_) > shortest_absence_ns) {
    slept_ = times_slept();
    delay_ns_ = ledger::own_ready_ns().value_or(0);
    began_ = looked_ = now();  // what the look took is nobody's
  }
}

std::uint64_t RunningTime::passed_ns() {
  const Clocks end = ended_ = now();
  const std::uint64_t cpu = difference(end.cpu_ns, began_.cpu_ns);
  if (off_ns(began_, end) <= shortest_absence_ns || times_slept() == slept_) {
    return cpu;
  }
  const std::uint64_t wall = difference(end.wall_ns, began_.wall_ns);
  const std::uint64_t delay = difference(ledger::own_ready_ns().value_or(0), delay_ns_);
  return std::max(cpu, difference(wall, delay));
}

void RunningTime::go_on() {
  if (off_ns(looked_, ended_) > shortest_absence_ns) {
    begin();
  } else {
    began_ = ended_;
  }
}

}  // namespace meantime::ranks
