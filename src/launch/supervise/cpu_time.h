// CPU time of processes that have ended, by the kernel's account.
#pragma once

#include <sys/resource.h>

#include "launch/job.h"

namespace meantime::launch {

inline double cpu_seconds(const rusage& used) {
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

/// A child of ours has been waited for, which may be a rank.
inline void note_cpu_time(Job& job, pid_t pid, const rusage& used) {
  for (RankProcess& rank : job.ranks) {
    if (rank.pid == pid) {
      rank.cpu_seconds = cpu_seconds(used);
    }
  }
}

}  // namespace meantime::launch
