#include "launch/thread_ranks/thread_ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "elf/elf_file.h"
#include "launch/messages.h"
#include "launch/start/environment.h"
#include "launch/start/installation.h"
#include "launch/thread_ranks/hosts.h"
#include "launch/thread_ranks/thread_check.h"
#include "node/address_limit.h"
#include "protocol/rank_addresses.h"
#include "settings/shown.h"

namespace meantime::launch {
namespace {

/// (Ranks that have fewer start with smaller guards, as far as it goes, so this is asked only where
/// there is a choice.)
bool lacks_addresses(int ranks) {
  constexpr std::uint64_t of_image_and_guard = std::uint64_t{32} << 20;
  const std::uint64_t limit = node::address_limit();
  const std::uint64_t of_rank = stack_bytes_of_rank() + addresses_of_malloc + of_image_and_guard;
  return (limit - node::addresses_of_segment(limit)) / of_rank < static_cast<std::uint64_t>(ranks);
}

constexpr std::string_view cannot_run = "cannot run";  // as processes either

std::string why_not(const Job& job, const PreparedProgram& program) {
  if (host_program().empty()) {
    return "this installation has no meantime-host";
  }
  const std::string file = program.path.starts_with('/') || program.request.directory.empty()
                               ? program.path
                               : program.request.directory + "/" + program.path;
  if (program.inspection.kind != ProgramKind::machine_code) {
    const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (opened < 0) {
      return fmt::format("'{}' cannot be read: {}", settings::shown_path(program.path),
                         std::strerror(errno));
    }
    close(opened);
    const std::string foreign = foreign_processor(file);
    return foreign.empty() ? fmt::format("'{}' is a script; name the program itself",
                                         settings::shown_path(program.path))
                           : fmt::format("{} '{}': {}", cannot_run,
                                         settings::shown_path(program.path), foreign);
  }
  const int all = static_cast<int>(job.ranks.size());
  const int asked = job.command.ranks_per_process;
  const int beside = asked == 0 ? all : std::min(asked, all);
  if (program.request.kind == RankKind::automatic && lacks_addresses(beside)) {
    return fmt::format("the address space of one process is too small for {} ranks (ulimit -v)",
                       beside);
  }
  if (!user_value(job.command, program.request, "LD_PRELOAD").empty()) {
    return "LD_PRELOAD is set, and what it loads would be one for all ranks";
  }
  const ThreadVerdict verdict = check_for_threads(
      file, with_our_libraries(user_value(job.command, program.request, "LD_LIBRARY_PATH")),
      program.request.kind == RankKind::automatic);
  if (!verdict.problems.empty()) {
    const std::size_t more = verdict.problems.size() - 1;
    return fmt::format("'{}' cannot be threads: {}{}", settings::shown_path(program.path),
                       verdict.problems.front(),
                       more == 0 ? ""
                                 : fmt::format(" (and {} more: meantime check {})", more,
                                               settings::shown_path(program.path)));
  }
  if (!verdict.doubt.empty() && program.request.kind == RankKind::automatic) {
    return fmt::format("'{}' may need more than threads have: {}",
                       settings::shown_path(program.path), verdict.doubt);
  }
  for (const std::string& note : verdict.notes) {
    if (job.command.verbose) {
      say("'{}': {}", settings::shown_path(program.path), note);
    }
  }
  return {};
}

}  // namespace

std::string choose_thread_ranks(Job& job) {
  std::size_t rank = 0;
  for (PreparedProgram& program : job.programs) {
    const RankKind kind = program.request.kind;
    const std::string why = kind == RankKind::processes ? "asked for" : why_not(job, program);
    program.as_threads = why.empty();
    if (!program.as_threads && kind == RankKind::threads) {
      return fmt::format(
          "--as threads: {}{}", why,
          why.starts_with(cannot_run) ? "" : "; process ranks run it (leave --as threads out)");
    }
    if (!program.as_threads && kind == RankKind::automatic && job.command.verbose) {
      say("ranks are processes: {}", why);
    }
    for (int k = 0; k < program.request.ranks; ++k) {
      job.ranks[rank++].program = static_cast<int>(&program - job.programs.data());
    }
  }
  if (std::string refusal = divide_into_hosts(job); !refusal.empty()) {
    return refusal;
  }
  if (job.starts_members) {
    return {};
  }
  // Of --as auto: the others have been told by the command line alone.
  if (const std::string text = in_vain(job.command, !job.all_threads(), !job.hosts.empty());
      !text.empty()) {
    say("ranks are {}: {}", job.hosts.empty() ? "processes" : "threads", text);
  }
  return {};
}

}  // namespace meantime::launch
