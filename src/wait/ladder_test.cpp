// What a wait does at its end for the other threads of its rank.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "node/segment.h"
#include "rank/rank.h"
#include "wait/learning/experience.h"
#include "wait/wait.h"

namespace meantime::wait {
namespace {

/// Over at the second look.
class Message final : public Awaited {
 public:
  bool ready() override { return looks++ != 0; }
  bool progress() override { return false; }
  void arm(node::Waiter&) override {}
  void disarm(node::Waiter&) override {}
  void describe(Situation&) const override {}
  void about_to_sleep() override { ++let_go; }

  int looks = 0;
  int let_go = 0;
};

class Waits : public testing::Test {
 protected:
  void SetUp() override {
    descriptor_ = node::create_segment(1, 1);
    ASSERT_GE(descriptor_, 0);
    ASSERT_EQ(node::segment().map(descriptor_), 0);
    self().area = &node::segment().area(0);
    self().experience = std::make_shared<Experience>();
    self().lock.enable();
  }
  void TearDown() override {
    self().experience.reset();
    self().area = nullptr;
    node::segment().unmap();
    close(descriptor_);
  }
  static int let_go_with_sleepers(std::uint32_t sleepers) {
    self().area->mailbox.sleepers = sleepers;
    Message message;
    until(message);
    EXPECT_EQ(self().area->mailbox.lookers, 0U);
    return message.let_go;
  }

 private:
  int descriptor_ = -1;
};

// Whoever lacked memory meanwhile rang nobody of this rank, because a thread of it was awake.
TEST_F(Waits, WhatTheRankHasFreeIsForOthersWhenOnlySleepersStay) {
  EXPECT_EQ(let_go_with_sleepers(1), 1);
  EXPECT_EQ(let_go_with_sleepers(0), 0) << "it computes, and is awake";
}

}  // namespace
}  // namespace meantime::wait
