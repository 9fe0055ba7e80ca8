#include "deadlock/threads_of_process.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace meantime::wait {

bool for_each_thread(int pid, Detail detail, const std::function<void(const Thread&)>& look) {
  const std::string folder = fmt::format("/proc/{}/task", pid);
  DIR* tasks = opendir(folder.c_str());
  if (tasks == nullptr) {
    return false;
  }
  bool complete = true;
  while (const dirent* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.') {
      continue;
    }
    std::FILE* status =
        std::fopen(fmt::format("{}/{}/status", folder, entry->d_name).c_str(), "re");
    if (status == nullptr) {
      complete = false;
      break;
    }
    Thread thread;
    thread.tid = std::atoi(entry->d_name);
    char line[256];
    while (std::fgets(line, sizeof line, status) != nullptr) {
      int tracer = 0;
      unsigned long switches = 0;
      std::sscanf(line, "State: %c", &thread.state);
      if (std::sscanf(line, "TracerPid: %d", &tracer) == 1) {
        thread.traced = tracer != 0;
        if (detail == Detail::state) {
          break;
        }
      }
      if (std::sscanf(line, "voluntary_ctxt_switches: %lu", &switches) == 1 ||
          std::sscanf(line, "nonvoluntary_ctxt_switches: %lu", &switches) == 1) {
        thread.switches += switches;
      }
    }
    std::fclose(status);
    if (thread.state != 'Z') {
      look(thread);
    }
  }
  closedir(tasks);
  return complete;
}

unsigned sleeping_threads(int pid) {
  unsigned found = 0;
  bool sleeping = true;
  const int searcher = gettid();
  const bool complete = for_each_thread(pid, Detail::state, [&](const Thread& thread) {
    ++found;
    sleeping = sleeping && !thread.traced && (thread.state == 'S' || thread.tid == searcher);
  });
  return complete && sleeping ? found : 0;
}

}  // namespace meantime::wait
