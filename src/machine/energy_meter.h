// How much energy the processors took, as far as this machine lets this user read it:
//   powercap   the kernel's RAPL counters of the packages: /sys/class/powercap
//   perf       the same counters as events, where powercap's are root's alone: the event
//              power/energy-pkg/ of /sys/bus/event_source/devices/power
//   none       then the source says why
// Both count all that runs on a package, not only the job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace meantime::machine {

class EnergyMeter {
 public:
  /// Reads the counters for the first time. `root`: the folder that has /sys in it, "" but for
  /// tests.
  explicit EnergyMeter(const std::string& root = "");
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  [[nodiscard]] bool readable() const { return !packages_.empty() || !events_.empty(); }
  /// To be called so often that no counter goes round twice between two calls: a package of 400 W
  /// takes some ten minutes for a round of powercap's. perf's do not go round.
  void look();
  static constexpr double look_every_seconds = 60;
  /// Joules from the beginning until now. A counter that could not be read any more counts as far
  /// as it could.
  [[nodiscard]] double joules();
  /// Where the figure comes from, or why there is none.
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  struct Package {
    std::string file;
    std::uint64_t last_uj;
    std::uint64_t range_uj;  ///< after so many it begins at 0 again
    std::uint64_t sum_uj;
  };
  struct Event {
    int descriptor;
    double joules_per_count;
    std::uint64_t begin;
  };

  void find_packages(const std::string& root);
  void find_events(const std::string& root);

  std::vector<Package> packages_;
  std::vector<Event> events_;
  std::string source_;
};

}  // namespace meantime::machine
