#include "launch/report/core_seconds.h"

#include <algorithm>

#include "launch/report/guest_report.h"

namespace meantime::launch {
namespace {

double seconds(std::uint64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

}  // namespace

CoreSeconds core_seconds(const Job& job, const ledger::Figures& figures, const JobTimes& times) {
  using ledger::Activity;
  CoreSeconds sums;
  sums.allocated = times.allocated_seconds;
  std::uint64_t awake = 0;
  std::uint64_t slept = 0;
  for (const ledger::RankFigures& rank : figures.ranks) {
    const std::uint64_t looked = rank.spent_ns[static_cast<std::size_t>(Activity::poll)] +
                                 rank.spent_ns[static_cast<std::size_t>(Activity::yield)];
    awake += looked > rank.held_up_ns ? looked - rank.held_up_ns : 0;
    if (rank.worker >= 0) {
      continue;  // that a thread rank sleeps says nothing of a core: others run there
    }
    slept += rank.spent_ns[static_cast<std::size_t>(Activity::sleep)];
    if (rank.cpu_ns != 0 && rank.preempted_ns) {
      sums.preempted = sums.preempted.value_or(0) + seconds(*rank.preempted_ns);
    }
  }
  for (const ledger::WorkerFigures& worker : figures.workers) {
    awake += worker.idle_cpu_ns();
    slept += worker.spent(ledger::Doing::sleep);
    if (worker.cpu_ns != 0 && worker.preempted_ns) {
      sums.preempted = sums.preempted.value_or(0) + seconds(*worker.preempted_ns);
    }
  }
  sums.awake = std::min(seconds(awake), times.cpu_seconds);
  sums.computing = times.cpu_seconds - sums.awake;
  const double idle = std::max(0.0, sums.allocated - times.cpu_seconds);
  sums.asleep = std::min(idle, seconds(slept));
  sums.unused = idle - sums.asleep;
  if (!job.guest_function.empty()) {
    sums.guests = guest_function_seconds(figures);
  } else if (times.guests != nullptr) {
    sums.guests = times.guests->cpu_seconds;
  }
  if (times.others_seconds) {
    sums.others = std::min(idle, *times.others_seconds);
  }
  return sums;
}

}  // namespace meantime::launch
