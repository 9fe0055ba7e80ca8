#include "launch/guests/guest_plan.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "elf/elf_file.h"
#include "launch/cli/notes.h"
#include "launch/start/installation.h"
#include "launch/start/program.h"
#include "machine/memory.h"
#include "settings/loaded_library.h"
#include "settings/shown.h"
#include "settings/way_to_file.h"

namespace meantime::launch {
namespace {

using settings::shown;

constexpr std::string_view func = "func:";
constexpr std::string_view queue = "queue:";

/// Inside "...": before others a backslash is itself.
bool is_quoted_by_backslash(char letter) {
  return letter == '"' || letter == '\\' || letter == '$' || letter == '`' || letter == '\n';
}

/// As a shell would, without its expansions: words between blanks, '...', "..." and \.
std::optional<std::vector<std::string>> split(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (quote == 0 && (letter == ' ' || letter == '\t' || letter == '\n')) {
      inside = false;
      continue;
    }
    if (!inside) {
      words.emplace_back();
      inside = true;
    }
    if (letter == quote) {
      quote = 0;
    } else if (quote == 0 && (letter == '\'' || letter == '"')) {
      quote = letter;
    } else if (letter == '\\' && i + 1 < text.size() &&
               (quote == 0 || (quote == '"' && is_quoted_by_backslash(text[i + 1])))) {
      words.back() += text[++i];
    } else {
      words.back() += letter;
    }
  }
  return quote == 0 ? std::optional(words) : std::nullopt;
}

std::string ready_guest(std::string_view name) {
  return fmt::format("{}/libexec/meantime/guests/{}", prefix(), name);
}

/// The command that runs a queue's; or one line why not. Whoever may write into its folder says
/// what is run.
std::string queue_of(const std::string& text, std::vector<std::string>& command) {
  const std::string path = text.substr(queue.size());
  char real[PATH_MAX];
  struct stat status {};
  if (realpath(path.c_str(), real) == nullptr || stat(real, &status) != 0) {
    return fmt::format("--guest {}: {}", shown(text), std::strerror(errno));
  }
  std::string refusal =
      !S_ISDIR(status.st_mode) ? "it is no folder"
      : (status.st_uid != geteuid()) || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0
          ? "others may write into it"
          : settings::way_problem(real, status);
  if (!refusal.empty()) {
    return fmt::format("--guest {}: {}", shown(text), refusal);
  }
  command = {prefix() + "/libexec/meantime/meantime-queue", "meantime-queue", real};
  return {};
}

/// The command of a guest, its program resolved; or one line why not.
std::string command_of(const std::string& text, std::vector<std::string>& command) {
  constexpr std::string_view proc = "proc:";
  std::string_view name = text;
  if (name.starts_with(queue)) {
    return queue_of(text, command);
  }
  if (!name.starts_with(proc)) {
    const std::string path = ready_guest(name);
    if (name.empty() || name.find('/') != std::string_view::npos || name.starts_with('.') ||
        access(path.c_str(), X_OK) != 0) {
      return fmt::format(
          "--guest takes proc:COMMAND, func:LIBRARY, queue:FOLDER, or a ready guest's name, not "
          "'{}'",
          shown(text));
    }
    command = {path, std::string(name)};
    return {};
  }
  name.remove_prefix(proc.size());
  const std::optional<std::vector<std::string>> words = split(name);
  if (!words || words->empty()) {
    return fmt::format("--guest {}: {}", shown(text), words ? "no command" : "a quote is missing");
  }
  const ResolvedProgram found = find_program(words->front());
  if (found.path.empty()) {
    return fmt::format("--guest: {}", found.error);
  }
  command = {found.path};
  command.insert(command.end(), words->begin(), words->end());
  return {};
}

std::string refusal_of_contents(const char* path) {
  ElfFile file;
  if (!file.open(path)) {
    return "it is no library for this machine";
  }
  for (const char* of_mpi : {"MPI", "PMPI"}) {
    if (const std::vector<std::string> calls = file.imports(of_mpi); !calls.empty()) {
      return fmt::format("it calls MPI ({}), in whose waits it is to run", shown(calls.front()));
    }
  }
  bool is_one = false;
  file.for_each_definition(
      [&is_one](const char* name) { is_one = is_one || std::strcmp(name, "do_extrawork") == 0; });
  return is_one ? "" : "it has no function do_extrawork (in C++: extern \"C\")";
}

/// Its absolute path; or one line why it cannot be one.
std::string function_of(const std::string& text, const CpuBudget& cpus, int runners,
                        std::string& function) {
  std::string path = text.substr(func.size());
  if (path.find('/') == std::string::npos && access(path.c_str(), F_OK) != 0) {
    const std::string ready = ready_guest(path + ".so");
    path = access(ready.c_str(), F_OK) == 0 ? ready : path;
  }
  char real[PATH_MAX];
  std::string refusal =
      realpath(path.c_str(), real) == nullptr ? std::strerror(errno) : std::string();
  int descriptor = -1;
  if (refusal.empty()) {
    refusal = settings::library_refusal(real, &descriptor);
  }
  if (descriptor >= 0) {
    close(descriptor);
    refusal = refusal_of_contents(real);
  }
  if (!refusal.empty()) {
    return fmt::format("--guest {}: {}", shown(text), refusal);
  }
  if (runners > cpus.workers) {
    return fmt::format(
        "--guest func:... runs in the waits of ranks that have a CPU each; here {} share {}: take "
        "proc:COMMAND, or --as threads",
        runners, cpus.workers);
  }
  function = real;
  return {};
}

/// Where each guest runs. Bound ranks have one beside each of their places. Others have as many as
/// there are ranks, but no more than CPUs: one on each, or all on any.
std::vector<std::vector<int>> cpus_of_guests(const CpuBudget& cpus, int ranks,
                                             std::vector<cpu_set_t> places, std::size_t most) {
  places.resize(std::min(places.size(), static_cast<std::size_t>(ranks)));
  if (places.empty()) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    sched_getaffinity(0, sizeof mask, &mask);
    const auto guests = static_cast<std::size_t>(std::min(cpus.mask, ranks));
    if (guests == static_cast<std::size_t>(cpus.mask) && guests <= most) {
      for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &mask)) {
          cpu_set_t& place = places.emplace_back();
          CPU_ZERO(&place);
          CPU_SET(cpu, &place);
        }
      }
    } else {
      places.assign(guests, mask);
    }
  }
  places.resize(std::min(places.size(), most));
  std::vector<std::vector<int>> lists;
  for (const cpu_set_t& place : places) {
    std::vector<int>& list = lists.emplace_back();
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &place)) {
        list.push_back(cpu);
      }
    }
  }
  return lists;
}

