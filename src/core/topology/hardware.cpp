#include "core/topology/hardware.h"

#include <fmt/format.h>
#include <unistd.h>

#include "machine/small_file.h"

namespace meantime::core {

using machine::cpus_in;
using machine::first_line;

namespace {

int lowest(const cpu_set_t& cpus) {
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &cpus)) {
      return cpu;
    }
  }
  return -1;
}

/// Where the kernel tells of a CPU which others are in the same instance of a kind. All give the
/// list of CPUs, empty if there is no such thing.
class Neighbours {
 public:
  Neighbours(int cpu, const std::string& root)
      : cpu_(cpu),
        devices_(root + "/sys/devices/system/"),
        folder_(devices_ + fmt::format("cpu/cpu{}/", cpu)) {}

  /// `name` since Linux 5.4, `old_name` always.
  std::string topology(const char* name, const char* old_name) const {
    const std::string line = first_line(folder_ + "topology/" + name);
    return line.empty() ? first_line(folder_ + "topology/" + old_name) : line;
  }
  std::string node() const {
    for (const int node : machine::numbers_in(first_line(devices_ + "node/online"))) {
      std::string cpus = first_line(devices_ + fmt::format("node/node{}/cpulist", node));
      const cpu_set_t there = cpus_in(cpus);
      if (CPU_ISSET(cpu_, &there)) {
        return cpus;
      }
    }
    return {};
  }
  std::string cache(int level) const {
    for (int index = 0;; ++index) {
      const std::string cache = folder_ + fmt::format("cache/index{}/", index);
      const std::string found = first_line(cache + "level");
      if (found.empty()) {
        return {};
      }
      if (found == std::to_string(level) && first_line(cache + "type") != "Instruction") {
        return first_line(cache + "shared_cpu_list");
      }
    }
  }

 private:
  int cpu_;
  std::string devices_;
  std::string folder_;
};

}  // namespace

cpu_set_t allowed_cpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  // The main thread's, which is never bound by us (src/scheduling/thread_host.cpp).
  if (sched_getaffinity(getpid(), sizeof cpus, &cpus) != 0) {
    CPU_ZERO(&cpus);  // more CPUs than a cpu_set_t holds
  }
  return cpus;
}

std::vector<Hardware> hardware(const cpu_set_t& cpus, const std::string& root) {
  const int cpu = lowest(cpus);
  const Neighbours neighbours(cpu, root);
  std::vector<Hardware> all = {{"Machine", true, 0}};
  const auto add = [&](const char* kind, const std::string& list) {
    const cpu_set_t instance = cpus_in(list);
    cpu_set_t both;
    CPU_AND(&both, &instance, &cpus);
    const bool there = cpu >= 0 && CPU_ISSET(cpu, &instance);
    const int number = !there                         ? all.back().instance
                       : CPU_EQUAL(&both, &cpus) != 0 ? lowest(instance)
                                                      : -1;
    all.push_back({kind, there, number});
  };
  add("Package", neighbours.topology("package_cpus_list", "core_siblings_list"));
  add("Die", neighbours.topology("die_cpus_list", "die_cpus_list"));
  add("NUMANode", neighbours.node());
  add("L3Cache", neighbours.cache(3));
  add("L2Cache", neighbours.cache(2));
  add("L1Cache", neighbours.cache(1));
  add("Core", neighbours.topology("core_cpus_list", "thread_siblings_list"));
  add("PU", std::to_string(cpu));
  return all;
}

int instance_of(std::string_view kind, const cpu_set_t& cpus, const std::string& root) {
  if (kind.substr(0, hardware_scheme.size()) == hardware_scheme) {
    kind.remove_prefix(hardware_scheme.size());
  }
  for (const Hardware& one : hardware(cpus, root)) {
    if (one.kind == kind) {
      return one.there ? one.instance : -1;
    }
  }
  return -1;
}

}  // namespace meantime::core
