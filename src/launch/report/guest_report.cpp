#include "launch/report/guest_report.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>

#include "launch/report/json.h"
#include "settings/shown.h"

namespace meantime::launch {
namespace {

/// So many guests have a line each.
constexpr std::size_t most_lines = 16;

/// Core-seconds that the ranks did not use of as many CPUs as there are guests; to these the time
/// is theirs alone in which they are ended.
double left_by_ranks(const JobTimes& times) {
  const guest::Account& account = *times.guests;
  return std::max(0.0, static_cast<double>(account.guests.size()) *
                               (times.wall_seconds + account.ending_seconds) -
                           times.cpu_seconds);
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
  const double left = left_by_ranks(times);
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
      quoted(command(job)), account.cpu_seconds, left_by_ranks(times), account.keeper_cpu_seconds,
      account.seconds, units(account), list);
}

}  // namespace meantime::launch
