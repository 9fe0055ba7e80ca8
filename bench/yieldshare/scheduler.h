// Which scheduler shares out the CPUs among ordinary processes here, and how that was found out.
//
//   sched_ext   a scheduler loaded as BPF: /sys/kernel/sched_ext/state says enabled, root/ops its
//   name EEVDF       Linux 6.6 and later. Sign: /proc/self/sched has a line se.slice (each task has
//   a slice
//               that can be set, a notion of EEVDF's; 6.12 and later), or the features of
//               /sys/kernel/debug/sched (root only) have PLACE_LAG; else the kernel's version
//   CFS         2.6.23 to 6.5, by the kernel's version
// Processes under another policy (real-time, by chrt) are none of its business; that is told too.
#pragma once

#include <sched.h>
#include <sys/utsname.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace bench {

struct Scheduler {
  std::string name, found_by, policy;
};

inline std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::string result = text.str();
  while (!result.empty() && result.back() == '\n') result.pop_back();
  return result;
}

inline std::string policy_name(int policy) {
  switch (policy) {
    case SCHED_OTHER:
      return "SCHED_OTHER";
    case SCHED_FIFO:
      return "SCHED_FIFO";
    case SCHED_RR:
      return "SCHED_RR";
    case SCHED_BATCH:
      return "SCHED_BATCH";
    case SCHED_IDLE:
      return "SCHED_IDLE";
    default:
      return "policy " + std::to_string(policy);
  }
}

// `root` is where /proc and /sys are looked for; `release` is the kernel's, as `uname -r` tells it.
inline Scheduler find_scheduler(const std::string& root, const std::string& release) {
  Scheduler found;
  found.policy = policy_name(sched_getscheduler(0));
  if (text_of(root + "/sys/kernel/sched_ext/state") == "enabled") {
    found.name = "sched_ext " + text_of(root + "/sys/kernel/sched_ext/root/ops");
    found.found_by = "/sys/kernel/sched_ext";
    return found;
  }
  if (text_of(root + "/proc/self/sched").find("se.slice") != std::string::npos) {
    found.name = "EEVDF";
    found.found_by = "se.slice in /proc/self/sched";
    return found;
  }
  if (text_of(root + "/sys/kernel/debug/sched/features").find("PLACE_LAG") != std::string::npos) {
    found.name = "EEVDF";
    found.found_by = "PLACE_LAG in /sys/kernel/debug/sched/features";
    return found;
  }
  int major = 0, minor = 0;
  const bool known = std::sscanf(release.c_str(), "%d.%d", &major, &minor) == 2;
  found.name = !known ? "unknown" : major > 6 || (major == 6 && minor >= 6) ? "EEVDF" : "CFS";
  found.found_by = "the kernel's version, " + release;
  return found;
}

inline Scheduler find_scheduler(const std::string& root = "") {
  utsname kernel;
  uname(&kernel);
  return find_scheduler(root, kernel.release);
}

}  // namespace bench
