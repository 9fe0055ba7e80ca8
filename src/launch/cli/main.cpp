// mpiexec: from the command line to a job that may start. What happens then is front.cpp's.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

#include "elf/elf_file.h"
#include "launch/cli/notes.h"
#include "launch/cli/options.h"
#include "launch/guests/guest_plan.h"
#include "launch/messages.h"
#include "launch/nodes/joining.h"
#include "launch/report/how_it_waited.h"
#include "launch/report/report_files.h"
#include "launch/start/debugger.h"
#include "launch/start/environment.h"
#include "launch/start/installation.h"
#include "launch/start/machine_changes.h"
#include "launch/start/network_namespaces.h"
#include "launch/start/openmp_teams.h"
#include "launch/supervise/front.h"
#include "launch/thread_ranks/thread_ranks.h"
#include "protocol/control.h"
#include "settings/contradictions.h"
#include "settings/loaded_library.h"
#include "settings/misspelt.h"
#include "settings/shown.h"
#include "settings/terminal.h"

namespace meantime::launch {

namespace {

// A closed standard descriptor would be taken by the next file we open.
void open_standard_descriptors() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) < 0) {
      open("/dev/null", descriptor == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    }
  }
}

/// The number of processes the kernel can hold at all; far fewer ranks make sense.
int process_limit() {
  std::ifstream file("/proc/sys/kernel/pid_max");
  int limit = 0;
  return file >> limit ? limit : 32768;
}

/// The program's own, before it starts; its libraries' may be for programs of another kind.
void note_missing_calls(Job& job, const PreparedProgram& program) {
  const Inspection& found = program.inspection;
  if (found.missing_calls.empty()) {
    return;
  }
  const bool is_news = !found.own_missing_calls.empty() && !job.command.quiet &&
                       job.setting("MEANTIME_MISSING_CALLS", program.request) != "error";
  note(job,
       fmt::format("'{}' uses {}", settings::shown_path(program.path),
                   missing_calls_text(is_news && !job.command.verbose ? found.own_missing_calls
                                                                      : found.missing_calls)),
       is_news);
}

/// Of a program that would load it first thing; through a script it may be another file, in a
/// container.
std::string energy_handler_problem(const Job& job, const PreparedProgram& program) {
  constexpr std::string_view name = "MEANTIME_ENERGY_HANDLER";
  const std::string path =
      program.inspection.uses_mpi ? job.setting(name, program.request) : std::string();
  if (path.empty() || path == "none") {
    return {};
  }
  int descriptor = -1;
  std::string refusal = settings::library_refusal(path, &descriptor);
  if (refusal.empty()) {
    close(descriptor);
    refusal = ElfFile().open(path) ? "" : "it is no library for this machine";
  }
  return refusal.empty()
             ? refusal
             : fmt::format("{} '{}' is not loaded: {}", name, settings::shown_path(path), refusal);
}

/// Fills in job.programs; the exit status if one of them may not start, else 0.
int prepare_programs(Job& job) {
  for (const ProgramRequest& request : job.command.programs) {
    PreparedProgram program{request, {}, {}};
    struct stat directory {};
    if (!request.directory.empty() &&
        (stat(request.directory.c_str(), &directory) != 0 || !S_ISDIR(directory.st_mode))) {
      say("-wdir {}: no such directory", settings::shown_path(request.directory));
      return 1;
    }
    std::string path = user_value(job.command, request, "PATH");
    ResolvedProgram resolved = resolve_program(request.arguments[0], request.directory,
                                               path.empty() ? "/usr/bin:/bin" : path);
    if (resolved.path.empty()) {
      const bool meant_as_report = job.command.report && request.arguments[0].ends_with(".json");
      say("{}{}", resolved.error,
          meant_as_report ? fmt::format("; did you mean --report={}?", request.arguments[0]) : "");
      return resolved.status;
    }
    program.path = resolved.path;
    std::string file = program.path.starts_with('/') || request.directory.empty()
                           ? program.path
                           : request.directory + "/" + program.path;
    program.inspection = inspect_program(file, user_value(job.command, request, "LD_LIBRARY_PATH"),
                                         job.library_folder + "/" + std::string(library_file_name));
    if (!program.inspection.refusal.empty()) {
      say(program.inspection.refusal);
      return 1;
    }
    note_missing_calls(job, program);
    if (std::string problem = energy_handler_problem(job, program); !problem.empty()) {
      say(problem);
      return 1;
    }
    job.programs.push_back(std::move(program));
  }
  return 0;
}

