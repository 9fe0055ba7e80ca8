// What /proc says of processes. Every answer may be out of date when it arrives.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace meantime::machine {

struct ProcessStat {
  char state = 0;  ///< the kernel's letter, of another thread if the main thread alone has ended;
                   ///< 0: there is no such process
  pid_t parent = 0;
  unsigned long long start_ticks = 0;  ///< sysconf(_SC_CLK_TCK) a second, since the machine started
  std::uint64_t resident_pages = 0;
  double cpu_seconds = 0;  ///< with the children that it has waited for; in ticks
};

ProcessStat process_stat(pid_t pid);

/// All processes, and who has started whom.
class ProcessTree {
 public:
  ProcessTree();

  struct Process {
    pid_t pid;
    ProcessStat stat;
  };
  /// All that descend from this one, parents before their children, without itself.
  [[nodiscard]] std::vector<Process> below(pid_t pid) const;

 private:
  std::unordered_multimap<pid_t, Process> children_;
};

}  // namespace meantime::machine
