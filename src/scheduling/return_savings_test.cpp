#include "scheduling/return_savings.h"

#include <gtest/gtest.h>

namespace meantime::ranks {
namespace {

/// Returns every `period_ns`, each polled for while that may be; how much of the time that takes.
double part_polled(std::uint64_t period_ns, std::uint64_t polled_ns, int returns) {
  ReturnSavings savings(150'000);
  std::uint64_t now = 1'000'000'000;
  std::uint64_t polled = 0;
  for (int i = 0; i < returns; ++i) {
    if (savings.any(now)) {
      savings.pay(polled_ns);
      polled += polled_ns;
    }
    now += period_ns;
  }
  return static_cast<double>(polled) / (static_cast<double>(period_ns) * returns);
}

TEST(ReturnSavings, FrequentReturnsArePolledForAnEighthOfTheTime) {
  EXPECT_NEAR(part_polled(60'000, 50'000, 100'000), 0.125, 0.001);
  EXPECT_NEAR(part_polled(150'000, 140'000, 100'000), 0.125, 0.001);
  EXPECT_NEAR(part_polled(2'000, 1'000, 1'000'000), 0.125, 0.001);
}

TEST(ReturnSavings, RareReturnsAreAlwaysPolledFor) {
  EXPECT_NEAR(part_polled(1'000'000, 100'000, 1000), 0.1, 1e-9);
  EXPECT_NEAR(part_polled(10'000'000, 150'000, 1000), 0.015, 1e-9);
}

TEST(ReturnSavings, NoMoreIsSavedThanOneReturnIsWorth) {
  ReturnSavings savings(150'000);
  EXPECT_TRUE(savings.any(1'000'000'000'000));
  savings.pay(100'000);
  EXPECT_TRUE(savings.any(1'000'000'000'000));
  savings.pay(60'000);
  EXPECT_FALSE(savings.any(1'000'000'000'000));
  EXPECT_TRUE(savings.any(1'000'000'100'000));
}

}  // namespace
}  // namespace meantime::ranks
