// The energy that the processor package of one CPU has used, where the kernel lets us read it.
//
// Source: the zones named package-N of the powercap framework (RAPL on Intel and AMD),
// Documentation/power/powercap in the kernel's tree. Their energy_uj counts microjoules and starts
// again at max_energy_range_uj. Most systems let only root read it, virtual machines have none:
// then nothing is claimed.
#pragma once

#include <dirent.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace bench {

class EnergyMeter {
 public:
  // `powercap` is the framework's directory.
  explicit EnergyMeter(int cpu, const std::string& powercap = "/sys/class/powercap") {
    long package = 0;
    std::ifstream("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                  "/topology/physical_package_id") >>
        package;
    zone_ = "package-" + std::to_string(std::max(package, 0L));
    for (const std::string& entry : entries(powercap)) {
      std::string name;
      std::ifstream(powercap + "/" + entry + "/name") >> name;
      if (name != zone_) continue;
      path_ = powercap + "/" + entry + "/energy_uj";
      std::ifstream(powercap + "/" + entry + "/max_energy_range_uj") >> range_uj_;
      if (!read(last_uj_)) path_.clear();
      if (!path_.empty()) return;
    }
    why_not_ = "no readable zone " + zone_ + " in " + powercap;
  }

  bool readable() const { return !path_.empty(); }
  const std::string& zone() const { return zone_; }
  // Why nothing can be read; empty if something can.
  const std::string& why_not() const { return why_not_; }

  // Joules since the last call, or since the beginning; -1 if none can be read.
  double joules() {
    std::uint64_t now_uj = 0;
    if (!readable() || !read(now_uj)) return -1;
    const std::uint64_t used =
        now_uj >= last_uj_ ? now_uj - last_uj_ : now_uj + range_uj_ - last_uj_;
    last_uj_ = now_uj;
    return static_cast<double>(used) * 1e-6;
  }

 private:
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
  bool read(std::uint64_t& uj) const { return static_cast<bool>(std::ifstream(path_) >> uj); }

  std::string zone_, path_, why_not_;
  std::uint64_t last_uj_ = 0, range_uj_ = 0;
};

}  // namespace bench
