#include "launch/inspect/process_info.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>

#include "node/process.h"

namespace meantime::launch {

// "/proc/PID/stat": PID (name, which may hold anything) state parent … start time, the 22nd
// (proc(5)).
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
  if (name_end == nullptr ||
      std::sscanf(
          name_end,
          ") %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
          &stat.state, &stat.parent, &stat.start_ticks) != 3) {
    return {};
  }
  return stat;
}

double process_seconds(pid_t pid) {
  const ProcessStat stat = process_stat(pid);
  if (stat.state == 0) {
    return 0;
  }
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
         static_cast<double>(stat.start_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

bool catches(pid_t pid, int signal) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("SigCgt:")) {
      return (std::strtoull(line.c_str() + 7, nullptr, 16) >> (signal - 1) & 1) != 0;
    }
  }
  return false;
}

std::string loaded_mpi_library(pid_t pid) {
  return loaded_file(pid, [](std::string_view name) { return name.starts_with("libmpi"); });
}

std::string loaded_file(pid_t pid, bool (*has_such_a_name)(std::string_view)) {
  std::ifstream maps = node::memory_map(pid);
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path != std::string::npos &&
        has_such_a_name(std::string_view(line).substr(line.rfind('/') + 1))) {
      return line.substr(path);
    }
  }
  return {};
}

}  // namespace meantime::launch
