#include "launch/inspect/process_info.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>

#include "machine/process_stat.h"
#include "node/memory_map.h"

namespace meantime::launch {

double process_seconds(pid_t pid) {
  const machine::ProcessStat stat = machine::process_stat(pid);
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
