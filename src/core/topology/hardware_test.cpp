#include "core/topology/hardware.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "machine/made_up_files.h"

namespace meantime::core {
namespace {

/// Two packages with a node of memory each, of two cores of two threads: CPUs 0 and 4 are one core,
/// 0, 1, 4 and 5 the first package. The first one's caches: the third level is the package's, the
/// second the core's. The second one has no third.
class HardwareOf : public machine::MadeUpFiles {
 protected:
  void SetUp() override {
    MadeUpFiles::SetUp();
    device("node/online", "0,2");
    device("node/node0/cpulist", "0-1,4-5");
    device("node/node2/cpulist", "2-3,6-7");
    for (int cpu = 0; cpu < 8; ++cpu) {
      const bool first = cpu % 4 < 2;
      const std::string folder = "cpu/cpu" + std::to_string(cpu) + "/";
      const std::string core = std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4);
      // As older kernels have it, and newer ones.
      device(folder + (first ? "topology/core_siblings_list" : "topology/package_cpus_list"),
             first ? "0-1,4-5" : "2-3,6-7");
      device(folder + "topology/thread_siblings_list", core);
      cache(folder, 0, "1", "Data", core);
      cache(folder, 1, "1", "Instruction", std::to_string(cpu));
      cache(folder, 2, "2", "Unified", core);
      if (first) {
        cache(folder, 3, "3", "Unified", "0-1,4-5");
      }
    }
  }

  void device(const std::string& name, const std::string& text) const {
    write("/sys/devices/system/" + name, text);
  }
  void cache(const std::string& folder, int index, const char* level, const char* type,
             const std::string& cpus) const {
    const std::string name = folder + "cache/index" + std::to_string(index) + "/";
    device(name + "level", level);
    device(name + "type", type);
    device(name + "shared_cpu_list", cpus);
  }
  [[nodiscard]] int instance(const char* kind, std::initializer_list<int> cpus) const {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) {
      CPU_SET(cpu, &set);
    }
    return instance_of(kind, set, root_);
  }
};

TEST_F(HardwareOf, AnInstanceIsThatOfAllCpus) {
  EXPECT_EQ(instance("Machine", {3}), 0);
  EXPECT_EQ(instance("Machine", {0, 7}), 0);
  EXPECT_EQ(instance("Package", {5}), 0);
  EXPECT_EQ(instance("Package", {3, 6}), 2);
  EXPECT_EQ(instance("Package", {1, 2}), -1);
  EXPECT_EQ(instance("NUMANode", {3, 6}), 2);
  EXPECT_EQ(instance("NUMANode", {0, 1, 2}), -1);
  EXPECT_EQ(instance("L2Cache", {1, 5}), 1);
  EXPECT_EQ(instance("L1Cache", {5}), 1);
  EXPECT_EQ(instance("Core", {3, 7}), 3);
  EXPECT_EQ(instance("Core", {3, 6}), -1);
  EXPECT_EQ(instance("PU", {6}), 6);
  EXPECT_EQ(instance("PU", {2, 6}), -1);
}

TEST_F(HardwareOf, ItsNameMayHaveAScheme) {
  EXPECT_EQ(instance("hwloc://NUMANode", {3}), 2);
  EXPECT_EQ(instance("hwloc://", {3}), -1);
  EXPECT_EQ(instance("numanode", {3}), -1);
  EXPECT_EQ(instance("nonsense", {3}), -1);
}

TEST_F(HardwareOf, WhatIsNotThereHasNoInstance) {
  EXPECT_EQ(instance("L3Cache", {1, 4}), 0);
  EXPECT_EQ(instance("L3Cache", {3}), -1);
  EXPECT_EQ(instance("Die", {1}), -1);
  EXPECT_EQ(instance("Core", {}), -1);
}

// For ranks to walk through them together.
TEST_F(HardwareOf, AllCpusHaveTheSameKinds) {
  for (const int cpu : {0, 3}) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    const std::vector<Hardware> all = hardware(set, root_);
    std::string kinds;
    for (const Hardware& one : all) {
      kinds += std::string(one.kind) + " ";
      EXPECT_GE(one.instance, 0) << one.kind;
    }
    EXPECT_EQ(kinds, "Machine Package Die NUMANode L3Cache L2Cache L1Cache Core PU ");
    // What is not there divides nobody whom the kind above does not.
    EXPECT_EQ(all[2].instance, all[1].instance);
    EXPECT_FALSE(all[2].there);
    EXPECT_EQ(all[4].instance, all[3].instance);
    EXPECT_EQ(all[4].there, cpu == 0);
  }
  cpu_set_t none;
  CPU_ZERO(&none);
  EXPECT_EQ(hardware(none, root_).size(), 9U);
}

}  // namespace
}  // namespace meantime::core
