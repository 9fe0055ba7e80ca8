#include "policy/spreading.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <thread>
#include <vector>

namespace meantime::wait {
namespace {

cpu_set_t mask_of(std::initializer_list<int> cpus) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (int cpu : cpus) {
    CPU_SET(cpu, &mask);
  }
  return mask;
}

TEST(Spreading, TheNextCpuOfTheMaskOnWhichNobodyPolls) {
  EXPECT_EQ(free_cpu(mask_of({0, 1}), 0, {0}), 1);
  EXPECT_EQ(free_cpu(mask_of({0, 1}), 1, {1}), 0);
  EXPECT_EQ(free_cpu(mask_of({2, 3, 5, 7}), 3, {3, 5}), 7);
  EXPECT_EQ(free_cpu(mask_of({2, 3, 5, 7}), 7, {7, 2}), 3);
}

TEST(Spreading, NoneWhereAllAreTaken) {
  EXPECT_EQ(free_cpu(mask_of({4}), 4, {4}), -1);
  EXPECT_EQ(free_cpu(mask_of({0, 1}), 0, {0, 1}), -1);
}

TEST(Spreading, TheAffinityIsWhatItWas) {
  std::thread([] {  // its affinity ends with it
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    std::vector<cpu_set_t> masks;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &all)) {
        masks.push_back(mask_of({cpu}));
      }
    }
    masks.push_back(all);
    for (const cpu_set_t& mask : masks) {
      for (bool known : {false, true}) {
        ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
        bool bound = known;
        const cpu_set_t elsewhere = masks.front();
        ASSERT_EQ(sched_setaffinity(0, sizeof elsewhere, &elsewhere), 0);
        give_back_affinity(mask, bound);
        cpu_set_t now;
        ASSERT_EQ(sched_getaffinity(0, sizeof now, &now), 0);
        EXPECT_TRUE(CPU_EQUAL(&now, &mask));
      }
    }
  })
      .join();
}

}  // namespace
}  // namespace meantime::wait
