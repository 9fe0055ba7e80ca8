// The doorbell with threads as ranks over one segment: who is signalled wakes, nobody is signalled
// twice for one sleep, and only a sleeper costs a system call. ThreadSanitizer runs it too;
// tests/model has the proof.
#include "sleep/doorbell.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "node/segment.h"
#include "rank/rank.h"

namespace meantime::wait {
namespace {

using node::Sleep;

class Doorbell : public testing::Test {
 protected:
  Doorbell() {
    descriptor_ = node::create_segment(2, 2);
    EXPECT_EQ(node::segment().map(descriptor_), 0);
    node::segment().header().on_deadlock = 2;  // threads of one process are no ranks to look at
    self().area = &node::segment().area(1);    // where rings are counted
    bell = waiter_of(0);
  }
  ~Doorbell() override {
    EXPECT_EQ(node::segment().header().asleep.load(), 0U) << "who wakes is counted out";
    self().area = nullptr;
    node::segment().unmap();
    close(descriptor_);
  }

  static node::Waiter* waiter_of(int world_rank) {
    auto* waiter = node::segment().at<node::Waiter>(node::segment().grow(4096));
    waiter->owner = static_cast<std::uint32_t>(world_rank);
    return waiter;
  }
  /// Rings that woke somebody, each with a system call.
  static std::uint64_t paid_rings() { return self().area->account.rings.load(); }
  static void until_asleep(const node::Waiter& waiter) {
    while (state_of(waiter) != Sleep::on_futex) {
      std::this_thread::yield();
    }
  }
  static Sleep sleep(node::Waiter& waiter) {
    begin_sleep(waiter);
    sleep_until_signalled(waiter);
    return end_sleep(waiter);
  }

  node::Waiter* bell;

