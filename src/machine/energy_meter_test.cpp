#include "machine/energy_meter.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "machine/made_up_files.h"

namespace meantime::machine {
namespace {

namespace fs = std::filesystem;

class Meter : public MadeUpFiles {
 protected:
  void zone(const std::string& name, const std::string& what,
            const std::string& microjoules) const {
    write("/sys/class/powercap/" + name + "/name", what);
    write("/sys/class/powercap/" + name + "/energy_uj", microjoules);
    write("/sys/class/powercap/" + name + "/max_energy_range_uj", "1000000000");
  }
  void events(const std::string& type, const std::string& config, const std::string& unit) const {
    write("/sys/bus/event_source/devices/power/type", type);
    write("/sys/bus/event_source/devices/power/cpumask", "0");
    write("/sys/bus/event_source/devices/power/events/energy-pkg", config);
    write("/sys/bus/event_source/devices/power/events/energy-pkg.scale", "1.0e-9");
    write("/sys/bus/event_source/devices/power/events/energy-pkg.unit", unit);
  }
};

TEST_F(Meter, NothingToRead) {
  EnergyMeter meter(root_);
  EXPECT_FALSE(meter.readable());
  EXPECT_EQ(meter.source(), "this machine has no powercap counters, and perf has no energy events");
}

TEST_F(Meter, AddsPackagesAndNothingElse) {
  zone("intel-rapl:0", "package-0", "5000000");
  zone("intel-rapl:0:0", "core", "1000000");
  zone("intel-rapl:1", "package-1", "7000000");
  zone("intel-rapl:2", "psys", "90000000");
  zone("intel-rapl-mmio:0", "package-0", "5000000");
  EnergyMeter meter(root_);
  ASSERT_TRUE(meter.readable());
  EXPECT_EQ(meter.source(), "powercap, 2 packages, all that ran on them");
  EXPECT_EQ(meter.joules(), 0);
  zone("intel-rapl:0", "package-0", "6500000");
  zone("intel-rapl:0:0", "core", "2000000");
  zone("intel-rapl:1", "package-1", "7250000");
  zone("intel-rapl:2", "psys", "99000000");
  zone("intel-rapl-mmio:0", "package-0", "6500000");
  EXPECT_DOUBLE_EQ(meter.joules(), 1.75);
}

TEST_F(Meter, CountersThatGoRound) {
  zone("intel-rapl:0", "package-0", "999000000");
  EnergyMeter meter(root_);
  zone("intel-rapl:0", "package-0", "500000");
  meter.look();
  zone("intel-rapl:0", "package-0", "900000000");
  meter.look();
  zone("intel-rapl:0", "package-0", "0");  // twice round altogether
  EXPECT_DOUBLE_EQ(meter.joules(), 1001);
  fs::remove_all(root_ + "/sys");
  EXPECT_DOUBLE_EQ(meter.joules(), 1001);
}

TEST_F(Meter, OddCounters) {
  zone("intel-rapl:0", "package-0", "many");
  EnergyMeter meter(root_);
  EXPECT_FALSE(meter.readable());
  EXPECT_EQ(meter.source(),
            "the powercap counters are not readable for this user, and perf has no energy events");
  events("1", "event=0x00", "Watts");
  EnergyMeter watts(root_);
  EXPECT_FALSE(watts.readable());
  for (const char* config : {"event=2", "event=0x", "config=0x02", "event=0x02,umask=0x01", ""}) {
    events("1", config, "Joules");
    EnergyMeter odd(root_);
    EXPECT_FALSE(odd.readable()) << config;
  }
  events("99999", "event=0x02", "Joules");  // no such device
  EnergyMeter none(root_);
  EXPECT_FALSE(none.readable());
  EXPECT_NE(none.source().find("perf's energy events are not either"), std::string::npos);
}

// No machine of ours has energy events: the kernel's CPU clock stands for them, in nanoseconds.
TEST_F(Meter, EventsOfPerf) {
  events(std::to_string(PERF_TYPE_SOFTWARE), "event=0x00", "Joules");
  EnergyMeter meter(root_);
  if (!meter.readable()) {
    GTEST_SKIP() << meter.source();
  }
  EXPECT_EQ(meter.source(), "perf's power/energy-pkg/, 1 package, all that ran on them");
  double joules = 0;
  while ((joules = meter.joules()) < 1e-3) {
  }
  EXPECT_LT(joules, 60);
}

}  // namespace
}  // namespace meantime::machine
