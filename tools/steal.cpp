// meantime steal: guests beside a program of another MPI. It says what the shim is to do in the
// environment, and becomes the launcher.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "elf/elf_file.h"
#include "launch/guests/guest_plan.h"
#include "launch/start/cpus.h"
#include "launch/start/installation.h"
#include "launch/start/program.h"
#include "settings/misspelt.h"
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

/// The MPI program in a launcher's command line, as far as one can tell: the first word behind the
/// launcher that names a program in machine code.
std::string program_in(const std::vector<std::string>& command) {
  for (std::size_t word = 1; word < command.size(); ++word) {
    if (!command[word].empty() && command[word][0] != '-') {
      std::string path = launch::find_program(command[word]).path;
      if (!path.empty() && launch::ElfFile().open(path)) {
        return path;
      }
    }
  }
  return {};
}

/// Empty, or why the shim is of no use to it. `mpi`: the library that it names itself; empty if
/// that is another library's affair, an interpreter's module say.
std::string look_at(const std::string& program, std::string& mpi) {
  launch::ElfFile file;
  if (program.empty() || !file.open(program)) {
    return {};
  }
  if (file.without_interpreter()) {
    return fmt::format("'{}' is static: nothing can be put in front of its MPI",
                       settings::shown_path(program));
  }
  for (const std::string& library : file.needed()) {
    if (library.starts_with("libmpi.") || library.starts_with("libmpich.") ||
        library.starts_with("libmpi_abi.")) {
      mpi = library;
    }
  }
  return {};
}

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

/// What the shim is told, and how it is loaded.
struct Variable {
  const char* name;
  std::string value;
};

/// Behind what is there.
Variable added_to(const char* name, const std::string& value, char between) {
  const char* const had = std::getenv(name);
  return {name, had == nullptr || *had == '\0' ? value : had + (between + value)};
}

class Stealing {
 public:
  explicit Stealing(const StealOptions& options) : options_(options) {
    files_.read(launch::prefix(), settings::own_environment());
  }

  /// Empty, or one line why not.
  std::string plan() {
    if (std::string problem = settings::first_problem(files_, settings::own_environment());
        !problem.empty()) {
      return problem;
    }
    const settings::Setting& bound = *settings::find("MEANTIME_GUEST_OVERHEAD");
    if (options_.overhead) {
      overhead_ = options_.overhead->substr(0, options_.overhead->find_last_not_of('%') + 1);
      if (std::string wrong = settings::problem(bound, *overhead_); !wrong.empty()) {
        return fmt::format("--max-overhead: {}", wrong);
      }
    }
    // How many ranks there will be is the launcher's affair, and a function's when it is loaded.
    const launch::CpuBudget cpus = launch::cpu_budget();
    if (std::string problem =
            launch::plan_guests([this](std::string_view name) { return value(name); }, cpus,
                                cpus.workers, {}, plan_, function_);
        !problem.empty()) {
      return problem;
    }
    if (plan_ && plan_->freeze) {
      return "MEANTIME_GUEST_FREEZE is for Meantime's mpiexec, which sees whether ranks wait";
    }
    return access(shim_.c_str(), R_OK) == 0
               ? ""
               : fmt::format("this installation has no {}", settings::shown_path(shim_));
  }

  [[nodiscard]] bool has_guests() const { return plan_ || !function_.empty(); }

