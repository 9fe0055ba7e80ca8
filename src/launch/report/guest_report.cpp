#include "launch/report/guest_report.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "launch/report/json.h"
#include "settings/shown.h"

namespace meantime::launch {
namespace {

/// So many guests have a line each.
constexpr std::size_t most_lines = 16;

/// Core-seconds that guests could have: what the ranks did not use of the CPUs that guests may run
/// on, but no more than a CPU for each guest; to these the time is theirs alone in which they are
/// ended.
double left_by_ranks(const Job& job, const JobTimes& times) {
  const guest::Account& account = *times.guests;
  std::set<int> cpus;
  for (const std::vector<int>& of_one : job.guests->cpus) {
    cpus.insert(of_one.begin(), of_one.end());
  }
  const double seconds = times.wall_seconds + account.ending_seconds;
  return std::clamp(static_cast<double>(cpus.size()) * seconds - times.cpu_seconds, 0.0,
                    static_cast<double>(account.guests.size()) * seconds);
}

std::uint64_t units(const guest::Account& account) {
  std::uint64_t sum = 0;
  for (const guest::GuestAccount& one : account.guests) {
    sum = guest::sum(sum, one.units);
  }
  return sum;
}

/// Its command, as it was typed.
std::string command(const Job& job) {
  return job.setting("MEANTIME_GUEST");
}

std::string end_of(const guest::GuestAccount& account) {
  if (!account.wait_status) {
    return "-";
  }
  const int status = *account.wait_status;
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("status {}", WEXITSTATUS(status));
}

}  // namespace

std::string guest_table(const Job& job, const JobTimes& times) {
  if (times.guests == nullptr || times.guests->guests.empty()) {
    return {};
  }
  const guest::Account& account = *times.guests;
  const double left = left_by_ranks(job, times);
  std::string text = fmt::format(
      "mpiexec: {} guest{} had {:.3f} s of CPU time, {:.0f} % of the {:.3f} core-seconds that "
      "ranks left: {}\n"
      "  guest  CPU      starts  CPU time s            units  last end\n",
      account.guests.size(), account.guests.size() == 1 ? "" : "s", account.cpu_seconds,
      left > 0 ? 100 * account.cpu_seconds / left : 0.0, left, settings::shown(command(job)));
  for (std::size_t number = 0; number < std::min(account.guests.size(), most_lines); ++number) {
    const guest::GuestAccount& one = account.guests[number];
    text += fmt::format("  {:>5}  {:<8} {:>6}  {:>10.3f} {:>16}  {}\n", number,
                        fmt::format("{}", fmt::join(job.guests->cpus[number], ",")), one.starts,
                        one.cpu_seconds, one.units, end_of(one));
  }
  if (account.guests.size() > most_lines) {
    text += fmt::format("  of all {}: {} units\n", account.guests.size(), units(account));
  }
  return text;
}

namespace {

struct Worker {
  std::string name;
  ledger::GuestFigures did;
  std::uint64_t could_ns = 0;  ///< it slept, or worked
};

/// Those that have worked.
std::vector<Worker> workers_of(const ledger::Figures& figures) {
  constexpr auto asleep = static_cast<std::size_t>(ledger::Activity::sleep);
  std::vector<Worker> workers;
  for (std::size_t rank = 0; rank < figures.ranks.size(); ++rank) {
    const ledger::RankFigures& one = figures.ranks[rank];
    if (one.worker < 0 && one.guest.slices != 0) {
      workers.push_back({fmt::format("rank {}", rank), one.guest, one.spent_ns[asleep]});
    }
  }
  for (const ledger::WorkerFigures& one : figures.workers) {
    if (one.guest.slices != 0) {
      workers.push_back(
          {fmt::format("worker {}", one.number), one.guest, one.spent(ledger::Doing::sleep)});
    }
  }
  return workers;
}

ledger::GuestFigures sum_of(const std::vector<Worker>& workers) {
  ledger::GuestFigures sum;
  for (const Worker& worker : workers) {
    sum.slices += worker.did.slices;
    sum.ns += worker.did.ns;
    sum.longest_ns = std::max(sum.longest_ns, worker.did.longest_ns);
    sum.too_long += worker.did.too_long;
    sum.units = guest::sum(sum.units, worker.did.units);
  }
  return sum;
}

double seconds(std::uint64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

}  // namespace

bool ended_in_guest_work(const ledger::Figures& figures) {
  return std::any_of(figures.workers.begin(), figures.workers.end(),
                     [](const ledger::WorkerFigures& one) { return one.guest.in_slice; });
}

double guest_function_seconds(const ledger::Figures& figures) {
  return seconds(sum_of(workers_of(figures)).ns);
}

std::string guest_function_table(const Job& job, const ledger::Figures& figures) {
  const std::vector<Worker> workers = workers_of(figures);
  const ledger::GuestFigures sum = sum_of(workers);
  std::uint64_t could_ns = 0;
  for (const Worker& worker : workers) {
    could_ns += worker.could_ns;
  }
  std::string text = fmt::format(
      "mpiexec: guest work had {:.3f} s, {:.0f} % of the {:.3f} s for which ranks slept or worked: "
      "{}\n",
      seconds(sum.ns),
      could_ns == 0 ? 0.0 : 100 * static_cast<double>(sum.ns) / static_cast<double>(could_ns),
      seconds(could_ns), settings::shown(command(job)));
  if (!workers.empty()) {
    text += "  by           time s      slices  longest us            units\n";
  }
  for (std::size_t number = 0; number < std::min(workers.size(), most_lines); ++number) {
    const Worker& worker = workers[number];
    text += fmt::format("  {:<10} {:>8.3f} {:>11} {:>11.1f} {:>16}\n", worker.name,
                        seconds(worker.did.ns), worker.did.slices,
                        seconds(worker.did.longest_ns) * 1e6, worker.did.units);
  }
  if (sum.too_long != 0) {
    constexpr std::string_view name = "MEANTIME_GUEST_SLICE";
    const std::string said = job.setting(name);
    const std::string slice_us = said.empty() ? std::string(settings::find(name)->preset) : said;
    text += fmt::format(
        "  {} slice{} took more than ten times MEANTIME_GUEST_SLICE={}: after each there is a "
        "pause\n",
        sum.too_long, sum.too_long == 1 ? "" : "s", slice_us);
  }
  return text;
}

std::string guest_cost(const JobTimes& times) {
  if (times.guest_bound == nullptr) {
    return {};
  }
  return "  " + guest::cost_line(*times.guest_bound) + "\n";
}

std::string json_guest_cost(const JobTimes& times) {
  if (times.guest_bound == nullptr) {
    return "null";
  }
  const guest::Bound& bound = *times.guest_bound;
  const std::optional<guest::Bound::Cost> cost = bound.cost();
  const auto number = [&cost](double guest::Bound::Cost::*which) {
    // Infinite where the job stood still beside them.
    return cost && std::isfinite((*cost).*which) ? fmt::format("{:.6f}", (*cost).*which) : "null";
  };
  return fmt::format(
      R"({{"median": {}, "least": {}, "most": {}, "trials": {}, "times_beyond": {}, )"
      R"("seconds_without": {:.6f}}})",
      number(&guest::Bound::Cost::median), number(&guest::Bound::Cost::least),
      number(&guest::Bound::Cost::most), bound.trials(), bound.times_beyond(),
      bound.seconds_without());
}

std::string json_guest_function(const Job& job, const ledger::Figures& figures) {
  if (job.guest_function.empty()) {
    return "null";
  }
  std::string list;
  const std::vector<Worker> workers = workers_of(figures);
  for (const Worker& worker : workers) {
    list += fmt::format(
        R"({}{{"by": "{}", "seconds": {:.9f}, "slices": {}, "longest": {:.9f}, "too_long": {}, "units": {}}})",
        list.empty() ? "\n    " : ",\n    ", worker.name, seconds(worker.did.ns), worker.did.slices,
        seconds(worker.did.longest_ns), worker.did.too_long, worker.did.units);
  }
  const ledger::GuestFigures sum = sum_of(workers);
  return fmt::format(R"({{"command": {}, "seconds": {:.9f}, "units": {}, "each": [{}]}})",
                     quoted(command(job)), seconds(sum.ns), sum.units, list);
}

std::string json_guests(const Job& job, const JobTimes& times) {
  if (times.guests == nullptr || times.guests->guests.empty()) {
    return "null";
  }
  const guest::Account& account = *times.guests;
  std::string list;
  for (std::size_t number = 0; number < account.guests.size(); ++number) {
    const guest::GuestAccount& one = account.guests[number];
    const bool killed = one.wait_status && WIFSIGNALED(*one.wait_status);
    list += fmt::format(
        R"({}{{"cpus": [{}], "starts": {}, "cpu": {:.9f}, "units": {}, "status": {}, "signal": {}}})",
        number == 0 ? "\n    " : ",\n    ", fmt::join(job.guests->cpus[number], ", "), one.starts,
        one.cpu_seconds, one.units,
        one.wait_status && !killed ? fmt::to_string(WEXITSTATUS(*one.wait_status)) : "null",
        killed ? fmt::to_string(WTERMSIG(*one.wait_status)) : "null");
  }
  return fmt::format(
      R"({{"command": {}, "cpu": {:.9f}, "left_by_ranks": {:.9f}, "keeper_cpu": {:.9f}, )"
      R"("seconds": {:.9f}, "units": {}, "each": [{}]}})",
      quoted(command(job)), account.cpu_seconds, left_by_ranks(job, times),
      account.keeper_cpu_seconds, account.seconds, units(account), list);
}

}  // namespace meantime::launch
