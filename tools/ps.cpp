// `meantime ps` and `meantime stack`: what the ranks of running jobs do.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

#include "backtraces.h"
#include "launch/program.h"
#include "running_jobs.h"
#include "settings/shown.h"
#include "subcommands.h"

namespace meantime::tools {
namespace {

void print_job(const RunningJob& job, std::size_t ranks) {
  fmt::print("job {}: {} ({} rank{}, {:.0f} s)\n", job.mpiexec,
             settings::shown(job.command, settings::any_length), ranks, ranks == 1 ? "" : "s",
             job.seconds);
}

std::optional<RunningJob> find_job(int number) {
  for (const RunningJob& job : running_jobs()) {
    if (job.mpiexec == number || job.supervisor == number) {
      return job;
    }
  }
  fmt::print(stderr, "meantime: {} is no running job of yours; `meantime ps` lists them\n", number);
  return std::nullopt;
}

/// None, and a line that says so, if it has just ended.
std::vector<RankLine> ranks_or_line(const RunningJob& job, int number) {
  std::vector<RankLine> ranks = ranks_of(job);
  if (ranks.empty()) {
    fmt::print(stderr, "meantime: job {} has ended, or is of another version of Meantime\n",
               number);
  }
  return ranks;
}

void print_ranks(const RunningJob& job, const std::vector<RankLine>& ranks) {
  print_job(job, ranks.size());
  for (const RankLine& rank : ranks) {
    fmt::print("{}\n", settings::shown(rank.text, settings::any_length));
  }
}

int ps_of(int number) {
  const std::optional<RunningJob> job = find_job(number);
  if (!job) {
    return 2;
  }
  const std::vector<RankLine> ranks = ranks_or_line(*job, number);
  if (ranks.empty()) {
    return 2;
  }
  print_ranks(*job, ranks);
  return 0;
}

void print_frames(const std::vector<std::string>& lines, const std::string& problem) {
  for (const std::string& line : lines) {
    fmt::print("      {}\n", settings::shown(line, settings::any_length));
  }
  if (lines.empty()) {
    fmt::print("      no backtrace{}{}\n", problem.empty() ? "" : ": ",
               settings::shown(problem, settings::any_length));
  }
}

}  // namespace

int ps(std::optional<int> number) {
  if (number) {
    return ps_of(*number);
  }
  std::size_t jobs = 0;
  for (const RunningJob& job : running_jobs()) {
    const std::vector<RankLine> ranks = ranks_of(job);
    if (ranks.empty()) {
      continue;
    }
    ++jobs;
    print_ranks(job, ranks);
  }
  if (jobs == 0) {
    fmt::print("no job of yours is running\n");
  }
  return 0;
}

int stack(int number, int rank) {
  const std::optional<RunningJob> job = find_job(number);
  if (!job) {
    return 2;
  }
  if (launch::find_program("gdb").path.empty()) {
    fmt::print(stderr, "meantime: stack needs gdb (apt-get install gdb)\n");
    return 2;
  }
  const std::vector<RankLine> ranks = ranks_or_line(*job, number);
  if (ranks.empty()) {
    return 2;
  }
  if (rank >= static_cast<int>(ranks.size())) {
    fmt::print(stderr, "meantime: job {} has {} ranks, no rank {}\n", number, ranks.size(), rank);
    return 2;
  }
  print_job(*job, ranks.size());
  std::fflush(stdout);
  std::string problem;
  Backtraces of_threads;
  std::set<pid_t> asked;
  for (int each = 0; each < static_cast<int>(ranks.size()); ++each) {
    const pid_t host = ranks[static_cast<std::size_t>(each)].host;
    if ((rank < 0 || rank == each) && host > 0 && asked.insert(host).second) {
      of_threads.merge(backtraces_of_host(host, rank < 0 ? "all" : fmt::to_string(rank), problem));
    }
  }
  bool all = true;
  for (int each = 0; each < static_cast<int>(ranks.size()); ++each) {
    const RankLine& line = ranks[static_cast<std::size_t>(each)];
    if (rank >= 0 && rank != each) {
      continue;
    }
    fmt::print("{}\n", settings::shown(line.text, settings::any_length));
    std::fflush(stdout);
    if (line.ended) {
      continue;
    }
    if (line.host > 0) {
      // One that has not begun, or has ended, has no frames; but gdb must have named it.
      const auto found = of_threads.find(each);
      all = all && found != of_threads.end();
      if (found == of_threads.end() || !found->second.empty()) {
        print_frames(found == of_threads.end() ? std::vector<std::string>() : found->second,
                     problem);
      }
    } else if (line.pid > 0) {
      const std::vector<std::string> frames = backtrace_of_process(line.pid, problem);
      if (frames.empty() && has_ended(line)) {
        fmt::print("      has ended meanwhile\n");
        continue;
      }
      print_frames(frames, problem);
      all = all && !frames.empty();
    }
  }
  if (!all) {
    fmt::print(stderr,
               "meantime: not every rank could be looked at; where "
               "/proc/sys/kernel/yama/ptrace_scope is not 0, try as root\n");
  }
  return all ? 0 : 1;
}

}  // namespace meantime::tools
