#include "policy/sampling.h"

#include <gtest/gtest.h>

namespace meantime::wait {
namespace {

/// So many short waits: how many of them are timed.
int timed(Sampling& sampling, std::uint32_t& until, int waits, std::uint64_t& weights) {
  int taken = 0;
  for (int wait = 0; wait < waits; ++wait) {
    if (--until == 0) {
      weights += sampling.take(until);
      ++taken;
    }
  }
  return taken;
}

TEST(Sampling, TheFirstAreAllTimedAndLaterOneIn128) {
  Sampling sampling;
  std::uint32_t until = 1;
  std::uint64_t weights = 0;
  EXPECT_EQ(timed(sampling, until, 16, weights), 16);
  EXPECT_EQ(weights, 16u);
  timed(sampling, until, 10'000, weights);
  const int taken = timed(sampling, until, 128'000, weights);
  EXPECT_GT(taken, 900);
  EXPECT_LT(taken, 1100);
  // The weights are those of all waits but the last few.
  EXPECT_LE(weights, 138'016u);
  EXPECT_GT(weights, 138'016u - 256);
}

TEST(Sampling, AfterALongOneEachIsTimed) {
  Sampling sampling;
  std::uint32_t until = 1;
  std::uint64_t weights = 0;
  timed(sampling, until, 10'000, weights);
  sampling.time_each(until);
  EXPECT_EQ(timed(sampling, until, 16, weights), 16);
  EXPECT_LT(timed(sampling, until, 64, weights), 64);
}

}  // namespace
}  // namespace meantime::wait
