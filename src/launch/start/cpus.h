// Which CPUs this job may use and how ranks are laid on them. Reads the affinity mask, the control
// group's quota and /sys; binds nothing itself.
#pragma once

#include <sched.h>

#include <string>
#include <vector>

#include "launch/cli/command_line.h"

namespace meantime::launch {

struct CpuBudget {
  int mask = 1;      ///< CPUs of the affinity mask
  double quota = 0;  ///< CPUs' worth of time that the control groups allow; 0: no limit
  int workers = 1;   ///< min(mask, quota rounded up), at least 1; less where a list has fewer
};

CpuBudget cpu_budget();

/// The CPUs that ranks are bound to, in turn: rank r gets bindings[r % bindings.size()]. Empty if
/// they are not bound. Of cores and the like there are never more than `workers`; ranks that get
/// several get neighbours, and so bindings may have CPUs in common. One line why not: a list may
/// name CPUs that this process may not use.
std::string find_bindings(const CommandLine& command, int workers,
                          std::vector<cpu_set_t>& bindings);

/// Some CPU is for more than one rank.
bool ranks_share(const std::vector<cpu_set_t>& bindings, int ranks);

/// How many CPUs the bindings of so many ranks have together.
int cpus_together(const std::vector<cpu_set_t>& bindings, int ranks);

/// "0-3,7"
std::string cpu_list(const cpu_set_t& cpus);

}  // namespace meantime::launch
