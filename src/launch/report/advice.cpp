#include "launch/report/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "launch/report/job_figures.h"

namespace meantime::launch {
namespace {

// What is less than a tenth is not worth anybody's time.
constexpr double worth_a_word = 0.1;
/// Of a shorter job the figures are those of its start.
constexpr double shortest_seconds = 0.02;

struct RankTimes {
  double running = 0;    ///< all that is not waiting
  double preempted = 0;  ///< of that it was ready to run, as far as is known
  double waiting = 0;
  double cpu = 0;  ///< in all of its life
  std::size_t rank = 0;
};

/// Of the ranks in MPI, those that ran least first.
using Ranks = std::vector<RankTimes>;

Ranks times_of(const ledger::Figures& figures) {
  Ranks all;
  for (std::size_t rank = 0; rank < figures.ranks.size(); ++rank) {
    const ledger::RankFigures& one = figures.ranks[rank];
    if (one.in_mpi) {
      const std::uint64_t waiting = std::min(one.wall_ns, one.wait_ns);
      // A thread rank that is not in MPI may be waiting for its turn on its worker. Of its CPU time
      // a part went into looks.
      const std::uint64_t looks = one.spent_ns[static_cast<int>(ledger::Activity::poll)];
      const std::uint64_t outside =
          one.worker >= 0 && one.cpu_ns != 0
              ? std::min(one.wall_ns - waiting, one.cpu_ns - std::min(one.cpu_ns, looks))
              : one.wall_ns - waiting;
      const std::uint64_t preempted =
          one.cpu_ns != 0 ? std::min(outside, one.preempted_ns.value_or(0)) : 0;
      all.push_back(
          {seconds(outside), seconds(preempted), seconds(waiting), seconds(one.cpu_ns), rank});
    }
  }
  std::sort(all.begin(), all.end(), [](const RankTimes& one, const RankTimes& other) {
    return one.running < other.running;
  });
  return all;
}

Ranks by_waiting(Ranks ranks) {
  std::stable_sort(ranks.begin(), ranks.end(), [](const RankTimes& one, const RankTimes& other) {
    return one.waiting < other.waiting;
  });
  return ranks;
}

/// That ranks wait for very different times by what they do; empty if they do not.
std::string uneven_waits(const Ranks& by_wait, double wall) {
  const RankTimes& least = by_wait.front();
  const RankTimes& most = by_wait.back();
  const double held_up = std::max(0.0, least.preempted - most.preempted);
  return most.waiting - least.waiting - held_up > worth_a_word * wall
             ? fmt::format(
                   "Rank {} waited for {:.3f} s, rank {} for {:.3f} s: look at what ranks that "
                   "wait "
                   "as little as rank {} do before.",
                   most.rank, most.waiting, least.rank, least.waiting, least.rank)
             : std::string();
}

/// Why they waited, as far as figures say it, and what helps. `wall`: of a rank, on average.
std::string remedy(const Job& job, const Ranks& ranks, const CoreSeconds& sums, double wall) {
  const RankTimes& longest = ranks.back();
  const RankTimes& middle = ranks[(ranks.size() - 1) / 2];
  const Ranks by_wait = by_waiting(ranks);
  const bool others = sums.others.value_or(0) > worth_a_word * sums.allocated;
  const bool preempted = sums.preempted.value_or(0) > worth_a_word * sums.allocated;
  // A rank that runs long is waited for only if others wait meanwhile, and it does not. And it is
  // not to blame for other programs: if some of its time is theirs its CPU time must say it, too.
  const double longer = longest.running - middle.running;
  const bool held_up = others && longest.preempted > worth_a_word * longer;
  const double surely = held_up ? longest.cpu - middle.cpu : longer;
  if (std::min(surely, longer - longest.preempted) > worth_a_word * wall &&
      by_wait[ranks.size() / 2].waiting - longest.waiting > worth_a_word * wall) {
    return fmt::format(
        "Rank {} ran for {:.3f} s, the median for {:.3f} s: the others wait for what "
        "it does; give it less to do.",
        longest.rank, longest.running, middle.running);
  }
  const std::string uneven = uneven_waits(by_wait, wall);
  double running = 0;
  for (const RankTimes& rank : ranks) {
    running += rank.running - rank.preempted;
  }
  const bool busy = sums.computing + sums.preempted.value_or(0) > 0.5 * sums.allocated;
  if (others && preempted) {
    return fmt::format(
        "Other programs had the cores for {:.3f} of {:.3f} core-seconds, while ranks were ready to "
        "run.",
        std::min(*sums.others, *sums.preempted), sums.allocated);
  }
  if (sums.preempted && !busy && sums.computing < 0.5 * running &&
      running > worth_a_word * wall * static_cast<double>(ranks.size())) {
    return fmt::format(
        "Ranks ran for {:.3f} s and computed for {:.3f} s: the rest of it they slept or read "
        "outside of MPI.{}{}",
        running, std::min(sums.computing, running), uneven.empty() ? "" : " ", uneven);
  }
  if (sums.computing > 0.75 * sums.allocated) {
    return fmt::format(
        "The cores computed for {:.0f} % of the time: more cores would help, less "
        "waiting would not.",
        100 * sums.computing / sums.allocated);
  }
  if (!sums.others && preempted && job.runners() <= job.cpus.workers) {
    return fmt::format("Others had the cores for {:.3f} s while ranks were ready to run.",
                       *sums.preempted);
  }
  if (sums.awake > worth_a_word * sums.allocated) {
    return fmt::format(
        "Waiting ranks kept cores awake for {:.3f} core-seconds, which --wait event "
        "leaves to others.",
        sums.awake);
  }
  if (!uneven.empty()) {
    return uneven;
  }
  return job.runners() > job.cpus.workers && busy
             ? fmt::format(
                   "No rank waits much longer than the others; {} share {} core{}, so it is also "
                   "others' turn that they wait for.",
                   job.runners(), job.cpus.workers, job.cpus.workers == 1 ? "" : "s")
             : "No rank waits much longer than the others: the time is that of messages and of "
               "their order; post receives earlier, send fewer messages.";
}

}  // namespace

std::string advice(const Job& job, const ledger::Figures& figures, const CoreSeconds& sums,
                   const std::string& worst_site, std::uint64_t worst_ns, bool ended_early) {
  const Ranks ranks = times_of(figures);
  double wall = 0;
  double waiting = 0;
  for (const ledger::RankFigures& rank : figures.ranks) {
    wall += seconds(rank.wall_ns);
    waiting += seconds(std::min(rank.wait_ns, rank.wall_ns));
  }
  if (ranks.empty() || wall == 0) {
    return "No rank has called MPI_Init.";
  }
  if (ended_early) {
    return "The job was ended before its ranks were through: its figures are as far as it came.";
  }
  if (wall < shortest_seconds * static_cast<double>(ranks.size())) {
    return "The job was too short to say anything of its waiting.";
  }
  const std::string share =
      fmt::format("Ranks waited for {:.0f} % of their time", 100 * waiting / wall);
  if (waiting < worth_a_word * wall || worst_site.empty()) {
    return share + ": there is little to gain from less waiting.";
  }
  return fmt::format("{}, most in {} ({:.0f} %). {}", share, worst_site,
                     100 * seconds(worst_ns) / wall,
                     remedy(job, ranks, sums, wall / static_cast<double>(ranks.size())));
}

}  // namespace meantime::launch
