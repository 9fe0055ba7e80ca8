// For how long CPUs have worked, for whatever program.
#pragma once

#include <sched.h>

#include <optional>
#include <string>

namespace meantime::machine {

/// In seconds since the machine started, of these CPUs together, in the kernel's ticks (10 ms) or
/// finer; what a hypervisor gave to other machines (steal) is in it. None if /proc/stat does not
/// tell. `root`: in front of the path, for tests.
std::optional<double> busy_seconds(const cpu_set_t& cpus, const std::string& root = {});

}  // namespace meantime::machine
