// The children of a rank. The kernel has one list for the process; a rank hears of its own only.
#pragma once

#include <spawn.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <cstdio>
#include <vector>

#include "base/lock.h"

namespace meantime::host {

class Children {
 public:
  /// `stream` is popen's, or nullptr.
  void add(pid_t pid, std::FILE* stream);
  /// wait4's, among the rank's children.
  pid_t wait(pid_t which, int* status, int flags, rusage* usage);
  /// waitid's for P_ALL, P_PID and P_PGID.
  int wait(idtype_t kind, id_t which, siginfo_t* info, int flags);

  /// The child at the other end of a popen's stream, or -1; it is just any child from then on.
  pid_t take_of_stream(const std::FILE* stream);
  bool is_of_stream(const std::FILE* stream);
  /// At the end of the rank.
  void forget_all();

 private:
  struct Child {
    pid_t pid;
    int descriptor;  ///< readable from its end on; -1: the kernel gives none
    const std::FILE* stream;
  };
  /// Asks `end_of(pid)` for each child that `wanted` says yes to, until it says one number but 0
  /// (and errno is its), or sleeps until there may be an answer.
  template <class Wanted, class EndOf>
  int wait_for(Wanted wanted, EndOf end_of, bool sleeps);
  void remove(pid_t pid) MEANTIME_REQUIRES(lock_);
  void news() MEANTIME_REQUIRES(lock_);
  void sleep(int milliseconds);

  Mutex lock_;
  std::vector<Child> all_ MEANTIME_GUARDED_BY(lock_);
  int news_ MEANTIME_GUARDED_BY(lock_) = -1;  ///< an eventfd: somebody came or went
};

/// One of a child's standard descriptors that is not the rank's, but the host's at that place.
struct ChildsPipe {
  int number = -1;  ///< -1: none
  int place = -1;
};

/// posix_spawn with what the rank's number 0, 1 and so on are, its signals (none is blocked in a
/// program that never asked) and all CPUs. `searches`: along the rank's PATH.
int spawn_own(pid_t* child, const char* path, bool searches,
              const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
              char* const words[], char* const variables[], const ChildsPipe& pipe = {});

}  // namespace meantime::host
