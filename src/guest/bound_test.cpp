#include "guest/bound.h"

#include <gtest/gtest.h>

#include <random>

namespace meantime::guest {
namespace {

/// A job that does so many calls a second, fewer by `cost` with guests, and by chance more or less.
struct Made {
  double with_guests = 0;  ///< seconds
  double seconds = 0;
  double lost = 0;  ///< of its time, to guests
};

Made run(Bound& bound, double cost, double calls, double noise, double seconds) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> spread(1, noise);
  Made made;
  double progress = 0;
  while (made.seconds < seconds) {
    const Bound::Block block = bound.next(made.seconds, static_cast<std::uint64_t>(progress));
    progress += calls * block.seconds * spread(random) / (block.guests ? 1 + cost : 1);
    made.seconds += block.seconds;
    made.with_guests += block.guests ? block.seconds : 0;
  }
  bound.end(made.seconds);
  made.lost = made.with_guests * cost / made.seconds;
  return made;
}

TEST(Bound, FreeGuestsRunNearlyAlways) {
  Bound bound(0.01, 1);
  const Made made = run(bound, 0, 1e5, 0.02, 100);
  EXPECT_GT(made.with_guests, 0.9 * made.seconds);
  EXPECT_EQ(bound.times_beyond(), 0);
  ASSERT_TRUE(bound.cost());
  EXPECT_LT(bound.cost()->most, 0.01);
  EXPECT_GT(bound.cost()->least, -0.02);
}

TEST(Bound, CostlyGuestsAreLeftOut) {
  Bound bound(0.01, 1);
  const Made made = run(bound, 0.2, 1e5, 0.05, 100);
  EXPECT_LT(made.lost, 0.01);
  EXPECT_GT(bound.times_beyond(), 0);
  EXPECT_GT(bound.seconds_without(), 0.9 * made.seconds);
}

TEST(Bound, AShortJobLearnsInTime) {
  Bound quick(0.01, 1);
  EXPECT_LT(run(quick, 0.09, 1e5, 0.02, 5).lost, 0.015);
  Bound slow(0.01, 1);
  EXPECT_LT(run(slow, 0.09, 100, 0.02, 20).lost, 0.03);
}

TEST(Bound, FewCallsMakeLongTrials) {
  Bound bound(0.01, 1);
  const Made made = run(bound, 0, 100, 0.02, 400);
  EXPECT_GT(made.with_guests, 0.6 * made.seconds);
  ASSERT_TRUE(bound.cost());
}

TEST(Bound, WithoutCallsNothingIsKnown) {
  Bound bound(0.01, 1);
  const Made made = run(bound, 0, 0, 0.02, 100);
  EXPECT_FALSE(bound.cost());
  EXPECT_NEAR(made.with_guests / made.seconds, 0.5, 0.2);
}

TEST(Bound, AStopCountsForNothing) {
  Bound bound(0.01, 1);
  std::uint64_t progress = 0;
  for (double now = 0; now < 10;) {
    now += bound.next(now, progress).seconds;
    bound.end(now);
    progress += 1000;
  }
  EXPECT_EQ(bound.trials(), 0);
}

}  // namespace
}  // namespace meantime::guest
