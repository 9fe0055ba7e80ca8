// Starting one process as fast as the kernel can: the child shares our memory until it executes the
// program (clone with CLONE_VM | CLONE_VFORK), so nothing of mpiexec is copied. May not know what a
// job is.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <optional>
#include <vector>

namespace meantime::launch {

/// A descriptor of ours and the number the child will know it by. Equal numbers are fine.
struct ChildDescriptor {
  int ours;
  int theirs;
};

struct SpawnRequest {
  const char* path = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* directory = nullptr;  ///< null: ours
  std::vector<ChildDescriptor> descriptors;
  const cpu_set_t* cpus = nullptr;  ///< null: ours
  const sigset_t* signal_mask = nullptr;
  std::vector<int> ignored_signals;  ///< beyond those that mpiexec inherited as ignored
  std::vector<int> default_signals;
  std::optional<rlimit> descriptor_limit;  ///< what mpiexec had raised for itself
  pid_t process_group = 0;                 ///< joined if > 0
};

struct SpawnResult {
  pid_t pid = -1;
  int error = 0;               ///< errno of the step that failed, 0 if the program runs
  const char* step = nullptr;  ///< that step: "start a process", "change to the directory", "run"
};

/// The child is killed when the calling thread ends.
SpawnResult spawn(const SpawnRequest& request);

}  // namespace meantime::launch
