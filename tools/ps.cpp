// `meantime ps` and `meantime stack`: what the ranks of running jobs do.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "backtraces.h"
#include "launch/report/equal_ranks.h"
#include "launch/start/program.h"
#include "running_jobs.h"
#include "settings/shown.h"
#include "settings/terminal.h"
#include "subcommands.h"

namespace meantime::tools {
namespace {

/// Whole lines, as standard output has them (settings/terminal.h).
void print(const std::string& text) {
  std::fputs(settings::laid_out(text, settings::page_of(STDOUT_FILENO)).c_str(), stdout);
  std::fflush(stdout);
}

std::string job_line(const RunningJob& job, std::size_t ranks) {
  return fmt::format("job {}: {} ({} rank{}, {:.0f} s)\n", job.mpiexec,
                     settings::shown(job.command, settings::any_length), ranks,
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

/// None, and a line that says so, if it has just ended.
std::vector<RankLine> ranks_or_line(const RunningJob& job, int number) {
  std::vector<RankLine> ranks = ranks_of(job);
  if (ranks.empty()) {
    fmt::print(stderr, "meantime: job {} has ended, or is of another version of Meantime\n",
               number);
  }
  return ranks;
}

std::string lines_of(const std::vector<RankLine>& ranks) {
  std::string text;
  for (const RankLine& rank : ranks) {
    text += settings::shown(rank.text, settings::any_length) + '\n';
  }
  return text;
}

void print_ranks(const RunningJob& job, const std::vector<RankLine>& ranks, bool each) {
  const std::string lines = lines_of(ranks);
  print(job_line(job, ranks.size()) + (each ? lines : launch::with_equal_ranks_together(lines)));
}

int ps_of(int number, bool each) {
  const std::optional<RunningJob> job = find_job(number);
  if (!job) {
    return 2;
  }
  const std::vector<RankLine> ranks = ranks_or_line(*job, number);
  if (ranks.empty()) {
    return 2;
  }
  print_ranks(*job, ranks, each);
  return 0;
}

/// What there is to say of a rank's stack.
struct Stack {
  std::vector<std::string> frames;
  bool looked_at = false;  ///< or there is nothing to look at
};

/// `all_frames`: Meantime's own, too.
std::vector<Stack> stacks_of(const std::vector<RankLine>& ranks, int only, bool all_frames,
                             std::string& problem) {
  Backtraces of_threads;
  std::set<pid_t> asked;
  std::vector<pid_t> processes;
  for (int each = 0; each < static_cast<int>(ranks.size()); ++each) {
    const RankLine& rank = ranks[static_cast<std::size_t>(each)];
    if ((only >= 0 && only != each) || rank.ended) {
      continue;
    }
    if (rank.host > 0 && asked.insert(rank.host).second) {
      of_threads.merge(
          backtraces_of_host(rank.host, only < 0 ? "all" : fmt::to_string(only), problem));
    } else if (rank.host <= 0 && rank.pid > 0) {
      processes.push_back(rank.pid);
    }
  }
  const Backtraces of_processes = backtraces_of_processes(processes, problem);
  std::vector<Stack> stacks;
  for (std::size_t each = 0; each < ranks.size(); ++each) {
    const RankLine& rank = ranks[each];
    const Backtraces& all = rank.host > 0 ? of_threads : of_processes;
    const auto found = all.find(rank.host > 0 ? static_cast<int>(each) : rank.pid);
    Stack stack;
    // A thread rank that has not begun, or has ended, has no frames; but gdb must have named it.
    stack.looked_at = found != all.end() || rank.ended || (rank.host <= 0 && rank.pid <= 0);
    if (found != all.end()) {
      stack.frames = all_frames ? found->second : frames_of_program(found->second);
    } else if (!rank.ended && has_ended(rank)) {
      stack = {{"has ended meanwhile"}, true};
    }
    stacks.push_back(std::move(stack));
  }
  return stacks;
}

std::string frames_text(const std::vector<std::string>& frames) {
  std::string text;
  for (const std::string& frame : frames) {
    text += fmt::format("      {}\n", settings::shown(frame, settings::any_length));
  }
  return text;
}

/// Ranks that are in the same places are shown once, without their addresses and arguments, which
/// one that was asked for (`only`) has.
std::string stacks_text(const std::vector<RankLine>& ranks, const std::vector<Stack>& stacks,
                        int only, const std::string& problem) {
  std::map<std::vector<std::string>, std::vector<std::size_t>> same;
  for (std::size_t each = 0; each < ranks.size(); ++each) {
    same[places_alone(stacks[each].frames)].push_back(each);
  }
  std::string text;
  for (std::size_t each = 0; each < ranks.size(); ++each) {
    const std::vector<std::string> places = places_alone(stacks[each].frames);
    const std::vector<std::size_t>& group = same.at(places);
    if ((only >= 0 && only != static_cast<int>(each)) || (only < 0 && group.front() != each)) {
      continue;
    }
    std::vector<RankLine> of_group;
    for (const std::size_t rank : only >= 0 ? std::vector<std::size_t>{each} : group) {
      of_group.push_back(ranks[rank]);
    }
    text += launch::with_equal_ranks_together(lines_of(of_group));
    text += frames_text(only >= 0 ? stacks[each].frames : places);
    if (!stacks[each].looked_at) {
      text += frames_text({"no backtrace" + (problem.empty() ? "" : ": " + problem)});
    }
  }
  return text;
}

}  // namespace

int ps(std::optional<int> number, bool each) {
  if (number) {
    return ps_of(*number, each);
  }
  std::size_t jobs = 0;
  for (const RunningJob& job : running_jobs()) {
    const std::vector<RankLine> ranks = ranks_of(job);
    if (ranks.empty()) {
      continue;
    }
    ++jobs;
    print_ranks(job, ranks, each);
  }
  if (jobs == 0) {
    fmt::print("no job of yours is running\n");
  }
  return 0;
}

int stack(int number, int rank, bool all_frames) {
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
  print(job_line(*job, ranks.size()));
  std::string problem;
  const std::vector<Stack> stacks = stacks_of(ranks, rank, all_frames, problem);
  print(stacks_text(ranks, stacks, rank, problem));
  bool all = true;
  for (std::size_t each = 0; each < ranks.size(); ++each) {
    all = all && (stacks[each].looked_at || (rank >= 0 && rank != static_cast<int>(each)));
  }
  if (!all) {
    fmt::print(stderr,
               "meantime: not every rank could be looked at; where "
               "/proc/sys/kernel/yama/ptrace_scope is not 0, try as root\n");
  }
  return all ? 0 : 1;
}

}  // namespace meantime::tools
