#include "launch/report/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "launch/report/job_figures.h"

namespace meantime::launch {
namespace {

// What is less than a tenth is not worth anybody's time.
constexpr double worth_a_word = 0.1;

/// The time that a rank computed, and its number; the least first.
using Running = std::vector<std::pair<double, std::size_t>>;

Running running_times(const ledger::Figures& figures) {
  Running all;
  for (std::size_t rank = 0; rank < figures.ranks.size(); ++rank) {
    const ledger::RankFigures& one = figures.ranks[rank];
    if (one.in_mpi) {
      all.emplace_back(seconds(one.wall_ns - std::min(one.wall_ns, one.wait_ns)), rank);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Why they waited, as far as figures say it, and what helps.
std::string remedy(const Job& job, const Running& running, const CoreSeconds& sums, double wall) {
  const auto& [longest, rank] = running.back();
  const double median = running[(running.size() - 1) / 2].first;
  if (longest - median > worth_a_word * wall) {
    return fmt::format(
        "Rank {} ran for {:.3f} s, the median for {:.3f} s: the others wait for what "
        "it does; give it less to do.",
        rank, longest, median);
  }
  if (sums.computing > 0.75 * sums.allocated) {
    return fmt::format(
        "The cores computed for {:.0f} % of the time: more cores would help, less "
        "waiting would not.",
        100 * sums.computing / sums.allocated);
  }
  if (sums.preempted && *sums.preempted > worth_a_word * sums.allocated &&
      job.runners() <= job.cpus.workers) {
    return fmt::format("Others had the cores for {:.3f} s while ranks were ready to run.",
                       *sums.preempted);
  }
  if (sums.awake > worth_a_word * sums.allocated) {
    return fmt::format(
        "Waiting ranks kept cores awake for {:.3f} core-seconds, which --wait event "
        "leaves to others.",
        sums.awake);
  }
  return job.runners() > job.cpus.workers
             ? fmt::format(
                   "No rank runs much longer than the others; {} share {} core{}, so it is also "
                   "others' turn that they wait for.",
                   job.runners(), job.cpus.workers, job.cpus.workers == 1 ? "" : "s")
             : "No rank runs much longer than the others: the time is that of messages and of "
               "their "
               "order; post receives earlier, send fewer messages.";
}

}  // namespace

std::string advice(const Job& job, const ledger::Figures& figures, const CoreSeconds& sums,
                   const std::string& worst_site, std::uint64_t worst_ns) {
  const Running running = running_times(figures);
  double wall = 0;
  double waiting = 0;
  for (const ledger::RankFigures& rank : figures.ranks) {
    wall += seconds(rank.wall_ns);
    waiting += seconds(std::min(rank.wait_ns, rank.wall_ns));
  }
  if (running.empty() || wall == 0) {
    return "No rank has called MPI_Init.";
  }
  const std::string share =
      fmt::format("Ranks waited for {:.0f} % of their time", 100 * waiting / wall);
  if (waiting < worth_a_word * wall || worst_site.empty()) {
    return share + ": there is little to gain from less waiting.";
  }
  return fmt::format("{}, most in {} ({:.0f} %). {}", share, worst_site,
                     100 * seconds(worst_ns) / wall,
                     remedy(job, running, sums, wall / static_cast<double>(running.size())));
}

}  // namespace meantime::launch
