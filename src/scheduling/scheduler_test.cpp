#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "scheduling/asymmetric_fence.h"
#include "scheduling/fiber.h"
#include "scheduling/scheduler.h"

namespace meantime::ranks {
namespace {

TEST(RunQueue, FirstComeFirstServedAllTheWayRound) {
  Fiber fibers[3];
  RunQueue queue;
  queue.make_room(3);
  for (int round = 0; round < 10; ++round) {
    EXPECT_TRUE(queue.empty());
    for (Fiber& fiber : fibers) {
      queue.push(fiber);
    }
    EXPECT_EQ(queue.size(), 3u);
    for (Fiber& fiber : fibers) {
      EXPECT_EQ(&queue.pop(), &fiber);
    }
  }
}

TEST(RunQueue, TakesTheFirstWantedAndKeepsTheOthersInOrder) {
  Fiber fibers[4];
  RunQueue queue;
  queue.make_room(4);
  for (int round = 0; round < 7; ++round) {
    for (Fiber& fiber : fibers) {
      queue.push(fiber);
    }
    EXPECT_EQ(queue.take([&](const Fiber& one) { return &one >= &fibers[1]; }), &fibers[1]);
    EXPECT_EQ(&queue.pop(), &fibers[0]);
    EXPECT_EQ(queue.take([](const Fiber&) { return false; }), nullptr);
    EXPECT_EQ(&queue.pop(), &fibers[2]);
    EXPECT_EQ(&queue.pop(), &fibers[3]);
    EXPECT_EQ(queue.take([](const Fiber&) { return true; }), nullptr);
  }
}

/// The carrier and outsiders count in turns what only who holds the worker may touch.
TEST(Holding, OneAtATime) {
  AsymmetricFence::prepare();
  static node::WorkerPlace place;
  Worker worker(0, place);
  Carrier carrier;
  worker.set_carrier(carrier);
  long counter = 0;
  std::atomic<bool> done{false};
  long taken = 0;
  std::thread outsider([&] {
    while (!done.load()) {
      if (worker.try_take()) {
        const long seen = counter;
        for (int i = 0; i < 100; ++i) {
          asm volatile("" ::: "memory");
        }
        counter = seen + 1;
        ++taken;
        worker.give_back();
        std::this_thread::yield();  // who comes back at once leaves the carrier no gap
      }
    }
  });
  constexpr long turns = 300000;
  for (long i = 0; i < turns; ++i) {
    ASSERT_TRUE(worker.enter(carrier));
    ++counter;
    worker.leave_hold(carrier);
  }
  done.store(true);
  outsider.join();
  EXPECT_EQ(counter, turns + taken);
}

TEST(Holding, NotForAFormerCarrier) {
  static node::WorkerPlace place;
  Worker worker(0, place);
  Carrier former;
  Carrier now;
  worker.set_carrier(now);
  EXPECT_FALSE(worker.enter(former));
  EXPECT_TRUE(worker.enter(now));
  EXPECT_FALSE(worker.try_take());
  worker.leave_hold(now);
  EXPECT_TRUE(worker.try_take());
  worker.give_back();
}

}  // namespace
}  // namespace meantime::ranks
