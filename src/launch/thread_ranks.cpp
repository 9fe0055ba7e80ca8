#include "launch/thread_ranks.h"

#include <fmt/format.h>

#include "launch/environment.h"
#include "launch/installation.h"
#include "launch/messages.h"
#include "launch/thread_check.h"

namespace meantime::launch {
namespace {

std::string why_not(const Job& job, const PreparedProgram& program) {
  if (program.inspection.kind != ProgramKind::machine_code) {
    return fmt::format("'{}' is a script; name the program itself", program.path);
  }
  if (!user_value(job.command, program.request, "LD_PRELOAD").empty()) {
    return "LD_PRELOAD is set, and what it loads would be one for all ranks";
  }
  const std::string file = program.path.starts_with('/') || program.request.directory.empty()
                               ? program.path
                               : program.request.directory + "/" + program.path;
  const ThreadVerdict verdict =
      check_for_threads(file, user_value(job.command, program.request, "LD_LIBRARY_PATH"),
                        job.command.kind == RankKind::automatic);
  if (!verdict.problems.empty()) {
    const std::size_t more = verdict.problems.size() - 1;
    return fmt::format(
        "'{}' cannot be threads: {}{}", program.path, verdict.problems.front(),
        more == 0 ? "" : fmt::format(" (and {} more: meantime check {})", more, program.path));
  }
  for (const std::string& note : verdict.notes) {
    if (job.command.verbose) {
      say("'{}': {}", program.path, note);
    }
  }
  return {};
}

std::string why_not(const Job& job) {
  if (host_program().empty()) {
    return "this installation has no meantime-host";
  }
  for (const PreparedProgram& program : job.programs) {
    if (job.programs.size() > 1 &&
        !(program.request.environment.empty() && program.request.directory.empty())) {
      return "several programs (:) of which one has -env or -wdir can only be processes so far";
    }
    if (program.request.wait != job.programs.front().request.wait) {
      return "several programs (:) with different --wait can only be processes";
    }
    if (std::string why = why_not(job, program); !why.empty()) {
      return why;
    }
  }
  return {};
}

}  // namespace

std::string choose_thread_ranks(Job& job) {
  const std::string why = why_not(job);
  job.thread_ranks = why.empty();
  if (const std::string in_vain = of_the_other_kind(job.command, job.thread_ranks);
      !in_vain.empty() && job.command.kind == RankKind::automatic) {
    say("ranks are {}: {}", job.thread_ranks ? "threads" : "processes", in_vain);
  }
  if (why.empty()) {
    return {};
  }
  if (job.command.kind == RankKind::automatic) {
    if (job.command.verbose) {
      say("ranks are processes: {}", why);
    }
    return {};
  }
  return fmt::format("--as threads: {}; process ranks run it (leave --as threads out)", why);
}

}  // namespace meantime::launch