  [[nodiscard]] std::vector<Variable> variables() {
    std::vector<Variable> told;
    if (plan_) {
      told.push_back({shim::keeper_variable, words_of_keeper(*plan_)});
    } else {
      told.push_back({shim::function_variable, function_});
      told.push_back({shim::slice_variable, in_ns("MEANTIME_GUEST_SLICE")});
    }
    told.push_back({shim::mode_variable, options_.mode});
    if (options_.mode == "ade") {
      told.push_back(
          {shim::ade_variable, in_ns("MEANTIME_ADE_STEP") + ' ' + in_ns("MEANTIME_ADE_THRESHOLD")});
    }
    if (const std::string most = value("MEANTIME_GUEST_OVERHEAD");
        !most.empty() && most != "none") {
      told.push_back({shim::most_variable, most});
    }
    if (options_.all) {
      told.push_back({shim::steal_all_variable, "1"});
    }
    std::string names = "LD_PRELOAD";
    for (const Variable& variable : told) {
      names += std::string(";") + variable.name;
    }
    // Behind a tool of the user's, which calls what comes next.
    told.push_back(added_to("LD_PRELOAD", shim_, ':'));
    // Open MPI's launcher gives its own variables to ranks elsewhere, and those named here; but not
    // where the user names some on the command line.
    if (!options_.print && std::find(options_.command.begin(), options_.command.end(), "-x") ==
                               options_.command.end()) {
      told.push_back(added_to("OMPI_MCA_mca_base_env_list", names, ';'));
    }
    return told;
  }

  [[nodiscard]] std::string summary() const {
    return fmt::format("{}, LD_PRELOAD={}",
                       plan_ ? fmt::format("{} guests", plan_->cpus.size())
                             : fmt::format("the function of {}", settings::shown_path(function_)),
                       settings::shown_path(shim_));
  }

 private:
  [[nodiscard]] std::string value(std::string_view name) const {
    const bool is_guest = name == "MEANTIME_GUEST" && !options_.guest.empty();
    return files_
        .value(*settings::find(name), settings::own_environment(),
               is_guest                            ? std::optional(options_.guest)
               : name == "MEANTIME_GUEST_OVERHEAD" ? overhead_
                                                   : std::nullopt)
        .text;
  }

  [[nodiscard]] std::string in_ns(std::string_view name) const {
    const settings::Setting& setting = *settings::find(name);
    const std::string said = value(name);
    return std::to_string(
        1000 * settings::number(setting, said.empty() ? setting.preset : said).value_or(0));
  }

  const StealOptions& options_;
  const std::string shim_ = launch::prefix() + "/libexec/meantime/libmeantime-steal.so";
  settings::Files files_;
  std::optional<guest::Plan> plan_;
  std::string function_;
  std::optional<std::string> overhead_;
};

/// For a shell.
std::string quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  }
  return quoted + "'";
}

int become(const std::vector<std::string>& command) {
  const launch::ResolvedProgram launcher = launch::find_program(command.front());
  if (launcher.path.empty()) {
    return refuse(launcher.error, launcher.status);
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

}  // namespace

int steal(const StealOptions& options) {
  Stealing stealing(options);
  if (const std::string problem = stealing.plan(); !problem.empty()) {
    return refuse(problem, 1);
  }
  if (options.command.empty() && !options.print) {
    return refuse("which command? meantime steal --guest aes -- mpirun -n 4 ./program", 2);
  }
  for (const char* const name : shim::variables) {  // of an earlier --print
    unsetenv(name);
    if (options.print) {
      fmt::print("unset {}\n", name);
    }
  }
  if (const std::string line = settings::unknown_variables(settings::own_names()); !line.empty()) {
    fmt::print(stderr, "meantime steal: {}\n", settings::shown_lines(line));
  }
  if (stealing.has_guests()) {
    const std::string program = program_in(options.command);
    std::string mpi;
    if (const std::string refusal = look_at(program, mpi); !refusal.empty()) {
      return refuse(refusal, 1);
    }
    for (const auto& [name, text] : stealing.variables()) {
      setenv(name, text.c_str(), 1);
      if (options.print) {
        fmt::print("export {}={}\n", name, quoted(text));
      }
    }
    if (options.verbose) {
      fmt::print(
          stderr, "meantime steal: {}{}; {}\n",
          program.empty() ? "no program in machine code is named" : settings::shown_path(program),
          program.empty() ? ""
          : mpi.empty()   ? " names no MPI itself"
                          : " needs " + mpi,
          stealing.summary());
    }
  }
  return options.print ? 0 : become(options.command);
}

}  // namespace meantime::tools
