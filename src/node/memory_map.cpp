#include "node/memory_map.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace meantime::node {
namespace {

/// True for a program that runs only at the addresses it was linked for (not position-independent).
bool has_fixed_addresses(const std::string& path) {
  char head[18] = {};
  // Somebody may have put a FIFO where the program was.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  const bool is_read = fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                       pread(file, head, sizeof head, 0) == static_cast<ssize_t>(sizeof head);
  close(file);
  return is_read && head[0] == 0x7f && head[16] == 2;  // ET_EXEC, in the byte order of this machine
}

}  // namespace

// It is each thread's own file; that of a main thread that has ended is empty.
std::ifstream memory_map(int pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::ifstream maps(process + "/maps");
  DIR* const threads = maps.peek() == EOF ? opendir((process + "/task").c_str()) : nullptr;
  if (threads == nullptr) {
    return maps;
  }
  while (const dirent* thread = readdir(threads)) {
    std::ifstream its(process + "/task/" + thread->d_name + "/maps");
    if (its.peek() != EOF) {
      maps = std::move(its);
      break;
    }
  }
  closedir(threads);
  return maps;
}

std::string code_location(int pid, std::uint64_t address) {
  std::ifstream maps = memory_map(pid);
  std::string line;
  std::string module;
  std::uint64_t module_base = 0;
  while (std::getline(maps, line)) {
    unsigned long begin = 0;
    unsigned long end = 0;
    unsigned long offset = 0;
    char path[512] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %*4s %lx %*s %*s %511[^\n]", &begin, &end, &offset,
                    path) < 3) {
      continue;
    }
    if (path != module) {
      module = path;
      module_base = begin - offset;
    }
    if (address >= begin && address < end) {
      const std::size_t slash = module.rfind('/');
      module_base = has_fixed_addresses(module) ? 0 : module_base;
      return fmt::format("{}+{:#x}", slash == std::string::npos ? module : module.substr(slash + 1),
                         address - module_base);
    }
  }
  return fmt::format("{:#x}", address);
}

}  // namespace meantime::node
