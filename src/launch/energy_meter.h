// How much energy the processors took, as far as this machine lets us read it: the kernel's
// powercap (RAPL) counters of the packages. They count all that runs on a package, not only the
// job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace meantime::launch {

class EnergyMeter {
 public:
  /// Reads the counters for the first time. `folder` is another one only for tests.
  explicit EnergyMeter(const std::string& folder = "/sys/class/powercap");

  [[nodiscard]] bool readable() const { return !packages_.empty(); }
  /// Joules since then; the counters may have gone round once meanwhile.
  [[nodiscard]] double joules() const;
  /// Where the figure comes from, or why there is none.
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  struct Package {
    std::string file;
    std::uint64_t begin_uj;
    std::uint64_t range_uj;
  };
  std::vector<Package> packages_;
  std::string source_;
};

}  // namespace meantime::launch
