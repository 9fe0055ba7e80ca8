// What a wait does at its end for the other threads of its rank; and a rung of a test's own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "base/replaced.h"
#include "node/segment.h"
#include "rank/rank.h"
#include "wait/experience.h"
#include "wait/ladder.h"

namespace meantime::wait {
namespace {

/// Over once it has been looked at so often.
class Message final : public Awaited {
 public:
  explicit Message(int looks_in_vain = 1) : in_vain(looks_in_vain) {}
  bool ready() override { return looks++ >= in_vain; }
  bool progress() override { return false; }
  void arm(node::Waiter&) override {}
  void disarm(node::Waiter&) override {}
  void describe(Situation&) const override {}
  void about_to_sleep() override { ++let_go; }

  const int in_vain;
  int looks = 0;
  int let_go = 0;
};

/// A long one: a piece of it comes every few milliseconds.
class Pieces final : public Awaited {
 public:
  bool ready() override { return pieces_ == 40; }
  bool progress() override {
    const std::uint64_t now = now_ns();
    const bool comes = now - last_ >= 5'000'000;
    if (comes) {
      ++pieces_;
      last_ = now;
    }
    return comes;
  }
  void arm(node::Waiter&) override { ADD_FAILURE() << "it sleeps"; }
  void disarm(node::Waiter&) override {}
  void describe(Situation&) const override {}

 private:
  int pieces_ = 0;
  std::uint64_t last_ = now_ns();
};

/// What CONTRIBUTING.md shows: does something useful in the first turns of a long wait.
struct Guest : Rung<ledger::Activity::help> {
  static bool is_due(LongWait& wait) { return wait.turns <= 3; }
  static void step(LongWait&) { ++steps; }
  static inline int steps = 0;
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
    EXPECT_EQ(self().area->mailbox.progressing, 0U);
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

TEST_F(Waits, ANewRungHasTheTurnsInWhichItIsDue) {
  Message message(10);
  Progressing progressing(self());
  LongWait wait(self(), message, progressing);
  EXPECT_TRUE((climb<Guest, Poll, Park>(wait)));
  EXPECT_EQ(Guest::steps, 3);
  EXPECT_EQ(message.looks, 11);
  progressing.go();
}

// Patience is with each piece, and not with all of them.
TEST_F(Waits, WhoGetsALongMessageInPiecesPollsBetweenThem) {
  PolicySettings given;
  given.wake_up_us = 20'000;
  const Replaced of_host(policy(), make_policy(given, false));
  const Replaced of_rank(self().policy, policy());
  ASSERT_EQ(policy().first_patience(), 120'000'000U);
  Pieces pieces;
  until(pieces);
}

TEST_F(Waits, OfRungsThatAreNotDueThereIsNoTurn) {
  Message message(10);
  Wait wait(self(), message, 4);
  EXPECT_FALSE(climb<Look>(wait));
  EXPECT_EQ(message.looks, 4);
}

}  // namespace
}  // namespace meantime::wait
