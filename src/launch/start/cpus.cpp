#include "launch/start/cpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "machine/memory.h"
#include "machine/small_file.h"

namespace meantime::launch {

using machine::first_line;

namespace {

double smaller_limit(double left, double right) {
  return left == 0 || right == 0 ? std::max(left, right) : std::min(left, right);
}

double quota_of_v2(const std::string& folder) {
  std::istringstream line(first_line(folder + "/cpu.max"));
  std::string quota;
  double period = 0;
  line >> quota >> period;
  return quota.empty() || quota == "max" || period <= 0 ? 0 : std::atof(quota.c_str()) / period;
}

double quota_of_v1(const std::string& folder) {
  double quota = std::atof(first_line(folder + "/cpu.cfs_quota_us").c_str());
  double period = std::atof(first_line(folder + "/cpu.cfs_period_us").c_str());
  return quota > 0 && period > 0 ? quota / period : 0;
}

double cgroup_quota() {
  double limit = 0;
  machine::for_each_group("cpu", [&limit](const std::string& folder, bool v2) {
    limit = smaller_limit(limit, v2 ? quota_of_v2(folder) : quota_of_v1(folder));
  });
  return limit;
}

cpu_set_t affinity_mask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) {
    CPU_SET(0, &mask);  // more CPUs than a cpu_set_t holds: no layout, one worker at least
  }
  return mask;
}

int topology(int cpu, const char* what) {
  std::string text =
      first_line(fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", cpu, what));
  return text.empty() ? -1 : std::atoi(text.c_str());
}

int numa_node(int cpu) {
  for (int node = 0; node < 256; ++node) {
    std::ifstream link(fmt::format("/sys/devices/system/cpu/cpu{}/node{}/cpulist", cpu, node));
    if (link) {
      return node;
    }
  }
  return 0;
}

/// Each core (or what the binding names) once.
std::vector<cpu_set_t> single_places(Binding binding, int workers) {
  std::vector<cpu_set_t> bindings;
  // Places in the order of (package, node, core, CPU), each with the CPUs of the mask in it.
  std::map<std::tuple<int, int, int, int>, cpu_set_t> groups;
  cpu_set_t mask = affinity_mask();
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) {
      continue;
    }
    int package = topology(cpu, "physical_package_id");
    int node = binding == Binding::socket ? 0 : numa_node(cpu);
    int core = topology(cpu, "core_id");
    std::tuple<int, int, int, int> key;
    switch (binding) {
      case Binding::hwthread:
        key = {package, node, core, cpu};
        break;
      case Binding::core:
        key = {package, node, core < 0 ? cpu : core, 0};
        break;
      case Binding::numa:
        key = {0, node, 0, 0};
        break;
      default:
        key = {package, 0, 0, 0};
    }
    auto [place, is_new] = groups.try_emplace(key);
    if (is_new) {
      CPU_ZERO(&place->second);
    }
    CPU_SET(cpu, &place->second);
  }
  for (const auto& [key, cpus] : groups) {
    bindings.push_back(cpus);
  }
  if (bindings.size() > static_cast<std::size_t>(workers)) {
    bindings.resize(static_cast<std::size_t>(workers));
  }
  return bindings;
}

/// As the user's list has it; one line why not.
std::string listed_bindings(const std::vector<std::vector<int>>& list,
                            std::vector<cpu_set_t>& bindings) {
  const cpu_set_t mask = affinity_mask();
  for (const std::vector<int>& cpus : list) {
    cpu_set_t& binding = bindings.emplace_back();
    CPU_ZERO(&binding);
    for (const int cpu : cpus) {
      if (!CPU_ISSET(cpu, &mask)) {
        return fmt::format("--bind user: CPU {} is not one of those that this job may use: {}", cpu,
                           cpu_list(mask));
      }
      CPU_SET(cpu, &binding);
    }
  }
  return {};
}

}  // namespace

CpuBudget cpu_budget() {
  CpuBudget budget;
  cpu_set_t mask = affinity_mask();
  budget.mask = std::max(1, CPU_COUNT(&mask));
  budget.quota = cgroup_quota();
  budget.workers = budget.mask;
  if (budget.quota > 0) {
    budget.workers = std::clamp(static_cast<int>(std::ceil(budget.quota)), 1, budget.mask);
  }
  return budget;
}

std::string find_bindings(const CommandLine& command, int workers,
                          std::vector<cpu_set_t>& bindings) {
  bindings.clear();
  if (command.binding == Binding::none) {
    return {};
  }
  if (command.binding == Binding::user) {
    return listed_bindings(command.binding_list, bindings);
  }
  const std::vector<cpu_set_t> singles = single_places(command.binding, workers);
  const std::size_t each = static_cast<std::size_t>(std::max(1, command.places_per_rank));
  for (std::size_t rank = 0; rank < singles.size(); ++rank) {  // then it begins again
    cpu_set_t& binding = bindings.emplace_back();
    CPU_ZERO(&binding);
    for (std::size_t i = 0; i < std::min(each, singles.size()); ++i) {
      CPU_OR(&binding, &binding, &singles[(rank * each + i) % singles.size()]);
    }
  }
  return {};
}

bool ranks_share(const std::vector<cpu_set_t>& bindings, int ranks) {
  cpu_set_t taken;
  CPU_ZERO(&taken);
  for (int rank = 0; rank < ranks; ++rank) {
    const cpu_set_t& binding = bindings[static_cast<std::size_t>(rank) % bindings.size()];
    cpu_set_t both;
    CPU_AND(&both, &taken, &binding);
    if (CPU_COUNT(&both) > 0) {
      return true;
    }
    CPU_OR(&taken, &taken, &binding);
  }
  return false;
}

int cpus_together(const std::vector<cpu_set_t>& bindings, int ranks) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (std::size_t i = 0; i < std::min(bindings.size(), static_cast<std::size_t>(ranks)); ++i) {
    CPU_OR(&all, &all, &bindings[i]);
  }
  return CPU_COUNT(&all);
}

std::string cpu_list(const cpu_set_t& cpus) {
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &cpus)) {
      continue;
    }
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cpus)) {
      ++last;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpu);
    text += last > cpu ? fmt::format("-{}", last) : "";
    cpu = last;
  }
  return text;
}

}  // namespace meantime::launch
