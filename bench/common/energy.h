// The energy that the processor package of one CPU has used, or the whole machine, where the kernel
// lets us read it.
//
// Source: the zones of the powercap framework (RAPL on Intel and AMD), Documentation/power/powercap
// in the kernel's tree. Their energy_uj counts microjoules and starts again at max_energy_range_uj.
//   package-N   a processor with all of its cores
//   dram        a package's memory, which is not in it
//   psys        what the board is fed with: some machines have it
// Most systems let only root read them, virtual machines have none: then nothing is claimed.
#pragma once

#include <dirent.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace bench {

class EnergyMeter {
 public:
  // `powercap` is the framework's directory.
  static EnergyMeter of_package(int cpu, const std::string& powercap = "/sys/class/powercap") {
    long package = 0;
    std::ifstream("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                  "/topology/physical_package_id") >>
        package;
    const std::string wanted = "package-" + std::to_string(std::max(package, 0L));
    EnergyMeter meter;
    meter.take(powercap, [&](const std::string& name) { return name == wanted; });
    if (!meter.readable()) meter.why_not_ = "no readable zone " + wanted + " in " + powercap;
    return meter;
  }

  // psys, or else all packages and their memory.
  static EnergyMeter of_machine(const std::string& powercap = "/sys/class/powercap") {
    EnergyMeter meter;
    meter.take(powercap, [](const std::string& name) { return name == "psys"; });
    if (!meter.readable())
      meter.take(powercap, [](const std::string& name) {
        return name == "dram" || name.rfind("package-", 0) == 0;
      });
    if (!meter.readable()) meter.why_not_ = "no readable zone psys or package-N in " + powercap;
    return meter;
  }

  bool readable() const { return !zones_.empty(); }
  std::string zones() const {
    std::string text;
    for (const Zone& zone : zones_) text += (text.empty() ? "" : " + ") + zone.name;
    return text;
  }
  // Why nothing can be read; empty if something can.
  const std::string& why_not() const { return why_not_; }

  // Joules since the last call, or since the beginning; -1 if none can be read.
  double joules() {
    double sum = 0;
    for (Zone& zone : zones_) {
      std::uint64_t now_uj = 0;
      if (!read(zone.path, now_uj)) return -1;
      const std::uint64_t used =
          now_uj >= zone.last_uj ? now_uj - zone.last_uj : now_uj + zone.range_uj - zone.last_uj;
      zone.last_uj = now_uj;
      sum += static_cast<double>(used) * 1e-6;
    }
    return readable() ? sum : -1;
  }

 private:
  struct Zone {
    std::string name, path;
    std::uint64_t last_uj = 0, range_uj = 0;
  };

  // Those that can be read, of the ones that are wanted.
  void take(const std::string& powercap, const std::function<bool(const std::string&)>& wanted) {
    for (const std::string& entry : entries(powercap)) {
      Zone zone;
      std::ifstream(powercap + "/" + entry + "/name") >> zone.name;
      if (!wanted(zone.name)) continue;
      zone.path = powercap + "/" + entry + "/energy_uj";
      std::ifstream(powercap + "/" + entry + "/max_energy_range_uj") >> zone.range_uj;
      if (read(zone.path, zone.last_uj)) zones_.push_back(zone);
    }
  }
  static std::vector<std::string> entries(const std::string& folder) {
    std::vector<std::string> names;
    if (DIR* directory = opendir(folder.c_str())) {
      while (const dirent* entry = readdir(directory))
        if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
      closedir(directory);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  static bool read(const std::string& path, std::uint64_t& uj) {
    return static_cast<bool>(std::ifstream(path) >> uj);
  }

  std::vector<Zone> zones_;
  std::string why_not_;
};

}  // namespace bench
