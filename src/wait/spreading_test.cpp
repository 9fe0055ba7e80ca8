#include "wait/spreading.h"

#include <gtest/gtest.h>

#include <initializer_list>

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

}  // namespace
}  // namespace meantime::wait
