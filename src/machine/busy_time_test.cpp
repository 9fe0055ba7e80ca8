#include "machine/busy_time.h"

#include "machine/made_up_files.h"

namespace meantime::machine {
namespace {

using BusyTime = MadeUpFiles;

TEST_F(BusyTime, OfTheCpusThatAreMeant) {
  write("/proc/stat",
        "cpu  9 9 9 9 9 9 9 9 0 0\n"
        "cpu0 100 10 20 5000 70 1 2 3 50 0\n"
        "cpu1 7 7 7 7 7 7 7 7 0 0\n"
        "cpu12 300 0 0 0 0 0 0 64 0 0\n"
        "intr 1 2 3");
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(0, &cpus);
  CPU_SET(12, &cpus);
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(busy_seconds(cpus, root_).value_or(-1), 500 / ticks);
}

TEST_F(BusyTime, IsNotMadeUp) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(0, &cpus);
  EXPECT_FALSE(busy_seconds(cpus, root_));
  write("/proc/stat", "intr 1 2 3");
  EXPECT_FALSE(busy_seconds(cpus, root_));
}

}  // namespace
}  // namespace meantime::machine
