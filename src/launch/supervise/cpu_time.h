// CPU time of processes that have ended, by the kernel's account.
#pragma once

#include "launch/job.h"
#include "machine/cpu_seconds.h"

namespace meantime::launch {

/// A child of ours has been waited for, which may be a rank.
inline void note_cpu_time(Job& job, pid_t pid, const rusage& used) {
  for (RankProcess& rank : job.ranks) {
    if (rank.pid == pid) {
      rank.cpu_seconds = machine::cpu_seconds(used);
    }
  }
}

}  // namespace meantime::launch
