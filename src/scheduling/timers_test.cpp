#include "scheduling/timers.h"

#include <gtest/gtest.h>

namespace meantime::ranks {
namespace {

TEST(Timers, TheNextOneFirst) {
  node::Waiter waiters[4] = {};
  Timers timers;
  EXPECT_TRUE(timers.empty());
  EXPECT_FALSE(timers.due());
  timers.set(30, waiters[0]);
  timers.set(10, waiters[1]);
  timers.set(20, waiters[2]);
  timers.set(20, waiters[3]);
  EXPECT_EQ(timers.next_ns(), 10u);
  EXPECT_TRUE(timers.due());
  EXPECT_EQ(timers.take_due(9), nullptr);
  EXPECT_EQ(timers.take_due(20), &waiters[1]);
  node::Waiter* const one = timers.take_due(20);
  node::Waiter* const other = timers.take_due(20);
  EXPECT_TRUE((one == &waiters[2] && other == &waiters[3]) ||
              (one == &waiters[3] && other == &waiters[2]));
  EXPECT_EQ(timers.take_due(20), nullptr);
  EXPECT_EQ(timers.take_due(30), &waiters[0]);
  EXPECT_TRUE(timers.empty());
}

TEST(Timers, WhoWasRungHasNone) {
  node::Waiter waiters[3] = {};
  Timers timers;
  for (std::uint64_t at = 0; at < 3; ++at) {
    timers.set(at, waiters[at]);
  }
  timers.remove(waiters[0]);
  timers.remove(waiters[0]);
  EXPECT_EQ(timers.next_ns(), 1u);
  timers.remove(waiters[2]);
  EXPECT_EQ(timers.take_due(2), &waiters[1]);
  EXPECT_TRUE(timers.empty());
}

}  // namespace
}  // namespace meantime::ranks
