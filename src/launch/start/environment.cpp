#include "launch/start/environment.h"

#include <unistd.h>

#include <algorithm>

#include "launch/messages.h"
#include "launch/start/openmp_teams.h"
#include "protocol/control.h"

namespace meantime::launch {

namespace {

constexpr char unbuffered_variable[] = "GFORTRAN_UNBUFFERED_PRECONNECTED";
/// Of UCX: which ways it may take, and over which devices.
constexpr char transports_variable[] = "UCX_TLS";
constexpr char devices_variable[] = "UCX_NET_DEVICES";
constexpr char send_buffer_variable[] = "UCX_TCP_SNDBUF";
/// On the loopback what is sent is copied in, and out again, by CPUs: so much stays in their caches
/// in between. (16 MiB: 4.2 GB/s as the kernel chooses it, 4.7 with 208 KiB, 5.3 with 512, 4.3 with
/// 1 MiB. A real network may need more under way.)
constexpr char loopback_send_buffer[] = "512k";

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

void set(std::vector<std::string>& variables, std::string_view name, std::string_view value) {
  std::string line = fmt::format("{}={}", name, value);
  auto place = std::find_if(variables.begin(), variables.end(),
                            [&](const std::string& have) { return name_of(have) == name; });
  if (place == variables.end()) {
    variables.push_back(std::move(line));
  } else {
    *place = std::move(line);
  }
}

void drop(std::vector<std::string>& variables, std::string_view name) {
  std::erase_if(variables, [&](const std::string& have) { return name_of(have) == name; });
}

std::vector<std::string> user_environment(const CommandLine& command,
                                          const ProgramRequest& program) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    std::string name(name_of(*variable));
    if (name == initial_errhandler_variable || name == memory_kinds_variable) {
      continue;  // of the job that this one is inside of
    }
    const auto& list = command.environment_list;
    if (command.environment_base == EnvironmentBase::all ||
        (command.environment_base == EnvironmentBase::listed &&
         std::find(list.begin(), list.end(), name) != list.end())) {
      variables.emplace_back(*variable);
    }
  }
  for (const auto* edits : {&command.environment, &program.environment}) {
    for (const EnvironmentEdit& edit : *edits) {
      if (edit.value) {
        set(variables, edit.name, *edit.value);
      } else {
        drop(variables, edit.name);
      }
    }
  }
  return variables;
}

/// What an option of mpiexec (-env, -x) has put into the environment.
std::optional<std::string> edited(const std::vector<EnvironmentEdit>& edits,
                                  std::string_view name) {
  const auto last = std::find_if(edits.rbegin(), edits.rend(),
                                 [&](const EnvironmentEdit& edit) { return edit.name == name; });
  return last != edits.rend() && last->value && !last->value->empty() ? last->value : std::nullopt;
}

}  // namespace

std::string user_value(const CommandLine& command, const ProgramRequest& program,
                       const std::string& name) {
  for (const std::string& variable : user_environment(command, program)) {
    if (name_of(variable) == name) {
      return variable.substr(name.size() + 1);
    }
  }
  return {};
}

std::vector<std::string> user_names(const CommandLine& command, const ProgramRequest& program) {
  std::vector<std::string> names;
  for (const std::string& variable : user_environment(command, program)) {
    names.emplace_back(name_of(variable));
  }
  return names;
}

std::optional<std::string> option_value(const CommandLine& command, const ProgramRequest& program,
                                        std::string_view setting) {
  if (setting == deadlock_variable && command.on_deadlock_given) {
    return deadlock_action_name(command.on_deadlock);
  }
  if (std::optional<std::string> own = edited(program.environment, setting)) {
    return own;
  }
  if (setting == "MEANTIME_WAIT" && program.wait) {
    return program.wait;
  }
  return edited(command.environment, setting);
}

std::string Job::setting(std::string_view name) const {
  return setting(name, command.programs.front());
}

std::string Job::setting(std::string_view name, const ProgramRequest& program) const {
  return value(name, program).text;
}

bool Job::asked_for(std::string_view name) const {
  return std::any_of(command.programs.begin(), command.programs.end(),
                     [&](const ProgramRequest& program) {
                       const settings::Value said = value(name, program);
                       return !said.text.empty() && said.source >= settings::Source::environment;
                     });
}

settings::Value Job::value(std::string_view name, const ProgramRequest& program) const {
  const settings::Environment environment =
      [&](std::string_view variable) -> std::optional<std::string> {
    std::string value = user_value(command, program, std::string(variable));
    return value.empty() ? std::nullopt : std::optional(value);
  };
  return settings.value(*settings::find(name), environment, option_value(command, program, name));
}

