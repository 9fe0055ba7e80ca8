#include "launch/energy_meter.h"

#include <dirent.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

namespace meantime::launch {
namespace {

std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

/// "intel-rapl:0" is a package, "intel-rapl:0:1" a part of one.
bool is_package(const std::string& name) {
  const std::size_t colon = name.find(':');
  return colon != std::string::npos && name.find(':', colon + 1) == std::string::npos &&
         name.find("-mmio") == std::string::npos;
}

}  // namespace

EnergyMeter::EnergyMeter(const std::string& folder) {
  DIR* entries = opendir(folder.c_str());
  bool any = false;
  for (const dirent* entry = nullptr;
       entries != nullptr && (entry = readdir(entries)) != nullptr;) {
    const std::string name = entry->d_name;
    if (!is_package(name)) {
      continue;
    }
    any = true;
    const std::string file = folder + "/" + name + "/energy_uj";
    if (const auto begin = number_in(file)) {
      packages_.push_back(
          {file, *begin,
           number_in(folder + "/" + name + "/max_energy_range_uj").value_or(UINT64_MAX)});
    }
  }
  if (entries != nullptr) {
    closedir(entries);
  }
  source_ = !packages_.empty() ? fmt::format("powercap, {} package{}, all that ran on them",
                                             packages_.size(), packages_.size() == 1 ? "" : "s")
            : any              ? "the powercap counters are not readable for this user"
                               : "this machine has no powercap counters";
}

double EnergyMeter::joules() const {
  double joules = 0;
  for (const Package& package : packages_) {
    const std::uint64_t now = number_in(package.file).value_or(package.begin_uj);
    const std::uint64_t used = now >= package.begin_uj
                                   ? now - package.begin_uj
                                   : now + (package.range_uj - package.begin_uj);
    joules += static_cast<double>(used) * 1e-6;
  }
  return joules;
}

}  // namespace meantime::launch
