#include "wait/short_wait.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "node/segment.h"

namespace meantime::wait {
namespace {

using ledger::Activity;

TEST(ShortWait, AFewLooksThatTookLongDidNotHaveTheCore) {
  EXPECT_EQ(held_up_ns(Activity::poll, 500, 8), 0U);
  EXPECT_EQ(held_up_ns(Activity::poll, 9'000'000, 8), 9'000'000U);
  EXPECT_EQ(held_up_ns(Activity::poll, 9'000'000, 8 << 20), 0U) << "a copy";
  EXPECT_EQ(held_up_ns(Activity::help, 9'000'000, 8), 0U) << "other ranks' turns";
}

/// Something that has nothing to say of itself once it is over, as requests have not.
class Message final : public Awaited {
 public:
  explicit Message(std::uint64_t bytes) : bytes_(bytes) {}
  bool ready() override { return over; }
  bool progress() override { return false; }
  void arm(node::Waiter&) override {}
  void disarm(node::Waiter&) override {}
  void describe(Situation& situation) const override {
    ++asked;
    situation.bytes = over ? 0 : bytes_;
    situation.requests = over ? 0 : 2;
  }

  bool over = false;
  mutable int asked = 0;

 private:
  std::uint64_t bytes_;
};

class ShortWaits : public testing::Test {
 protected:
  void SetUp() override {
    descriptor_ = node::create_segment(1, 1);
    ASSERT_GE(descriptor_, 0);
    ASSERT_EQ(node::segment().map(descriptor_), 0);
    rank_.area = &node::segment().area(0);
    rank_.experience = std::make_shared<Experience>();
  }
  void TearDown() override {
    node::segment().unmap();
    close(descriptor_);
  }
  std::uint64_t held_up_ns() const { return rank_.area->account.held_up_ns; }
  /// Longer than some looks take.
  void wait_for(Message& message) {
    ShortWait wait(rank_, &message);
    usleep(200);
    message.over = true;
    wait.over(Activity::poll);
  }

  Rank rank_;

 private:
  int descriptor_ = -1;
};

TEST_F(ShortWaits, WhatIsCopiedIsKnownBeforeItIs) {
  Message large(64 * 1024);
  wait_for(large);  // two of them
  EXPECT_EQ(held_up_ns(), 0U);
  Message small(8);
  wait_for(small);
  EXPECT_GE(held_up_ns(), 200'000U);
}

TEST_F(ShortWaits, AskOnlyIfTheyAreTimed) {
  Message message(8);
  for (int wait = 0; wait < 1000; ++wait) {
    ShortWait(rank_, &message).over(Activity::poll);
  }
  EXPECT_GT(message.asked, 16);
  EXPECT_LT(message.asked, 300);
}

}  // namespace
}  // namespace meantime::wait
