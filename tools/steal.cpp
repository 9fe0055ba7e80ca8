// meantime steal: guests beside a program of another MPI. It says what the shim is to do in the
// environment, and becomes the launcher.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "launch/guests/guest_plan.h"
#include "launch/start/cpus.h"
#include "launch/start/installation.h"
#include "launch/start/program.h"
#include "settings/shown.h"
#include "settings/sources.h"
#include "shim/steal_words.h"
#include "subcommands.h"

namespace meantime::tools {
namespace {

int refuse(const std::string& line, int status) {
  fmt::print(stderr, "meantime steal: {}\n", settings::shown_lines(line));
  return status;
}

void add_to(const char* name, const std::string& value, char between) {
  const char* const had = std::getenv(name);
  setenv(name, had == nullptr || *had == '\0' ? value.c_str() : (had + (between + value)).c_str(),
         1);
}

struct Variable {
  const char* name;
  std::string value;
};

std::string words_of_keeper(guest::Plan& plan) {
  plan.detached = true;
  std::vector<std::string> keeper = plan.words();
  keeper.front() = launch::guest_keeper();
  std::string text;
  for (const std::string& word : keeper) {
    text += word + shim::word_end;
  }
  return text;
}

}  // namespace

int steal(const std::string& guest, const std::vector<std::string>& command,
          const std::string& mode, const std::string& overhead, bool all, bool verbose) {
  settings::Files files;
  files.read(launch::prefix(), settings::own_environment());
  const std::optional<std::string> typed = guest.empty() ? std::nullopt : std::optional(guest);
  const auto value = [&](std::string_view name) {
    return files
        .value(*settings::find(name), settings::own_environment(),
               name == "MEANTIME_GUEST" ? typed : std::nullopt)
        .text;
  };
  const auto in_ns = [&value](std::string_view name) {
    const settings::Setting& setting = *settings::find(name);
    const std::string said = value(name);
    return std::to_string(
        1000 * settings::number(setting, said.empty() ? setting.preset : said).value_or(0));
  };
  const launch::CpuBudget cpus = launch::cpu_budget();
  std::optional<guest::Plan> plan;
  std::string function;
  if (const std::string problem = launch::plan_guests(value, cpus, cpus.mask, {}, plan, function);
      !problem.empty()) {
    return refuse(problem, 1);
  }
  const std::string most = overhead.empty()
                               ? value("MEANTIME_GUEST_OVERHEAD")
                               : overhead.substr(0, overhead.find_last_not_of('%') + 1);
  if (std::string wrong = settings::problem(*settings::find("MEANTIME_GUEST_OVERHEAD"), most);
      !most.empty() && !wrong.empty()) {
    return refuse(fmt::format("--max-overhead: {}", wrong), 2);
  }
  if (command.empty()) {
    return refuse("which command? meantime steal --guest aes -- mpirun -n 4 ./program", 2);
  }
  const launch::ResolvedProgram launcher = launch::find_program(command.front());
  if (launcher.path.empty()) {
    return refuse(launcher.error, launcher.status);
  }
  const std::string shim = launch::prefix() + "/libexec/meantime/libmeantime-steal.so";
  if (access(shim.c_str(), R_OK) != 0) {
    return refuse(fmt::format("this installation has no {}", settings::shown_path(shim)), 1);
  }
  if (plan || !function.empty()) {
    std::vector<Variable> variables;
    if (plan) {
      variables.push_back({shim::keeper_variable, words_of_keeper(*plan)});
    } else {
      variables.push_back({shim::function_variable, function});
      variables.push_back({shim::slice_variable, in_ns("MEANTIME_GUEST_SLICE")});
    }
    if (mode == "ade") {
      variables.push_back(
          {shim::ade_variable, in_ns("MEANTIME_ADE_STEP") + ' ' + in_ns("MEANTIME_ADE_THRESHOLD")});
    }
    variables.push_back({shim::mode_variable, mode});
    if (!most.empty() && most != "none") {
      variables.push_back({shim::most_variable, most});
    }
    if (all) {
      variables.push_back({shim::steal_all_variable, "1"});
    }
    std::string names = "LD_PRELOAD";
    for (const auto& [name, text] : variables) {
      setenv(name, text.c_str(), 1);
      names += std::string(";") + name;
    }
    add_to("LD_PRELOAD", shim, ':');  // behind a tool of the user's, which calls what comes next
    // Open MPI's launcher gives its own variables to ranks elsewhere, and those named here; but not
    // where the user names some on the command line.
    if (std::find(command.begin(), command.end(), "-x") == command.end()) {
      add_to("OMPI_MCA_mca_base_env_list", names, ';');
    }
    if (verbose) {
      fmt::print(stderr, "meantime steal: {}, LD_PRELOAD={}\n",
                 plan ? fmt::format("{} guests", plan->cpus.size())
                      : fmt::format("the function of {}", settings::shown_path(function)),
                 settings::shown_path(shim));
    }
  }
  std::vector<char*> words;
  for (const std::string& word : command) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  execv(launcher.path.c_str(), words.data());
  return refuse(
      fmt::format("cannot run '{}': {}", settings::shown_path(launcher.path), std::strerror(errno)),
      126);
}

}  // namespace meantime::tools
