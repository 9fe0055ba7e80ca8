#include "machine/energy_meter.h"

#include <dirent.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "machine/small_file.h"

namespace meantime::machine {
namespace {

/// "intel-rapl:0" is a zone of its own, "intel-rapl:0:1" a part of one. The same packages once
/// more, by another way to read them, are "intel-rapl-mmio:0"; a zone may also be the whole
/// platform, with the packages in it ("psys").
bool is_package(const std::string& folder, const std::string& name) {
  const std::size_t colon = name.find(':');
  return colon != std::string::npos && name.find(':', colon + 1) == std::string::npos &&
         name.find("-mmio") == std::string::npos &&
         first_line(folder + "/" + name + "/name").starts_with("package");
}

/// "event=0x02,umask=0x01": the config of the event, where every field begins at bit 0, 8 …, as
/// power's single field does ("config:0-7"). Nothing if it is more than that.
std::optional<std::uint64_t> config_of(const std::string& text) {
  constexpr std::string_view label = "event=0x";
  std::uint64_t config = 0;
  const char* const last = text.data() + text.size();
  if (!text.starts_with(label)) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(text.data() + label.size(), last, config, 16);
  return error == std::errc() && end == last ? std::optional(config) : std::nullopt;
}

int open_event(std::uint32_t type, std::uint64_t config, int cpu) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

std::optional<std::uint64_t> count_of(int descriptor) {
  std::uint64_t count = 0;
  return read(descriptor, &count, sizeof count) == static_cast<ssize_t>(sizeof count)
             ? std::optional(count)
             : std::nullopt;
}

std::string packages_text(std::size_t count) {
  return fmt::format("{} package{}, all that ran on them", count, count == 1 ? "" : "s");
}

}  // namespace

EnergyMeter::EnergyMeter(const std::string& root) {
  find_packages(root);
  if (packages_.empty()) {
    find_events(root);
  }
}

EnergyMeter::~EnergyMeter() {
  for (const Event& event : events_) {
    close(event.descriptor);
  }
}

void EnergyMeter::find_packages(const std::string& root) {
  const std::string folder = root + "/sys/class/powercap";
  DIR* entries = opendir(folder.c_str());
  bool any = false;
  for (const dirent* entry = nullptr;
       entries != nullptr && (entry = readdir(entries)) != nullptr;) {
    const std::string name = entry->d_name;
    if (!is_package(folder, name)) {
      continue;
    }
    any = true;
    const std::string file = fmt::format("{}/{}/energy_uj", folder, name);
    if (const auto begin = number_in(file)) {
      packages_.push_back(
          {file, *begin,
           number_in(fmt::format("{}/{}/max_energy_range_uj", folder, name)).value_or(0), 0});
    }
  }
  if (entries != nullptr) {
    closedir(entries);
  }
  source_ = !packages_.empty() ? "powercap, " + packages_text(packages_.size())
            : any              ? "the powercap counters are not readable for this user"
                               : "this machine has no powercap counters";
}

void EnergyMeter::find_events(const std::string& root) {
  const std::string device = root + "/sys/bus/event_source/devices/power";
  const std::string name = device + "/events/energy-pkg";
  const auto type = number_in(device + "/type");
  const auto config = config_of(first_line(name));
  if (!type || !config) {
    source_ += ", and perf has no energy events";
    return;
  }
  const double scale = std::strtod(first_line(name + ".scale").c_str(), nullptr);
  if (first_line(name + ".unit") != "Joules" || !(scale > 0)) {
    source_ += ", and perf's energy events are in no unit that we know";
    return;
  }
  for (const int cpu : numbers_in(first_line(device + "/cpumask"))) {  // one of each package
    const int descriptor = open_event(static_cast<std::uint32_t>(*type), *config, cpu);
    const auto begin = descriptor >= 0 ? count_of(descriptor) : std::nullopt;
    if (!begin) {
      source_ +=
          fmt::format(", and perf's energy events are not either: {}{}", std::strerror(errno),
                      errno == EACCES ? " (kernel.perf_event_paranoid)" : "");
      if (descriptor >= 0) {
        close(descriptor);
      }
      for (const Event& event : events_) {
        close(event.descriptor);
      }
      events_.clear();
      return;
    }
    events_.push_back({descriptor, scale, *begin});
  }
  source_ = events_.empty() ? source_ + ", and perf's energy events name no CPU"
                            : "perf's power/energy-pkg/, " + packages_text(events_.size());
}

void EnergyMeter::look() {
  for (Package& package : packages_) {
    const std::uint64_t now = number_in(package.file).value_or(package.last_uj);
    const std::uint64_t rest =
        package.range_uj > package.last_uj ? package.range_uj - package.last_uj : 0;
    package.sum_uj += now >= package.last_uj ? now - package.last_uj : now + rest;
    package.last_uj = now;
  }
}

double EnergyMeter::joules() {
  look();
  double joules = 0;
  for (const Package& package : packages_) {
    joules += static_cast<double>(package.sum_uj) * 1e-6;
  }
  for (const Event& event : events_) {
    joules += static_cast<double>(count_of(event.descriptor).value_or(event.begin) - event.begin) *
              event.joules_per_count;
  }
  return joules;
}

}  // namespace meantime::machine