/// Reads the files and looks at what each program's ranks would get: the first thing that makes no
/// sense, in one line. Says what a lock of the site's file overrules, and what nobody reads.
std::string check_settings(Job& job) {
  job.settings.read(prefix(), settings::own_environment());
  std::vector<std::string> names;
  std::set<std::string> remarks;
  std::set<std::string> remarks_on_files;
  for (const ProgramRequest& program : job.command.programs) {
    const settings::Environment environment =
        [&](std::string_view name) -> std::optional<std::string> {
      std::string value = user_value(job.command, program, std::string(name));
      return value.empty() ? std::nullopt : std::optional(value);
    };
    if (std::string problem = settings::first_problem(job.settings, environment);
        !problem.empty()) {
      return problem;
    }
    const auto value = [&](const settings::Setting& setting) {
      return job.settings.value(setting, environment,
                                option_value(job.command, program, setting.name));
    };
    if (std::string problem = settings::contradiction(value); !problem.empty()) {
      return problem;
    }
    for (std::string& line : settings::deprived(value)) {
      remarks.insert(std::move(line));
    }
    for (const settings::Setting& setting : settings::all()) {
      const settings::Value holds = value(setting);
      (settings::is_news(holds) ? remarks : remarks_on_files)
          .insert(settings::overruled(setting, holds));
      job.told.insert(settings::told_as(setting, holds));
    }
    for (std::string& name : user_names(job.command, program)) {
      names.push_back(std::move(name));
    }
    job.command.on_deadlock = deadlock_action(value(*settings::find(deadlock_variable)).text)
                                  .value_or(job.command.on_deadlock);
  }
  remarks.insert(settings::unknown_variables(names));
  remarks.insert(job.settings.remarks().begin(), job.settings.remarks().end());
  for (const std::string& line : remarks) {
    note(job, line, true);
  }
  for (const std::string& line : remarks_on_files) {
    note(job, line, false);
  }
  return {};
}

/// A list may leave CPUs out, so that ranks share one while others are free: who waits must know,
/// or it polls on the CPU that its peer needs. (The workers of thread ranks are not bound.)
void count_listed_cpus(Job& job) {
  if (job.command.binding != Binding::user || !job.hosts.empty()) {
    return;
  }
  job.cpus.workers = std::min(job.cpus.workers, cpus_together(job.bindings, job.command.ranks()));
}

