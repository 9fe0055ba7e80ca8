#include "machine/memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "machine/small_file.h"

namespace meantime::machine {

void for_each_group(std::string_view controller,
                    const std::function<void(const std::string& folder, bool v2)>& look) {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // 4:cpu,cpuacct:/path or 0::/path
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool v2 = controllers == ",,";
    if (!v2 && controllers.find("," + std::string(controller) + ",") == std::string::npos) {
      continue;
    }
    const std::string mount = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + std::string(controller);
    look(mount, v2);
    for (std::string path = line.substr(second + 1); path.size() > 1;
         path.resize(path.find_last_of('/'))) {
      look(mount + path, v2);
    }
  }
}

std::uint64_t usable_memory() {
  auto memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for_each_group("memory", [&memory](const std::string& folder, bool v2) {
    // No number ("max") is no limit, and v1's of no limit is more than any machine has.
    const std::optional<std::uint64_t> limit =
        number_in(folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
    memory = std::min(memory, limit.value_or(memory));
  });
  return memory;
}

std::uint64_t out_of_memory_kills() {
  std::uint64_t kills = 0;
  for_each_group("memory", [&kills](const std::string& folder, bool v2) {
    std::istringstream events(
        first_bytes(folder + (v2 ? "/memory.events" : "/memory.oom_control")));
    std::string name;
    for (std::uint64_t count = 0; events >> name >> count;) {
      kills += name == "oom_kill" ? count : 0;
    }
  });
  return kills;
}

}  // namespace meantime::machine
