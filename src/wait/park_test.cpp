// The order of a sleep (arm, look again, sleep, disarm), and what ends it.
#include "wait/park.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>

#include "node/segment.h"
#include "rank/rank.h"
#include "sleep/doorbell.h"

namespace meantime::wait {
namespace {

/// Keeps a record of what it is asked.
class Recorded final : public Awaited {
 public:
  bool ready() override {
    asked += "ready ";
    return is_ready;
  }
  bool progress() override {
    asked += "progress ";
    return false;
  }
  void arm(node::Waiter& waiter) override {
    asked += "arm ";
    expect(waiter, 1);
    armed(waiter);
  }
  void disarm(node::Waiter&) override { asked += "disarm "; }
  void describe(Situation&) const override {}
  void about_to_sleep() override { asked += "sleep "; }

  bool is_ready = false;
  std::string asked;
  std::function<void(node::Waiter&)> armed = [](node::Waiter&) {};
};

class Parks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    descriptor = node::create_segment(1, 1);
    ASSERT_EQ(node::segment().map(descriptor), 0);
    node::segment().header().on_deadlock = 2;  // a rank alone sleeps here
    self().area = &node::segment().area(0);
  }
  static void TearDownTestSuite() {
    self().area = nullptr;
    node::segment().unmap();
    close(descriptor);
  }
  void TearDown() override {
    EXPECT_EQ(self().area->mailbox.sleepers.load(), 0U);
    EXPECT_EQ(self().area->mailbox.sleeper.load(), 0U);
  }
  static std::uint64_t parks() { return self().area->account.parks.load(); }

  Napper napper{self()};
  static inline int descriptor = -1;
};

TEST_F(Parks, WhatIsThereWhenItLooksAgainIsNotSleptFor) {
  Recorded what;
  what.armed = [&](node::Waiter&) { what.is_ready = true; };
  const std::uint64_t before = parks();
  EXPECT_FALSE(park(self(), what, 0, napper).signalled);
  EXPECT_EQ(what.asked, "arm progress ready disarm ");
  EXPECT_EQ(parks(), before);
}

TEST_F(Parks, ASleepEndsWithItsTime) {
  Recorded what;
  const std::uint64_t before = parks();
  EXPECT_FALSE(park(self(), what, 1'000'000, napper).signalled);
  EXPECT_EQ(what.asked, "arm progress ready sleep disarm ");
  EXPECT_EQ(parks(), before + 1);
}

TEST_F(Parks, WhoeverMakesItReadyEndsTheSleep) {
  Recorded what;
  std::thread other;
  what.armed = [&](node::Waiter& waiter) {
    other = std::thread([&waiter, sleep = sleep_of(waiter)] {
      while (state_of(waiter) != node::Sleep::on_futex) {
        std::this_thread::yield();
      }
      count_down(sleep);
    });
  };
  EXPECT_TRUE(park(self(), what, 0, napper).signalled);
  other.join();
}

TEST_F(Parks, ARingThatComesBeforeItSleepsIsNotLost) {
  Recorded what;
  what.armed = [](node::Waiter& waiter) { count_down(sleep_of(waiter)); };
  EXPECT_TRUE(park(self(), what, 0, napper).signalled);
}

}  // namespace
}  // namespace meantime::wait