/// For -v, once it is known what the ranks are.
void say_where_ranks_run(const Job& job) {
  const CommandLine& command = job.command;
  const auto counted = [](int count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  say("{} on {} ({}{}), {} at a deadlock", counted(command.ranks(), "rank"),
      counted(job.cpus.workers, "worker"), counted(job.cpus.mask, "CPU"),
      job.cpus.quota > 0 ? fmt::format(", quota of {:.1f}", job.cpus.quota) : "",
      deadlock_action_name(command.on_deadlock));
  if (job.bindings.empty() || job.all_threads()) {
    return;
  }
  const int most = static_cast<int>(job.bindings.size());
  if (command.binding != Binding::user && command.places_per_rank > most) {
    say("a rank has {} place{}, not {}: there are no more", most, most == 1 ? "" : "s",
        command.places_per_rank);
  }
  if (!ranks_share(job.bindings, command.ranks())) {
    return;
  }
  if (command.binding == Binding::user) {
    say("ranks share CPUs: --bind user has {} for {} ranks",
        cpus_together(job.bindings, command.ranks()), command.ranks());
  } else {
    say("ranks share CPUs: {} x {} places are more than the {} there are", command.ranks(),
        std::max(1, command.places_per_rank), job.bindings.size());
  }
}

/// In blocks. Empty, or one line why not.
std::string divide_among_nodes(Job& job) {
  const std::string nodes = job.setting("MEANTIME_TEST_NODES");
  const auto ranks = static_cast<int>(job.ranks.size());
  job.nodes = nodes.empty() ? 1 : std::clamp(std::atoi(nodes.c_str()), 1, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    job.ranks[static_cast<std::size_t>(rank)].node =
        static_cast<int>(std::int64_t{rank} * job.nodes / ranks);
  }
  constexpr std::string_view namespaces = "MEANTIME_TEST_NAMESPACES";
  const std::string held = job.setting(namespaces);
  const std::string problem =
      held.empty() ? "" : open_network_namespaces(held, job.nodes, job.networks);
  return problem.empty() ? problem : fmt::format("{}: {}", namespaces, problem);
}

int start(int count, char** words) {
  const bool output_closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
  open_standard_descriptors();
  std::vector<std::string> own_words(words + 1, words + count);
  std::optional<Order> order;
  if (own_words.size() == 1 && own_words.front() == node_word) {
    order = read_order(STDIN_FILENO);
    const std::string problem =
        order ? follow(*order) : fmt::format("{} is for mpiexec itself", node_word);
    if (!problem.empty()) {
      say("{}: {}", host_name(), problem);
      return 1;
    }
    own_words = order->words;
  }
  ParsedCommandLine parsed =
      parse_command_line(own_words, order ? order->nodes : std::vector<NodeRequest>());
  const std::string output =
      settings::help_laid_out(parsed.output, help_column, settings::page_of(STDOUT_FILENO));
  if (!output.empty() && (output_closed || !write_all(STDOUT_FILENO, output))) {
    say("cannot write to standard output: {}", std::strerror(output_closed ? EBADF : errno));
    return 1;
  }
  if (!parsed.error.empty()) {
    say(parsed.error);
  }
  if (!parsed.command) {
    return parsed.status;
  }
  if (access("/proc/self/exe", F_OK) != 0) {
    say("there is no /proc, which ranks need (mount -t proc proc /proc)");
    return 1;
  }
  Job job;
  job.command = std::move(*parsed.command);
  std::string not_joined;
  if (order) {
    take_over(job.command, *order);
  } else if (is_task_of_launcher(job.command)) {
    not_joined = join_tasks(job);
  } else {
    not_joined = use_allocation(job.command);
  }
  if (!not_joined.empty()) {
    say(not_joined);
    return 1;
  }
  if (is_beside(job)) {
    return wait_beside(job);
  }
  job.words = std::move(own_words);
  if (job.command.ranks() > process_limit() - 100) {
    say("{} ranks are more than this system has processes (kernel.pid_max is {})",
        job.command.ranks(), process_limit());
    return 1;
  }
  job.library_folder = library_folder();
  job.cpus = cpu_budget();
  if (std::string problem = find_bindings(job.command, job.cpus.workers, job.bindings);
      !problem.empty() && (job.command.nodes.empty() || order)) {  // else it is for the members
    say(problem);
    return 1;
  }
  if (job.command.verbose) {
    for (const std::string& note : job.command.notes) {
      say(note);
    }
  }
  if (std::string problem = check_settings(job); !problem.empty()) {
    say(problem);
    return 1;
  }
  if (int status = prepare_programs(job); status != 0) {
    return status;
  }
  job.ranks.resize(static_cast<std::size_t>(job.command.ranks()));
  if (std::string refusal = divide_among_members(job, order); !refusal.empty()) {
    say(refusal);
    return 1;
  }
  if (std::string refusal = divide_among_nodes(job); !refusal.empty()) {
    say(refusal);
    return 1;
  }
  if (std::string refusal = choose_thread_ranks(job); !refusal.empty()) {
    say(refusal);
    return 1;
  }
  count_listed_cpus(job);
  job.crowded_teams = teams_outnumber_cpus(job);
  if (job.command.verbose && !job.starts_members) {
    say_where_ranks_run(job);
  }
  if (const std::string guest = job.setting("MEANTIME_GUEST");
      job.has_board() && !guest.empty() && guest != "none") {
    say("guest work beside several nodes is not there yet");
    return 1;
  }
  if (std::string refusal = plan_guests(job); !refusal.empty()) {
    say(refusal);
    return 1;
  }
  if (asked_to_poll(job) || job.command.verbose) {  // the report has it anyway
    note(job, crowded_polling(job), true);
  }
  if (std::string refusal = job.starts_members ? std::string() : prepare_machine(job);
      !refusal.empty()) {
    say(refusal);
    return 1;
  }
  std::string refusal = job.command.debugger ? debugger_refusal(job) : std::string();
  ask_for_report_by_setting(job);
  // After all that may be refused, so that an older report is lost only to a job that runs.
  if (refusal.empty() && job.member < 0) {
    refusal = open_report_files(job);
  }
  if (!refusal.empty()) {
    say(refusal);
    return 1;
  }
  if (job.command.debugger) {
    for (PreparedProgram& program : job.programs) {
      if (job.hosts.empty()) {  // else it is put before their host
        put_under_debugger(job, program);
      }
    }
  }
  return run_job(job, words);
}

}  // namespace

}  // namespace meantime::launch

int main(int count, char** words) {
  return meantime::launch::start(count, words);
}
