// Which CPUs this job may use and how ranks are laid on them. Reads the affinity mask, the control
// group's quota and /sys; binds nothing itself.
#pragma once

#include <sched.h>

#include <string>
#include <vector>

#include "launch/command_line.h"

namespace meantime::launch {

struct CpuBudget {
  int mask = 1;      ///< CPUs of the affinity mask
  double quota = 0;  ///< CPUs' worth of time that the control groups allow; 0: no limit
  int workers = 1;   ///< min(mask, quota rounded up), at least 1
};

CpuBudget cpu_budget();

/// The places that ranks are bound to, in turn: rank r gets places[r % places.size()]. Empty for
/// Binding::none. Never more places than `workers`.
std::vector<cpu_set_t> binding_places(Binding binding, int workers);

/// "0-3,7"
std::string cpu_list(const cpu_set_t& cpus);

}  // namespace meantime::launch
