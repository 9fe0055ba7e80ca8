#include "launch/report/ledger_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>

#include "launch/messages.h"
#include "launch/report/call_report.h"
#include "launch/report/core_seconds.h"
#include "launch/report/guest_report.h"
#include "launch/report/how_it_waited.h"
#include "launch/report/job_figures.h"
#include "launch/report/json.h"
#include "launch/report/worker_report.h"
#include "protocol/call_names.h"

namespace meantime::launch {
namespace {

using ledger::Activity;
using ledger::RankFigures;
using ledger::SiteFigures;

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

std::string json_activities(const std::array<std::uint64_t, ledger::activities>& spent_ns) {
  return fmt::format(R"({{"help": {:.9f}, "poll": {:.9f}, "yield": {:.9f}, "sleep": {:.9f}}})",
                     seconds(spent_ns[0]), seconds(spent_ns[1]), seconds(spent_ns[2]),
                     seconds(spent_ns[3]));
}

std::string json_site(const SiteFigures& site, const std::map<CodeAddress, SourceLocation>& names) {
  const SourceLocation& name = names.at(address_of(site));
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
                      const std::map<CodeAddress, SourceLocation>& names) {
  const std::optional<double> cpu = cpu_time(rank, process);
  std::string text = fmt::format(
      R"(    {{"rank": {}, {}"wait": {}, "energy_policy": {}, "changed": {}, "wall": {:.9f}, "waiting": {:.9f}, "waits": {}, "sleeps": {}, )"
      R"("rung_in_vain": {}, "spent": {}, )"
      R"("held_up": {:.9f}, "elsewhere": {:.9f}, "cpu": {}, "preempted": {}, "prorated": {}, )"
      R"("helped": {{"messages": {}, "bytes": {}, "cpu": {:.9f}}}, )"
      R"("carried": {{"messages": {}, "bytes": {}, "far": {}}}, "sites": [)",
      number, process.host_name.empty() ? "" : "\"node\": " + quoted(process.host_name) + ", ",
      quoted(way), quoted(policy), json_changes(rank), seconds(rank.wall_ns), seconds(rank.wait_ns),
      rank.waits, rank.parks, rank.signalled_in_vain, json_activities(rank.spent_ns),
      seconds(rank.held_up_ns), seconds(rank.offloaded_ns),
      cpu ? fmt::format("{:.9f}", *cpu) : "null",
      rank.cpu_ns != 0 && rank.preempted_ns ? fmt::format("{:.9f}", seconds(*rank.preempted_ns))
                                            : "null",
      rank.worker >= 0, rank.helped_messages, rank.helped_bytes, seconds(rank.helper_cpu_ns),
      rank.carried_messages, rank.carried_bytes, rank.carried_far);
  for (std::size_t index = 0; index < rank.sites.size(); ++index) {
    text += (index == 0 ? "\n      " : ",\n      ") + json_site(rank.sites[index], names);
  }
  return text + "]}";
}

}  // namespace

std::string ledger_json(const Job& job, const JobFigures& all, const JobTimes& times) {
  const ledger::Figures& figures = all.ledger;
  const CoreSeconds sums = core_seconds(job, figures, times);
  const std::vector<std::string> ways = ways_of_ranks(job);
  const std::vector<std::string> policies = energy_policies(job, figures);
  std::string text = fmt::format(
      "{{\n  \"format\": 1,\n  \"ranks_count\": {},\n  \"workers\": {},\n  \"wall\": {:.9f},\n"
      "  \"cpu\": {:.9f},\n"
      "  \"core_seconds\": {{\"allocated\": {:.9f}, \"computing\": {:.9f}, \"waiting_awake\": "
      "{:.9f}, \"waiting_asleep\": {:.9f}, \"unused\": {:.9f}, \"preempted\": {}, \"guests\": "
      "{}}},\n"
      "  \"wait\": {},\n  \"changed\": {},\n  \"energy_policy\": {},\n"
      "  \"notes\": {},\n  \"missing\": [{}],\n"
      "  \"wake_up\": {{\"seconds\": {}, \"source\": {}}},\n"
      "  \"frequency\": {{\"times_lowered\": {}, \"seconds_lowered\": {:.9f}}},\n"
      "  \"energy\": {{\"joules\": {}, \"source\": {}, \"handler\": {}}},\n"
      "  \"guests\": {},\n"
      "  \"guest_function\": {},\n"
      "  \"guest_cost\": {},\n"
      "  \"calls\": [\n{}\n  ],\n  \"per_worker\": [\n{}\n  ],\n  \"ranks\": [\n",
      figures.ranks.size(), job.cpus.workers, times.wall_seconds, times.cpu_seconds, sums.allocated,
      sums.computing, sums.awake, sums.asleep, sums.unused,
      sums.preempted ? fmt::format("{:.9f}", *sums.preempted) : "null",
      sums.guests ? fmt::format("{:.9f}", *sums.guests) : "null", quoted(ways.front()),
      json_changes(figures), quoted(policies.front()), json_notes(job),
      fmt::join(missing_ranks(job), ", "),
      job.wake_up.ns != 0 ? fmt::format("{:.9f}", seconds(job.wake_up.ns)) : "null",
      quoted(job.wake_up.source), job.frequencies.times_lowered(),
      job.frequencies.seconds_lowered(),
      times.joules >= 0 ? fmt::format("{:.6f}", times.joules) : "null", quoted(times.energy_source),
      figures.energy_handler.empty() ? "null" : quoted(figures.energy_handler),
      json_guests(job, times), json_guest_function(job, figures), json_guest_cost(times),
      json_calls(figures), json_workers(job, figures));
  for (std::size_t rank = 0; rank < figures.ranks.size(); ++rank) {
    text += json_rank(rank, figures.ranks[rank], job.ranks[rank], ways.at(rank), policies.at(rank),
                      all.names);
    text += rank + 1 < figures.ranks.size() ? ",\n" : "\n";
  }
  return text + "  ]\n}\n";
}

}  // namespace meantime::launch
