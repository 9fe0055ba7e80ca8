// `meantime ps` and `meantime stack`: what the ranks of running jobs do.
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <optional>

#include "launch/program.h"
#include "running_jobs.h"
#include "subcommands.h"

namespace meantime::tools {
namespace {

void print_job(const RunningJob& job, std::size_t ranks) {
  fmt::print("job {}: {} ({} rank{}, {:.0f} s)\n", job.mpiexec, job.command, ranks,
             ranks == 1 ? "" : "s", job.seconds);
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

/// The threads' backtraces, as gdb prints them, without what it says about itself. False if it
/// could not look.
bool print_backtrace(pid_t pid) {
  const std::string command = fmt::format(
      "gdb -p {} -batch -nx -ex 'set pagination off' -ex 'thread apply all backtrace' 2>&1", pid);
  std::FILE* output = popen(command.c_str(), "re");
  if (output == nullptr) {
    return false;
  }
  bool any = false;
  std::string problem;
  char line[4096];
  while (std::fgets(line, sizeof line, output) != nullptr) {
    const std::string_view text = line;
    if (text.starts_with("#") || text.starts_with("Thread ")) {
      fmt::print("      {}", line);
      any = any || text.starts_with("#");
    } else if (text.find("ptrace") != std::string_view::npos) {
      problem = text.substr(0, text.find('\n'));
    }
  }
  pclose(output);
  if (!any) {
    fmt::print("      no backtrace{}{}\n", problem.empty() ? "" : ": ", problem);
  }
  return any;
}

}  // namespace

int ps() {
  std::size_t jobs = 0;
  for (const RunningJob& job : running_jobs()) {
    const std::vector<RankLine> ranks = ranks_of(job);
    if (ranks.empty()) {
      continue;
    }
    ++jobs;
    print_job(job, ranks.size());
    for (const RankLine& rank : ranks) {
      fmt::print("{}\n", rank.text);
    }
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
  const std::vector<RankLine> ranks = ranks_of(*job);
  if (rank >= static_cast<int>(ranks.size())) {
    fmt::print(stderr, "meantime: job {} has {} ranks, no rank {}\n", number, ranks.size(), rank);
    return 2;
  }
  print_job(*job, ranks.size());
  bool all = true;
  for (std::size_t index = 0; index < ranks.size(); ++index) {
    if (rank >= 0 && static_cast<std::size_t>(rank) != index) {
      continue;
    }
    fmt::print("{}\n", ranks[index].text);
    std::fflush(stdout);
    if (ranks[index].pid > 0) {
      all = print_backtrace(ranks[index].pid) && all;
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