/// An absolute path of a folder that can be written to, made if it is not there; or one line why
/// not.
std::string log_folder(const std::string& said, std::string& folder) {
  if (said.empty() || said == "none") {
    return {};
  }
  char path[PATH_MAX];
  struct stat status {};
  if ((mkdir(said.c_str(), 0777) != 0 && errno != EEXIST) ||
      realpath(said.c_str(), path) == nullptr || stat(path, &status) != 0 ||
      (errno = ENOTDIR, !S_ISDIR(status.st_mode)) || access(path, W_OK | X_OK) != 0) {
    return fmt::format("MEANTIME_GUEST_LOG: cannot write to '{}': {}", settings::shown_path(said),
                       std::strerror(errno));
  }
  folder = path;
  return {};
}

}  // namespace

std::string plan_guests(Job& job) {
  std::string problem =
      plan_guests([&job](std::string_view name) { return job.setting(name); }, job.cpus,
                  job.runners(), job.bindings, job.guests, job.guest_function);
  const std::optional<std::uint64_t> percent = settings::number(
      *settings::find("MEANTIME_GUEST_OVERHEAD"), job.setting("MEANTIME_GUEST_OVERHEAD"));
  if (job.guests || !job.guest_function.empty()) {
    if (percent) {
      job.guest_bound = static_cast<double>(*percent) / 100;
    }
  } else if (problem.empty()) {
    for (const char* const name : {"MEANTIME_GUEST_OVERHEAD", "MEANTIME_GUEST_FREEZE"}) {
      if (job.asked_for(name)) {
        const settings::Value said = job.value(name, job.command.programs.front());
        note(job, fmt::format("{} has no effect: there are no guests (--guest)", name),
             said.source == settings::Source::launcher);
      }
    }
  }
  return problem;
}

std::string plan_guests(const std::function<std::string(std::string_view)>& value,
                        const CpuBudget& cpus, int ranks, const std::vector<cpu_set_t>& places,
                        std::optional<guest::Plan>& guests, std::string& function) {
  const std::string text = value("MEANTIME_GUEST");
  if (text.empty() || text == "none") {
    return {};
  }
  if (text.starts_with(func)) {
    return function_of(text, cpus, ranks, function);
  }
  const auto number = [&value](std::string_view name, std::uint64_t otherwise = 0) {
    const settings::Setting& setting = *settings::find(name);
    const std::string said = value(name);
    return settings::number(setting, said.empty() ? setting.preset : said).value_or(otherwise);
  };
  guest::Plan plan;
  if (std::string problem = command_of(text, plan.command); !problem.empty()) {
    return problem;
  }
  if (cpus.quota > 0 && cpus.quota < cpus.mask) {
    return fmt::format(
        "--guest: the job may use {:.1f} CPUs' time of {} CPUs (its control group's quota), and "
        "guests would use it up",
        cpus.quota, cpus.mask);
  }
  plan.cpus = cpus_of_guests(cpus, ranks, places, number("MEANTIME_GUEST_NUMBER", CPU_SETSIZE));
  plan.freeze = value("MEANTIME_GUEST_FREEZE") == "1";
  if (text.starts_with(queue) || plan.freeze) {
    // None holds a command on a CPU that a rank keeps busy, or is the one that may run there.
    std::vector<int> all;
    for (const std::vector<int>& cpus_of_one : plan.cpus) {
      all.insert(all.end(), cpus_of_one.begin(), cpus_of_one.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    plan.cpus.assign(plan.cpus.size(), all);
  }
  plan.memory_bytes =
      number("MEANTIME_GUEST_MEMORY", machine::usable_memory() / 4 / plan.cpus.size());
  plan.processes = number("MEANTIME_GUEST_PROCESSES");
  plan.file_bytes = number("MEANTIME_GUEST_FILE");
  plan.grace_seconds = 1e-6 * static_cast<double>(number("MEANTIME_GUEST_GRACE"));
  plan.again = value("MEANTIME_GUEST_AGAIN") == "1";
  if (std::string problem = log_folder(value("MEANTIME_GUEST_LOG"), plan.log_folder);
      !problem.empty()) {
    return problem;
  }
  if (guest_keeper().empty()) {
    return "--guest: this installation has no libexec/meantime/meantime-guests";
  }
  guests = std::move(plan);
  return {};
}

}  // namespace meantime::launch