 private:
  int descriptor_ = -1;
};

TEST_F(Doorbell, WhoIsAwakeIsLeftAlone) {
  ring(*bell);
  EXPECT_EQ(state_of(*bell), Sleep::awake);
  EXPECT_EQ(paid_rings(), 0U);
}

TEST_F(Doorbell, RungBeforeItSleepsItDoesNotSleep) {
  begin_sleep(*bell);
  ring(*bell);
  sleep_until_signalled(*bell);
  EXPECT_EQ(end_sleep(*bell), Sleep::signalled);
  EXPECT_EQ(paid_rings(), 0U) << "no system call where nobody sleeps";
}

TEST_F(Doorbell, OneOfManyRingersPays) {
  constexpr int ringers = 4;
  std::thread sleeper([this] { EXPECT_EQ(sleep(*bell), Sleep::signalled); });
  until_asleep(*bell);
  std::vector<std::thread> threads;
  for (int index = 0; index < ringers; ++index) {
    threads.emplace_back([this] { ring(*bell); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  sleeper.join();
  EXPECT_EQ(paid_rings(), 1U);
}

// What any thread of the rank may do wakes none of them while one looks by itself; what a thread
// waits for itself does.
TEST_F(Doorbell, WhatAProgressingThreadFindsRingsNobody) {
  node::Mailbox& box = node::segment().area(0).mailbox;
  begin_sleep(*bell);
  expect(*bell, 1);
  const node::SleepLink for_the_rank = sleep_of(*bell) | node::for_the_rank;
  box.sleeper = sleep_of(*bell);
  box.progressing = 1;
  count_down(for_the_rank);
  ring_rank(0);
  EXPECT_EQ(state_of(*bell), Sleep::arming);
  box.progressing = 0;
  count_down(for_the_rank);
  EXPECT_EQ(end_sleep(*bell), Sleep::signalled) << "nor was it counted";

  begin_sleep(*bell);
  expect(*bell, 1);
  box.sleeper = sleep_of(*bell);
  ring_rank(0);
  EXPECT_EQ(end_sleep(*bell), Sleep::signalled);

  begin_sleep(*bell);
  expect(*bell, 1);
  box.progressing = 1;
  count_down(sleep_of(*bell));
  EXPECT_EQ(end_sleep(*bell), Sleep::signalled);
  box.progressing = 0;
  box.sleeper = 0;
}

TEST_F(Doorbell, CountDownRingsAtZero) {
  std::thread sleeper([this] {
    begin_sleep(*bell);
    expect(*bell, 3);
    sleep_until_signalled(*bell);
    end_sleep(*bell);
  });
  until_asleep(*bell);
  const node::SleepLink sleep = sleep_of(*bell);
  count_down(sleep);
  count_down(sleep);
  EXPECT_EQ(state_of(*bell), Sleep::on_futex);
  count_down(sleep);
  sleeper.join();
}

// Whoever completed something loses his core before he rings; the sleeper goes on by itself.
TEST_F(Doorbell, ALateRingDoesNotHitTheNextSleep) {
  begin_sleep(*bell);
  expect(*bell, 1);
  const node::SleepLink earlier = sleep_of(*bell);
  end_sleep(*bell);
  begin_sleep(*bell);
  count_down(earlier);  // before the new one says what it expects
  expect(*bell, 1);
  count_down(earlier);
  ring(earlier);
  EXPECT_EQ(state_of(*bell), Sleep::arming);
  EXPECT_EQ(expect_more(*bell, 1), 2);
  EXPECT_FALSE(expect_instead(*bell, 1, 5));
  EXPECT_TRUE(expect_instead(*bell, 2, 1));
  count_down(sleep_of(*bell));
  EXPECT_EQ(end_sleep(*bell), Sleep::signalled);
}

TEST_F(Doorbell, NumbersOfSleepsComeRound) {
  for (int sleep = 0; sleep < 1 << 17; ++sleep) {
    begin_sleep(*bell);
    expect(*bell, 1);
    ASSERT_EQ(state_of(*bell), Sleep::arming);
    count_down(sleep_of(*bell));
    ASSERT_EQ(end_sleep(*bell), Sleep::signalled) << sleep;
  }
}

TEST_F(Doorbell, OnlyTheRankThatIsMeantWakes) {
  node::Waiter* other = waiter_of(1);
  std::thread meant([this] {
    begin_sleep(*bell);
    node::segment().area(0).mailbox.sleeper = sleep_of(*bell);
    sleep_until_signalled(*bell);
    node::segment().area(0).mailbox.sleeper = 0;  // off the list, then awake
    end_sleep(*bell);
  });
  std::thread sleeper([other] { sleep(*other); });
  until_asleep(*bell);
  until_asleep(*other);
  ring_rank(0);
  meant.join();
  EXPECT_EQ(state_of(*other), Sleep::on_futex);
  ring(*other);
  sleeper.join();
}

TEST_F(Doorbell, SleepsForALimitedTime) {
  begin_sleep(*bell);
  sleep_until_signalled_or(*bell, 1'000'000);
  EXPECT_EQ(end_sleep(*bell), Sleep::arming) << "nobody rang";
}

// Each waits for the other's word; a wake-up that is lost hangs both.
TEST_F(Doorbell, NoWakeUpIsLost) {
  constexpr int rounds = 20'000;
  node::Waiter* bells[] = {bell, waiter_of(1)};
  std::atomic<int> word[] = {0, 0};
  auto play = [&](int me) {
    for (int round = 1; round <= rounds; ++round) {
      if (me == 0) {
        word[0].store(round, std::memory_order_relaxed);
        ring(*bells[1]);
      }
      while (word[1 - me].load(std::memory_order_relaxed) < round) {
        begin_sleep(*bells[me]);
        if (word[1 - me].load(std::memory_order_relaxed) < round) {
          sleep_until_signalled(*bells[me]);
        }
        end_sleep(*bells[me]);
      }
      if (me == 1) {
        word[1].store(round, std::memory_order_relaxed);
        ring(*bells[0]);
      }
    }
  };
  std::thread second(play, 1);
  play(0);
  second.join();
}

}  // namespace
}  // namespace meantime::wait
