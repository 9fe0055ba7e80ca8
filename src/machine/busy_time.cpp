#include "machine/busy_time.h"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <sstream>

namespace meantime::machine {

// proc(5), "cpu0 user nice system idle iowait irq softirq steal …"; guests are in user and nice.
std::optional<double> busy_seconds(const cpu_set_t& cpus, const std::string& root) {
  std::ifstream file(root + "/proc/stat");
  std::uint64_t ticks = 0;
  bool any = false;
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line.substr(3));
    unsigned cpu = 0;
    std::array<std::uint64_t, 8> of{};
    if (line[3] == ' ' || !(words >> cpu) || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &cpus)) {
      continue;
    }
    for (std::uint64_t& one : of) {
      words >> one;
    }
    ticks += of[0] + of[1] + of[2] + of[5] + of[6] + of[7];
    any = true;
  }
  return any ? std::optional(static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK)))
             : std::nullopt;
}

}  // namespace meantime::machine
