#include "machine/process_stat.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <numeric>
#include <string>

namespace meantime::machine {
namespace {

// PID (name, which may hold anything) state parent … CPU time, the 14th to 17th … threads, the 20th
// … start time, the 22nd … resident set, the 24th (proc(5)).
ProcessStat read_stat(const std::string& folder, int& threads) {
  char text[512];
  const int file = open((folder + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
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
  unsigned long long ticks[4] = {};
  unsigned long long resident = 0;
  if (name_end == nullptr ||
      std::sscanf(name_end,
                  ") %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %llu %llu %*s %*s %d %*s "
                  "%llu %*s %llu",
                  &stat.state, &stat.parent, &ticks[0], &ticks[1], &ticks[2], &ticks[3], &threads,
                  &stat.start_ticks, &resident) != 9) {
    return {};
  }
  stat.cpu_seconds =
      static_cast<double>(std::accumulate(std::begin(ticks), std::end(ticks), 0ULL)) /
      static_cast<double>(sysconf(_SC_CLK_TCK));
  stat.resident_pages = resident;
  return stat;
}

/// Calls `found` with the numbers that entries of the folder have for names.
template <class Found>
void for_each_number(const std::string& path, Found&& found) {
  if (DIR* folder = opendir(path.c_str())) {
    while (const dirent* entry = readdir(folder)) {
      if (const pid_t number = std::atoi(entry->d_name); number > 0) {
        found(number);
      }
    }
    closedir(folder);
  }
}

}  // namespace

ProcessStat process_stat(pid_t pid) {
  const std::string process = fmt::format("/proc/{}", pid);
  int threads = 0;
  ProcessStat stat = read_stat(process, threads);
  if (stat.state == 'Z' && threads > 1) {
    for_each_number(process + "/task", [&](pid_t thread) {
      if (const char state = read_stat(fmt::format("{}/task/{}", process, thread), threads).state;
          thread != pid && state != 0) {
        stat.state = state;
      }
    });
  }
  return stat;
}

ProcessTree::ProcessTree() {
  for_each_number("/proc", [&](pid_t pid) {
    if (const ProcessStat stat = process_stat(pid); stat.state != 0) {
      children_.emplace(stat.parent, Process{pid, stat});
    }
  });
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
