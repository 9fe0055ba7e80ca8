// The hardware that a rank is kept to by its affinity mask: what MPI_Get_hw_resource_info tells and
// MPI_Comm_split_type splits by (MPI 5.0, 9.1.2 and 7.4.2). Read from the kernel's files when
// asked.
//   kind      a sort of hardware, by hwloc's name for it: "NUMANode"
//   instance  one of them, known by the lowest of its CPUs
#pragma once

#include <sched.h>

#include <string>
#include <string_view>
#include <vector>

namespace meantime::core {

/// What MPI 5.0 has before the names of kinds, which are URIs there; its examples leave it out.
inline constexpr std::string_view hardware_scheme = "hwloc://";

struct Hardware {
  const char* kind;
  bool there;    ///< the machine has it, at these CPUs
  int instance;  ///< -1: the CPUs are not all of one. Where there is none, that of the kind above
};

/// The CPUs that this rank may run on; none if there are too many to tell. Thread ranks may run on
/// all of their process: they move.
cpu_set_t allowed_cpus();

/// All kinds, always the same ones, the largest first. `root`: the folder that has /sys in it, ""
/// but for tests.
std::vector<Hardware> hardware(const cpu_set_t& cpus, const std::string& root = {});

/// The instance of this kind that the CPUs are in; -1 if there is none, or no such kind. With the
/// scheme or without.
int instance_of(std::string_view kind, const cpu_set_t& cpus, const std::string& root = {});

}  // namespace meantime::core
