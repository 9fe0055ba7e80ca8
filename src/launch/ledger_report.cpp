#include "launch/ledger_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "core/call_names.h"
#include "launch/call_report.h"
#include "launch/core_seconds.h"
#include "launch/how_it_waited.h"
#include "launch/json.h"
#include "launch/messages.h"
#include "launch/places.h"
#include "launch/worker_report.h"
#include "ledger/histogram.h"
#include "ledger/reader.h"
#include "node/segment.h"
#include "settings/shown.h"

namespace meantime::launch {
namespace {

using ledger::Activity;
using ledger::RankFigures;
using ledger::SiteFigures;

constexpr std::size_t most_rank_lines = 32;
constexpr std::size_t most_site_lines = 20;

double seconds(std::uint64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

/// 850 ns, 12.3 us, 4.56 ms, 7.89 s
std::string duration(std::uint64_t ns) {
  const double value = static_cast<double>(ns);
  return ns < 1'000           ? fmt::format("{} ns", ns)
         : ns < 1'000'000     ? fmt::format("{:.1f} us", value * 1e-3)
         : ns < 1'000'000'000 ? fmt::format("{:.2f} ms", value * 1e-6)
                              : fmt::format("{:.2f} s", value * 1e-9);
}

std::uint64_t spent(const RankFigures& rank, Activity activity) {
  return rank.spent_ns[static_cast<int>(activity)];
}

/// The histogram is coarse; the longest wait is known exactly.
std::uint64_t quantile(const SiteFigures& site, double q) {
  return std::min(ledger::quantile(site.histogram, q), site.longest_ns);
}

Place place_of(const SiteFigures& site) {
  return {site.file, site.offset};
}

std::map<Place, PlaceName> names_of(const ledger::Figures& figures) {
  std::vector<Place> places;
  for (const RankFigures& rank : figures.ranks) {
    for (const SiteFigures& site : rank.sites) {
      places.push_back(place_of(site));
    }
  }
  return name_places(places);
}

/// Call sites over all ranks, the one that took most time first.
std::vector<SiteFigures> sites_of_all(const ledger::Figures& figures) {
  std::map<std::tuple<std::string, std::uint64_t, std::uint16_t>, SiteFigures> sums;
  for (const RankFigures& rank : figures.ranks) {
    for (const SiteFigures& site : rank.sites) {
      const auto [place, is_new] = sums.try_emplace({site.file, site.offset, site.call}, site);
      if (!is_new) {
        place->second.add(site);
      }
    }
  }
  std::vector<SiteFigures> sites;
  for (auto& [key, site] : sums) {
    sites.push_back(site);
  }
  std::stable_sort(sites.begin(), sites.end(),
                   [](const SiteFigures& one, const SiteFigures& other) {
                     return one.total_ns > other.total_ns;
                   });
  return sites;
}

ledger::Figures figures_in(int descriptor) {
  ledger::Figures figures;
  node::Segment segment;
  if (descriptor >= 0 && segment.map(descriptor) == 0) {
    figures = ledger::read(segment);
    segment.unmap();
  }
  return figures;
}

/// In MPI, by the rank itself, or its share of its worker's (ledger/prorate.h); of a process rank
/// that did not get to MPI_Finalize the whole process's, by the kernel. Nothing if none is known.
std::optional<double> cpu_time(const RankFigures& rank, const RankProcess& process) {
  return rank.cpu_ns != 0           ? std::optional(seconds(rank.cpu_ns))
         : process.cpu_seconds >= 0 ? std::optional(process.cpu_seconds)
                                    : std::nullopt;
}

/// The energy policy that was asked in each wait of each rank; "none" if there was none.
std::vector<std::string> energy_policies(const Job& job, const ledger::Figures& figures) {
  return figures.energy_handler.empty() ? energy_policies_of_ranks(job)
                                        : std::vector<std::string>(figures.ranks.size(), "handler");
}

std::string json_notes(const Job& job) {
  std::string text;
  for (const std::string& note : job.notes) {
    text += (text.empty() ? "" : ", ") + quoted(note);
  }
  return "[" + text + "]";
}

std::string rank_line(std::size_t number, const RankFigures& rank, const RankProcess& process) {
  const std::optional<double> cpu = cpu_time(rank, process);
  if (!rank.in_mpi) {
    return fmt::format("{:>6}  never called MPI_Init{}\n", number,
                       cpu ? fmt::format("; CPU time {:.3f} s", *cpu) : "");
  }
  const auto share = [&rank](Activity activity) {
    return rank.wait_ns == 0 ? 0.0
                             : 100.0 * static_cast<double>(spent(rank, activity)) /
                                   static_cast<double>(rank.wait_ns);
  };
  const std::uint64_t running = rank.wall_ns > rank.wait_ns ? rank.wall_ns - rank.wait_ns : 0;
  return fmt::format(
      "{:>6} {:>10.3f} {:>10.3f} {:>9} {:>5.0f} {:>5.0f} {:>5.0f} {:>5.0f} {:>10} {:>10}\n", number,
      seconds(running), seconds(rank.wait_ns), rank.waits, share(Activity::help),
      share(Activity::poll), share(Activity::yield), share(Activity::sleep),
      cpu ? fmt::format("{:.3f}", *cpu) : "-",
      rank.cpu_ns != 0 && rank.preempted_ns ? fmt::format("{:.3f}", seconds(*rank.preempted_ns))
                                            : "-");
}

std::string site_line(const SiteFigures& site, const std::map<Place, PlaceName>& names) {
  std::string prediction;
  if (site.predictions != 0) {
    prediction = fmt::format("; {} predicted, off by {} on average, {} too late, {} in vain",
                             site.predictions, duration(site.error_ns / site.predictions),
                             site.late, site.vain);
  }
  return fmt::format("{:>9} {:>10} {:>10} {:>10} {:>10}  {} in {}{}\n", site.waits,
                     duration(site.total_ns), duration(quantile(site, 0.5)),
                     duration(quantile(site, 0.99)), duration(site.longest_ns),
                     call_name(site.call), names.at(place_of(site)).text, prediction);
}

std::string energy_line(const JobTimes& times) {
  return times.joules >= 0
             ? fmt::format("energy: {:.1f} J ({})\n", times.joules, times.energy_source)
             : fmt::format("energy: not read ({}); CPU time {:.3f} s\n", times.energy_source,
                           times.cpu_seconds);
}

std::string json_activities(const std::array<std::uint64_t, ledger::activities>& spent_ns) {
  return fmt::format(R"({{"help": {:.9f}, "poll": {:.9f}, "yield": {:.9f}, "sleep": {:.9f}}})",
                     seconds(spent_ns[0]), seconds(spent_ns[1]), seconds(spent_ns[2]),
                     seconds(spent_ns[3]));
}

std::string json_site(const SiteFigures& site, const std::map<Place, PlaceName>& names) {
  const PlaceName& name = names.at(place_of(site));
  return fmt::format(
      R"({{"call": {}, "file": {}, "offset": {}, "function": {}, "source": {}, "waits": {}, )"
      R"("seconds": {:.9f}, "median": {:.9f}, "p99": {:.9f}, "longest": {:.9f}, "spent": {}, )"
      R"("predictions": {}, "late": {}, "in_vain": {}, "error": {:.9f}}})",
      quoted(call_name(site.call)), quoted(site.file), site.offset,
      name.function.empty() ? "null" : quoted(name.function),
      name.source.empty() ? "null" : quoted(name.source), site.waits, seconds(site.total_ns),
      seconds(quantile(site, 0.5)), seconds(quantile(site, 0.99)), seconds(site.longest_ns),
      json_activities(site.spent_ns), site.predictions, site.late, site.vain,
      site.predictions != 0 ? seconds(site.error_ns / site.predictions) : 0.0);
}

std::string json_rank(std::size_t number, const RankFigures& rank, const RankProcess& process,
                      const std::string& way, const std::string& policy,
                      const std::map<Place, PlaceName>& names) {
  const std::optional<double> cpu = cpu_time(rank, process);
  std::string text = fmt::format(
      R"(    {{"rank": {}, "wait": {}, "energy_policy": {}, "changed": {}, "wall": {:.9f}, "waiting": {:.9f}, "waits": {}, "sleeps": {}, )"
      R"("rung_in_vain": {}, "spent": {}, )"
      R"("held_up": {:.9f}, "elsewhere": {:.9f}, "cpu": {}, "preempted": {}, "prorated": {}, "sites": [)",
      number, quoted(way), quoted(policy), json_changes(rank), seconds(rank.wall_ns),
      seconds(rank.wait_ns), rank.waits, rank.parks, rank.rung_in_vain,
      json_activities(rank.spent_ns), seconds(rank.held_up_ns), seconds(rank.elsewhere_ns),
      cpu ? fmt::format("{:.9f}", *cpu) : "null",
      rank.cpu_ns != 0 && rank.preempted_ns ? fmt::format("{:.9f}", seconds(*rank.preempted_ns))
                                            : "null",
      rank.worker >= 0);
  for (std::size_t index = 0; index < rank.sites.size(); ++index) {
    text += (index == 0 ? "\n      " : ",\n      ") + json_site(rank.sites[index], names);
  }
  return text + "]}";
}

}  // namespace

std::string ledger_table(const Job& job, int segment, const JobTimes& times) {
  const ledger::Figures figures = figures_in(segment);
  const std::map<Place, PlaceName> names = names_of(figures);
  std::string text =
      fmt::format("mpiexec: where the time of {} rank{} on {} worker{} went, {:.3f} s\n",
                  figures.ranks.size(), figures.ranks.size() == 1 ? "" : "s", job.cpus.workers,
                  job.cpus.workers == 1 ? "" : "s", times.wall_seconds);
  text +=
      "  rank    running    waiting     waits  of it in % by         CPU time  preempted\n"
      "                 s          s            help  poll yield sleep          s          s\n";
  for (std::size_t rank = 0; rank < std::min(figures.ranks.size(), most_rank_lines); ++rank) {
    text += rank_line(rank, figures.ranks[rank], job.ranks[rank]);
  }
  if (figures.ranks.size() > most_rank_lines) {
    text += fmt::format("   ... and {} more: --report=FILE has them all\n",
                        figures.ranks.size() - most_rank_lines);
  }
  text += worker_table(figures);
  const std::vector<SiteFigures> sites = sites_of_all(figures);
  if (!sites.empty()) {
    text += "   waits      total     median        p99    longest  of all ranks, by call site\n";
    for (std::size_t site = 0; site < std::min(sites.size(), most_site_lines); ++site) {
      text += site_line(sites[site], names);
    }
  }
  text += call_table(figures);
  const CoreSeconds sums = core_seconds(job, figures, times);
  text += fmt::format(
      "core-seconds: allocated {:.3f} = computing {:.3f} + waiting awake {:.3f} + waiting asleep "
      "{:.3f} + unused {:.3f}; preempted {}\n",
      sums.allocated, sums.computing, sums.awake, sums.asleep, sums.unused,
      sums.preempted ? fmt::format("{:.3f}", *sums.preempted) : "unknown");
  text += wait_line(job) + changes_line(figures);
  if (figures.energy_handler.empty()) {
    text += energy_policy_line(job);
  }
  for (const std::string& note : job.notes) {
    text += fmt::format("note: {}\n", note);
  }
  text += job.wake_up.ns != 0
              ? fmt::format("a wake-up: {} ({})\n", duration(job.wake_up.ns), job.wake_up.source)
              : fmt::format("a wake-up: {}\n", job.wake_up.source);
  if (job.frequencies.prepared()) {
    text += fmt::format("frequency: {}\n", job.frequencies.summary());
  }
  if (!figures.energy_handler.empty()) {
    text += fmt::format("energy handler: {}\n", settings::shown_path(figures.energy_handler));
  }
  return text + energy_line(times);
}

std::string ledger_json(const Job& job, int segment, const JobTimes& times) {
  const ledger::Figures figures = figures_in(segment);
  const std::map<Place, PlaceName> names = names_of(figures);
  const CoreSeconds sums = core_seconds(job, figures, times);
  const std::vector<std::string> ways = ways_of_ranks(job);
  const std::vector<std::string> policies = energy_policies(job, figures);
  std::string text = fmt::format(
      "{{\n  \"format\": 1,\n  \"ranks_count\": {},\n  \"workers\": {},\n  \"wall\": {:.9f},\n"
      "  \"cpu\": {:.9f},\n"
      "  \"core_seconds\": {{\"allocated\": {:.9f}, \"computing\": {:.9f}, \"waiting_awake\": "
      "{:.9f}, \"waiting_asleep\": {:.9f}, \"unused\": {:.9f}, \"preempted\": {}}},\n"
      "  \"wait\": {},\n  \"changed\": {},\n  \"energy_policy\": {},\n"
      "  \"notes\": {},\n"
      "  \"wake_up\": {{\"seconds\": {}, \"source\": {}}},\n"
      "  \"frequency\": {{\"times_lowered\": {}, \"seconds_lowered\": {:.9f}}},\n"
      "  \"energy\": {{\"joules\": {}, \"source\": {}, \"handler\": {}}},\n"
      "  \"calls\": [\n{}\n  ],\n  \"per_worker\": [\n{}\n  ],\n  \"ranks\": [\n",
      figures.ranks.size(), job.cpus.workers, times.wall_seconds, times.cpu_seconds, sums.allocated,
      sums.computing, sums.awake, sums.asleep, sums.unused,
      sums.preempted ? fmt::format("{:.9f}", *sums.preempted) : "null", quoted(ways.front()),
      json_changes(figures), quoted(policies.front()), json_notes(job),
      job.wake_up.ns != 0 ? fmt::format("{:.9f}", seconds(job.wake_up.ns)) : "null",
      quoted(job.wake_up.source), job.frequencies.times_lowered(),
      job.frequencies.seconds_lowered(),
      times.joules >= 0 ? fmt::format("{:.6f}", times.joules) : "null", quoted(times.energy_source),
      figures.energy_handler.empty() ? "null" : quoted(figures.energy_handler), json_calls(figures),
      json_workers(job, figures));
  for (std::size_t rank = 0; rank < figures.ranks.size(); ++rank) {
    text += json_rank(rank, figures.ranks[rank], job.ranks[rank], ways.at(rank), policies.at(rank),
                      names);
    text += rank + 1 < figures.ranks.size() ? ",\n" : "\n";
  }
  return text + "  ]\n}\n";
}

void remove_empty_reports(const Job& job) {
  for (std::size_t file = 0; file < job.report_files.size(); ++file) {
    remove_empty_file(job.report_files[file], job.command.report_files[file]);
  }
}

}  // namespace meantime::launch
