// The report for people: what to do, where ranks waited, how they differ, what the cores did.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "launch/report/advice.h"
#include "launch/report/call_report.h"
#include "launch/report/core_seconds.h"
#include "launch/report/equal_ranks.h"
#include "launch/report/how_it_waited.h"
#include "launch/report/job_figures.h"
#include "launch/report/ledger_report.h"
#include "launch/report/worker_report.h"
#include "protocol/call_names.h"
#include "settings/shown.h"

namespace meantime::launch {
namespace {

using ledger::Activity;
using ledger::RankFigures;
using ledger::SiteFigures;

/// So many ranks have a line each; of more there are three lines about all, and the three that
/// waited longest.
constexpr std::size_t most_rank_lines = 6;
constexpr std::size_t worst_ranks = 3;
constexpr std::size_t most_site_lines = 12;

/// 850 ns, 12.3 us, 4.56 ms, 7.89 s
std::string duration(std::uint64_t ns) {
  const double value = static_cast<double>(ns);
  return ns < 1'000           ? fmt::format("{} ns", ns)
         : ns < 1'000'000     ? fmt::format("{:.1f} us", value * 1e-3)
         : ns < 1'000'000'000 ? fmt::format("{:.2f} ms", value * 1e-6)
                              : fmt::format("{:.2f} s", value * 1e-9);
}

double share(const RankFigures& rank, Activity activity) {
  return rank.wait_ns == 0
             ? 0.0
             : 100.0 * static_cast<double>(rank.spent_ns[static_cast<int>(activity)]) /
                   static_cast<double>(rank.wait_ns);
}

std::uint64_t running_ns(const RankFigures& rank) {
  return rank.wall_ns > rank.wait_ns ? rank.wall_ns - rank.wait_ns : 0;
}

/// One line of the table of ranks, or a part of what makes one.
struct RankRow {
  double running = 0;
  double waiting = 0;
  std::uint64_t waits = 0;
  double help = 0, poll = 0, yield = 0, sleep = 0;  ///< of the waiting, in %
  std::optional<double> cpu;
  std::optional<double> preempted;
};

RankRow row_of(const RankFigures& rank, const RankProcess& process) {
  return {seconds(running_ns(rank)),
          seconds(rank.wait_ns),
          rank.waits,
          share(rank, Activity::help),
          share(rank, Activity::poll),
          share(rank, Activity::yield),
          share(rank, Activity::sleep),
          cpu_time(rank, process),
          rank.cpu_ns != 0 && rank.preempted_ns ? std::optional(seconds(*rank.preempted_ns))
                                                : std::nullopt};
}

std::string rank_line(const std::string& name, const RankRow& row, const std::string& node = {}) {
  const auto known = [](std::optional<double> value) {
    return value ? fmt::format("{:.3f}", *value) : std::string("-");
  };
  return fmt::format(
      "{:>6} {:>9.3f} {:>9.3f} {:>8} {:>5.0f} {:>5.0f} {:>5.0f} {:>5.0f} {:>9} {:>9}{}{}\n", name,
      row.running, row.waiting, row.waits, row.help, row.poll, row.yield, row.sleep, known(row.cpu),
      known(row.preempted), node.empty() ? "" : "  ", node);
}

/// Column by column what a share of the ranks has at most.
RankRow row_of_all(const std::vector<RankRow>& rows, double q) {
  const auto at = [&](auto member) {
    std::vector<std::decay_t<decltype(rows.front().*member)>> values;
    for (const RankRow& row : rows) {
      values.push_back(row.*member);
    }
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
  };
  return {at(&RankRow::running), at(&RankRow::waiting), at(&RankRow::waits),
          at(&RankRow::help),    at(&RankRow::poll),    at(&RankRow::yield),
          at(&RankRow::sleep),   at(&RankRow::cpu),     at(&RankRow::preempted)};
}

std::string rank_table(const Job& job, const ledger::Figures& figures) {
  std::vector<std::size_t> numbers;
  std::vector<std::size_t> without;
  std::vector<RankRow> rows;
  for (std::size_t rank = 0; rank < figures.ranks.size(); ++rank) {
    if (job.ranks[rank].is_told_of()) {
      (figures.ranks[rank].in_mpi ? numbers : without).push_back(rank);
    }
  }
  for (const std::size_t rank : numbers) {
    rows.push_back(row_of(figures.ranks[rank], job.ranks[rank]));
  }
  std::string text;
  if (!rows.empty()) {
    text +=
        "  rank   running   waiting    waits  help  poll yield sleep  CPU time preempted\n"
        "              s         s              in % of waiting            s         s\n";
  }
  if (numbers.size() > most_rank_lines) {
    text += rank_line("least", row_of_all(rows, 0));
    text += rank_line("median", row_of_all(rows, 0.5));
    text += rank_line("most", row_of_all(rows, 1));
    text += "  of them those that waited longest:\n";
    std::partial_sort(numbers.begin(), numbers.begin() + worst_ranks, numbers.end(),
                      [&](std::size_t one, std::size_t other) {
                        return figures.ranks[one].wait_ns > figures.ranks[other].wait_ns;
                      });
    numbers.resize(worst_ranks);
  }
  for (const std::size_t rank : numbers) {
    text += rank_line(fmt::to_string(rank), row_of(figures.ranks[rank], job.ranks[rank]),
                      job.ranks[rank].host_name);
  }
  if (!without.empty()) {
    text += fmt::format("  rank{} {} never called MPI_Init\n", without.size() == 1 ? "" : "s",
                        list_of_ranks(without));
  }
  return text;
}

/// Of all ranks together: a place in the program, and the call.
struct SiteRow {
  std::string where;
  SiteFigures figures;
};

/// The one that took most time first. A line of the program that was compiled several times is one.
std::vector<SiteRow> sites_of_all(const JobFigures& all) {
  std::map<std::string, SiteFigures> sums;
  for (const RankFigures& rank : all.ledger.ranks) {
    for (const SiteFigures& site : rank.sites) {
      const std::string where =
          fmt::format("{} in {}", call_name(site.call), all.names.at(address_of(site)).text);
      const auto [place, is_new] = sums.try_emplace(where, site);
      if (!is_new) {
        place->second.add(site);
      }
    }
  }
  std::vector<SiteRow> sites;
  for (auto& [where, site] : sums) {
    sites.push_back({where, site});
  }
  std::stable_sort(sites.begin(), sites.end(), [](const SiteRow& one, const SiteRow& other) {
    return one.figures.total_ns > other.figures.total_ns;
  });
  return sites;
}

std::string site_line(const SiteRow& row) {
  const SiteFigures& site = row.figures;
  std::string prediction;
  if (site.predictions != 0) {
    prediction = fmt::format("; {} predicted, off by {} on average, {} too late, {} in vain",
                             site.predictions, duration(site.error_ns / site.predictions),
                             site.late, site.vain);
  }
  return fmt::format("{:>7} {:>9} {:>9} {:>9} {:>9}  {}{}\n", site.waits, duration(site.total_ns),
                     duration(quantile(site, 0.5)), duration(quantile(site, 0.99)),
                     duration(site.longest_ns), row.where, prediction);
}

/// Those that together are all but a hundredth of the waiting.
std::string site_table(const std::vector<SiteRow>& sites) {
  std::uint64_t all_ns = 0;
  for (const SiteRow& site : sites) {
    all_ns += site.figures.total_ns;
  }
  if (all_ns == 0) {
    return {};
  }
  std::string text =
      "  waits     total    median       p99   longest  of all ranks, by call site\n";
  std::uint64_t shown_ns = 0;
  std::size_t shown = 0;
  while (shown < std::min(sites.size(), most_site_lines) &&
         (shown == 0 || 100 * (all_ns - shown_ns) > all_ns)) {
    text += site_line(sites[shown]);
    shown_ns += sites[shown++].figures.total_ns;
  }
  if (shown < sites.size()) {
    text += fmt::format("{:>7} {:>9}  in {} more: --report=FILE has them all\n", "",
                        duration(all_ns - shown_ns), sites.size() - shown);
  }
  return text;
}

/// What was not read is said to who asks for more.
std::string energy_line(const Job& job, const JobTimes& times) {
  return times.joules >= 0
             ? fmt::format("energy: {:.1f} J ({})\n", times.joules, times.energy_source)
         : job.command.verbose ? fmt::format("energy: not read ({})\n", times.energy_source)
                               : "";
}

/// What came from other nodes, and was not taken in by who it was for.
std::string carried_line(const ledger::Figures& figures) {
  RankFigures sum;
  for (const RankFigures& rank : figures.ranks) {
    sum.carried_messages += rank.carried_messages;
    sum.carried_bytes += rank.carried_bytes;
    sum.carried_far += rank.carried_far;
    sum.helped_messages += rank.helped_messages;
    sum.helped_bytes += rank.helped_bytes;
    sum.helper_cpu_ns += rank.helper_cpu_ns;
    sum.strangers += rank.strangers;
  }
  const auto line = [](std::uint64_t messages, std::uint64_t bytes, const std::string& by) {
    return messages == 0 && bytes == 0
               ? std::string()
               : fmt::format(
                     "carried: {} messages, {:.3f} MB, for ranks that computed or slept, "
                     "by {}\n",
                     messages, static_cast<double>(bytes) * 1e-6, by);
  };
  return line(sum.carried_messages, sum.carried_bytes,
              sum.carried_far == 0
                  ? "others that waited"
                  : fmt::format("others that waited, {} of them from another NUMA node",
                                sum.carried_far)) +
         line(sum.helped_messages, sum.helped_bytes,
              fmt::format("helpers, in {} of CPU time", duration(sum.helper_cpu_ns))) +
         (sum.strangers == 0
              ? std::string()
              : fmt::format("network: {} messages of strangers were dropped\n", sum.strangers));
}

std::string wake_up_line(const Job& job) {
  return job.wake_up.ns != 0
             ? fmt::format("a wake-up: {} ({})\n", duration(job.wake_up.ns), job.wake_up.source)
         : job.command.verbose ? fmt::format("a wake-up: {}\n", job.wake_up.source)
                               : "";
}

std::string missing_line(const Job& job) {
  const std::vector<std::size_t> missing = missing_ranks(job);
  return missing.empty() ? std::string()
                         : fmt::format("missing: rank{} {}, on other nodes\n",
                                       missing.size() == 1 ? "" : "s", list_of_ranks(missing));
}

/// " of 2 nodes", if there are several.
std::string of_nodes(const Job& job) {
  std::set<std::string> nodes;
  for (const RankProcess& rank : job.ranks) {
    nodes.insert(rank.host_name);
  }
  nodes.erase(std::string());
  return nodes.size() > 1 ? fmt::format(" of {} nodes", nodes.size()) : std::string();
}

}  // namespace

std::string ledger_table(const Job& job, const JobFigures& all, const JobTimes& times) {
  const ledger::Figures& figures = all.ledger;
  const std::vector<SiteRow> sites = sites_of_all(all);
  const CoreSeconds sums = core_seconds(job, figures, times);
  const std::size_t ranks = job.ranks.size() - missing_ranks(job).size();
  std::string text = fmt::format(
      "where the time of {} rank{} on {} worker{}{} went, {:.3f} s\n", ranks, ranks == 1 ? "" : "s",
      job.cpus.workers, job.cpus.workers == 1 ? "" : "s", of_nodes(job), times.wall_seconds);
  text += "  " +
          advice(job, figures, sums, sites.empty() ? "" : sites.front().where,
                 sites.empty() ? 0 : sites.front().figures.total_ns, times.ended_early) +
          "\n";
  text +=
      site_table(sites) + call_table(figures) + rank_table(job, figures) + worker_table(figures);
  text += fmt::format(
      "core-seconds: allocated {:.3f} = computing {:.3f} + waiting awake {:.3f} + waiting asleep "
      "{:.3f} + unused {:.3f}; preempted {}{}\n",
      sums.allocated, sums.computing, sums.awake, sums.asleep, sums.unused,
      sums.preempted ? fmt::format("{:.3f}", *sums.preempted) : "unknown",
      sums.guests ? fmt::format("; guests had {:.3f} of what was left", *sums.guests) : "");
  text += missing_line(job) + wait_line(job) + changes_line(figures);
  if (figures.energy_handler.empty()) {
    text += energy_policy_line(job);
  }
  text += carried_line(figures);
  for (const std::string& note : job.notes) {
    text += fmt::format("note: {}\n", note);
  }
  text += wake_up_line(job);
  if (job.frequencies.prepared()) {
    text += fmt::format("frequency: {}\n", job.frequencies.summary());
  }
  if (!figures.energy_handler.empty()) {
    text += fmt::format("energy handler: {}\n", settings::shown_path(figures.energy_handler));
  }
  text += energy_line(job, times);
  text.pop_back();
  return text;
}

}  // namespace meantime::launch
