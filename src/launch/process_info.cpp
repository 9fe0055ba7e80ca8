#include "launch/process_info.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

namespace meantime::launch {

// "/proc/PID/stat": PID (name, which may hold anything) state parent ...
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
  const char* end = std::strrchr(text, ')');
  if (end == nullptr || std::strlen(end) < 4) {
    return {};
  }
  return {end[2], static_cast<pid_t>(std::atoi(end + 4))};
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
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    const std::size_t name = line.rfind('/');
    if (path != std::string::npos && line.compare(name + 1, 6, "libmpi") == 0) {
      return line.substr(path);
    }
  }
  return {};
}

}  // namespace meantime::launch
