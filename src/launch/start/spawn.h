// Starting many processes fast. A child shares our memory until it executes its program (clone with
// CLONE_VM): nothing of mpiexec is copied, and unlike with vfork nobody waits for anybody: on busy
// cores a wait costs a time slice, once a rank. May not know what a job is.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace meantime::launch {

/// A descriptor of ours and the number the child will know it by. Equal numbers are fine.
struct ChildDescriptor {
  int ours;
  int theirs;
};

enum class SpawnStep : int { none, network, descriptors, directory, run };

/// Everything a child reads and writes in our memory. It must stay where it is, unchanged, until
/// the child has executed its program or is gone.
struct Spawn {
  std::string path;
  std::vector<char*> arguments;     ///< null at the end
  std::vector<char*> environment;   ///< null at the end
  std::vector<std::string> texts;   ///< whatever these point to and nobody else keeps
  char* end_of_own_pid = nullptr;   ///< of digits in these, all 0, which the child makes its pid
  const char* directory = nullptr;  ///< null: ours
  int network = -1;                 ///< of the network namespace that it enters; -1: ours
  std::vector<ChildDescriptor> descriptors;
  const cpu_set_t* cpus = nullptr;  ///< null: ours
  const sigset_t* signal_mask = nullptr;
  std::vector<int> ignored_signals;  ///< beyond those that mpiexec inherited as ignored
  std::vector<int> default_signals;
  std::optional<rlimit> descriptor_limit;  ///< what mpiexec had raised for itself

  // Written by the child if it fails, before it exits with status 127.
  SpawnStep failed_step = SpawnStep::none;
  int error = 0;
};

/// Starts the child and returns its pid, or -errno. Whether it came as far as its program is known
/// once it has ended: `failed_step`. The child is killed when the calling thread ends.
pid_t spawn(Spawn& spawn);

}  // namespace meantime::launch