RankEnvironment::RankEnvironment(const Job& job, const PreparedProgram& program,
                                 RankDescriptors descriptors)
    : variables_(user_environment(job.command, program.request)) {
  // A job inside a job of another launcher is ours alone: nothing of theirs may mislead a rank.
  std::erase_if(variables_, [](const std::string& variable) {
    return variable.starts_with("PMI_") || variable.starts_with("PMIX_") ||
           variable.starts_with("OMPI_COMM_WORLD_");
  });
  set(variables_, size_variable, fmt::to_string(job.ranks.size()));
  set(variables_, program_variable, fmt::to_string(&program - job.programs.data()));
  set(variables_, segment_variable, fmt::to_string(descriptors.segment));
  set(variables_, control_variable, fmt::to_string(descriptors.control));
  set(variables_, lifeline_variable, fmt::to_string(descriptors.lifeline));
  if (job.has_board()) {
    set(variables_, board_variable, fmt::to_string(descriptors.board));
  } else {
    drop(variables_, board_variable);
  }
  if (job.nodes > 1) {
    if (user_value(job.command, program.request, transports_variable).empty()) {
      set(variables_, transports_variable,
          "tcp,self");  // what nodes of one machine share is no network
    }
    if (job.networks.empty() &&
        user_value(job.command, program.request, devices_variable).empty()) {
      set(variables_, devices_variable, "lo");  // whom nobody from elsewhere reaches
      if (user_value(job.command, program.request, send_buffer_variable).empty()) {
        set(variables_, send_buffer_variable, loopback_send_buffer);
      }
    }
  }
  set(variables_, workers_variable, fmt::to_string(job.cpus.workers));
  if (job.frequencies.prepared()) {
    set(variables_, frequency_variable, "1");
  } else {
    drop(variables_, frequency_variable);
  }
  if (job.of_tasks && job.command.reports()) {
    set(variables_, stay_variable, "1");
  } else {
    drop(variables_, stay_variable);
  }
  if (job.wake_up.ns != 0) {
    set(variables_, wake_up_variable, fmt::to_string(job.wake_up.ns));
  } else {
    drop(variables_, wake_up_variable);
  }
  if (job.guests) {
    set(variables_, guests_variable, "1");
  } else {
    drop(variables_, guests_variable);
  }
  if (job.guest_bound) {
    set(variables_, count_calls_variable, "1");
  } else {
    drop(variables_, count_calls_variable);
  }
  if (!job.guest_function.empty()) {
    set(variables_, guest_function_variable, job.guest_function);
  } else {
    drop(variables_, guest_function_variable);
  }
  if (job.crowded_teams && !says_how_teams_wait(job, program.request)) {
    set(variables_, wait_policy_variable, "passive");
  }
  // Else what a Fortran program prints into a file is lost when the job is ended: its library keeps
  // it, and we know nothing of that. (libgfortran's; a record is one write then.)
  if (user_value(job.command, program.request, unbuffered_variable).empty()) {
    set(variables_, unbuffered_variable, "1");
  }
  set(variables_, deadlock_variable, deadlock_action_name(job.command.on_deadlock));
  // A child that loads MPICH or one of its relatives after all greets its launcher here, and so
  // tells on itself instead of running as so many jobs of one rank (see supervisor_messages.cpp).
  set(variables_, "PMI_FD", fmt::to_string(descriptors.control));
  const bool finds_ours = program.inspection.finds_ours && !program.as_threads;
  if (!finds_ours && !job.library_folder.empty()) {
    std::string path = user_value(job.command, program.request, "LD_LIBRARY_PATH");
    set(variables_, "LD_LIBRARY_PATH", job.library_folder + (path.empty() ? "" : ":" + path));
  }
  set(variables_, local_size_variable, fmt::to_string(job.ranks_here()));
  drop(variables_, rank_variable);
  drop(variables_, rank_pid_variable);
  drop(variables_, local_rank_variable);
  apply_settings(job, program.request);
}

// Ranks look at no files: whatever holds for them stands in their environment.
void RankEnvironment::apply_settings(const Job& job, const ProgramRequest& program) {
  const settings::Environment own = [this](std::string_view name) -> std::optional<std::string> {
    for (const std::string& variable : variables_) {
      if (name_of(variable) == name) {
        return variable.substr(name.size() + 1);
      }
    }
    return std::nullopt;
  };
  for (const settings::Setting& setting : settings::all()) {
    const settings::Value value =
        job.settings.value(setting, own, option_value(job.command, program, setting.name));
    if (value.locked) {
      drop(variables_, setting.name);  // it may be locked to what nobody sets
    }
    if (!value.text.empty() && value.source != settings::Source::environment) {
      set(variables_, setting.name, value.text);
    }
  }
  if (const std::string locks = job.settings.locks(); locks.empty()) {
    drop(variables_, locked_variable);
  } else {
    set(variables_, locked_variable, locks);
  }
}

std::string RankEnvironment::of_task(int rank, int rank_on_node) const {
  std::string text = fmt::format("{}={}", rank_variable, rank);
  text += '\0';
  text += fmt::format("{}={}", local_rank_variable, rank_on_node);
  text += '\0';
  for (const std::string& variable : variables_) {
    if (variable.starts_with("MEANTIME_") || name_of(variable) == local_size_variable) {
      text.append(variable) += '\0';
    }
  }
  return text;
}

std::vector<char*> RankEnvironment::of_host() const {
  std::vector<char*> pointers;
  for (const std::string& variable : variables_) {
    pointers.push_back(const_cast<char*>(variable.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<char*> RankEnvironment::of_rank(int rank, int rank_on_node,
                                            std::vector<std::string>& texts) const {
  std::vector<char*> pointers;
  pointers.reserve(variables_.size() + 4);
  for (const std::string& variable : variables_) {
    pointers.push_back(const_cast<char*>(variable.c_str()));
  }
  texts = {fmt::format("{}={}", rank_variable, rank),
           fmt::format("{}={}", local_rank_variable, rank_on_node),
           fmt::format("{}={:010}", rank_pid_variable, 0)};
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace meantime::launch
