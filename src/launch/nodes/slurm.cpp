#include "launch/nodes/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "launch/cli/host_list.h"

namespace meantime::launch {
namespace {

/// Numbers from here on are steps that stand for a batch script or a shell, not for tasks.
constexpr unsigned long first_special_step = 0xfffffff0;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

int number_at(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Slurm's own programs know how a list is folded ("node[1-3,7]"), and read it from the
/// environment.
std::vector<std::string> machines_of_allocation() {
  std::vector<std::string> machines;
  if (FILE* const list = popen("scontrol show hostnames", "re"); list != nullptr) {
    char line[256];
    while (std::fgets(line, sizeof line, list) != nullptr) {
      machines.emplace_back(line);
      machines.back().erase(std::min(machines.back().find('\n'), machines.back().size()));
    }
    pclose(list);
  }
  return machines;
}

}  // namespace

std::vector<int> tasks_of_nodes(std::string_view text) {
  std::vector<int> tasks;
  std::istringstream parts{std::string(text)};
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t times = part.find("(x");
    const int count =
        times == std::string::npos ? 1 : number_at(std::string_view(part).substr(times + 2));
    tasks.insert(tasks.end(), static_cast<std::size_t>(std::clamp(count, 0, most_slots)),
                 number_at(part));
  }
  return tasks;
}

std::vector<NodeRequest> nodes_of_slurm(std::string& problem) {
  const std::string step = variable("SLURM_STEP_ID");
  const bool is_task =
      !step.empty() && std::strtoul(step.c_str(), nullptr, 10) < first_special_step;
  if (variable("SLURM_JOB_NODELIST").empty() || number_at(variable("SLURM_JOB_NUM_NODES")) < 2 ||
      is_task) {
    return {};
  }
  const std::vector<std::string> machines = machines_of_allocation();
  const std::vector<int> tasks = tasks_of_nodes(variable("SLURM_TASKS_PER_NODE"));
  if (machines.empty()) {
    problem =
        "cannot ask Slurm for the machines of this allocation (scontrol show hostnames); "
        "--host localhost runs ranks on this one alone";
  }
  std::vector<NodeRequest> nodes;
  for (std::size_t node = 0; node < machines.size(); ++node) {
    nodes.push_back({machines[node], node < tasks.size() ? std::max(1, tasks[node]) : 1});
  }
  return nodes;
}

std::vector<std::string> slurm_shell(std::string_view machine) {
  // The step shares the allocation's CPUs with what else runs there, and has all of them.
  return {"srun", "--mpi=none", "--overlap", "--cpu-bind=none",
          "-N1",  "-n1",        "-w",        std::string(machine)};
}

}  // namespace meantime::launch
