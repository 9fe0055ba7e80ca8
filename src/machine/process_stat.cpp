#include "machine/process_stat.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace meantime::machine {

// "/proc/PID/stat": PID (name, which may hold anything) state parent … start time, the 22nd …
// resident set, the 24th (proc(5)).
ProcessStat process_stat(pid_t pid) {
  char text[512];
  const int file = open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return {};
  }
  const ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  if (bytes <= 0) {
    return {};
  }
  text[bytes] = '\0';
  const char* const name_end = std::strrchr(text, ')');
  ProcessStat stat;
  unsigned long long resident = 0;
  if (name_end == nullptr ||
      std::sscanf(name_end,
                  ") %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                  "%llu %*s %llu",
                  &stat.state, &stat.parent, &stat.start_ticks, &resident) != 4) {
    return {};
  }
  stat.resident_pages = resident;
  return stat;
}

ProcessTree::ProcessTree() {
  if (DIR* folder = opendir("/proc")) {
    while (const dirent* entry = readdir(folder)) {
      const pid_t pid = std::atoi(entry->d_name);  // 0 for what is not a process
      if (const ProcessStat stat = pid > 0 ? process_stat(pid) : ProcessStat{}; stat.state != 0) {
        children_.emplace(stat.parent, Process{pid, stat});
      }
    }
    closedir(folder);
  }
}

std::vector<ProcessTree::Process> ProcessTree::below(pid_t pid) const {
  std::vector<Process> found = {{pid, {}}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children_.equal_range(found[i].pid);
    for (auto child = begin; child != end; ++child) {
      found.push_back(child->second);
    }
  }
  found.erase(found.begin());
  return found;
}

}  // namespace meantime::machine
