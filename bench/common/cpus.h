// The CPUs that a measuring program may run on, and keeping it on one of them.
#pragma once

#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace bench {

inline void require(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(1);
}

// The CPUs of the affinity mask, in their order.
inline std::vector<int> allowed_cpus() {
  cpu_set_t set;
  require(sched_getaffinity(0, sizeof set, &set) == 0, "sched_getaffinity");
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

inline void allow(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus) CPU_SET(cpu, &set);
  require(sched_setaffinity(0, sizeof set, &set) == 0, "sched_setaffinity");
}

inline void bind_to(int cpu) {
  allow({cpu});
}

}  // namespace bench
