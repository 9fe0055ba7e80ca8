// A rank that hears the network and its bell at once: each wakes it, and none of both is lost. The
// network is a pipe, the others are threads.
#include "sleep/ear.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "node/segment.h"
#include "rank/rank.h"
#include "sleep/doorbell.h"

namespace meantime::wait {
namespace {

using node::Sleep;

class EarOfRank : public testing::Test {
 protected:
  EarOfRank() {
    descriptor_ = node::create_segment(2, 2);
    EXPECT_EQ(node::segment().map(descriptor_), 0);
    node::segment().header().on_deadlock = 2;  // threads of one process are no ranks to look at
    for (int rank = 0; rank < 2; ++rank) {
      node::segment().area(rank).pid = getpid();
    }
    bell = node::segment().at<node::Waiter>(node::segment().grow(4096));
    EXPECT_EQ(pipe2(network, O_CLOEXEC | O_NONBLOCK), 0);
    wait::ear() = &ear;
  }
  ~EarOfRank() override {
    EXPECT_EQ(node::segment().header().asleep.load(), 0U) << "who wakes is counted out";
    wait::ear() = nullptr;
    close(network[0]);
    close(network[1]);
    node::segment().unmap();
    close(descriptor_);
  }

  void be_held_by_all() {
    EXPECT_EQ(ear.open(network[0]), 0);
    ear.hold_bells();
    node::segment().area(0).bell_holders.fetch_add(1);  // the other rank's process, which is ours
  }
  /// Its other ranks have the bell open in both ways, it itself an end of it in each.
  static void close_what_is_open(int way) {
    for (int descriptor = 3; descriptor < 1000; ++descriptor) {
      struct stat status {};
      if (fstat(descriptor, &status) == 0 && status.st_ino == node::segment().area(0).bell_file &&
          (fcntl(descriptor, F_GETFL) & O_ACCMODE) == way) {
        close(descriptor);
      }
    }
  }
  void something_comes() const {
    const char byte = 0;
    EXPECT_EQ(write(network[1], &byte, 1), 1);
  }
  void take_it() const {
    char byte;
    EXPECT_EQ(read(network[0], &byte, 1), 1);
  }
  Sleep sleep() const {
    begin_sleep(*bell);
    sleep_until_signalled(*bell);
    return end_sleep(*bell);
  }
  void until_it_is(Sleep state) const {
    while (state_of(*bell) != state) {
      std::this_thread::yield();
    }
  }

  Ear ear{0, 1, {0, 1}};
  node::Waiter* bell;
  int network[2];

 private:
  int descriptor_ = -1;
};

TEST_F(EarOfRank, HearsOnlyWhenAllCanRingIt) {
  EXPECT_FALSE(hears_for_itself());
  EXPECT_EQ(ear.open(network[0]), 0);
  ear.hold_bells();
  EXPECT_FALSE(hears_for_itself()) << "the other rank does not hold the bell yet";
  node::segment().area(0).bell_holders.fetch_add(1);
  EXPECT_TRUE(hears_for_itself());
}

TEST_F(EarOfRank, IsWokenByARing) {
  be_held_by_all();
  std::thread sleeper([this] { EXPECT_EQ(sleep(), Sleep::signalled); });
  until_it_is(Sleep::hearing);
  ring(*bell);
  sleeper.join();
}

TEST_F(EarOfRank, IsWokenByTheNetwork) {
  be_held_by_all();
  std::thread sleeper([this] { EXPECT_EQ(sleep(), Sleep::signalled); });
  until_it_is(Sleep::hearing);
  something_comes();
  sleeper.join();
}

TEST_F(EarOfRank, SleepsForALimitedTime) {
  be_held_by_all();
  begin_sleep(*bell);
  sleep_until_signalled_or(*bell, 1'000'000);
  EXPECT_EQ(end_sleep(*bell), Sleep::arming) << "nobody rang";
}

TEST_F(EarOfRank, ARingOfAnEarlierSleepDoesNotEndIt) {
  be_held_by_all();
  std::thread sleeper([this] { EXPECT_EQ(sleep(), Sleep::signalled); });
  until_it_is(Sleep::hearing);
  ear.ring(0);  // the byte alone
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(state_of(*bell), Sleep::hearing);
  ring(*bell);
  sleeper.join();
}

TEST_F(EarOfRank, ABellThatTheProgramHasClosedIsTakenAgain) {
  be_held_by_all();
  close_what_is_open(O_RDWR);
  std::thread sleeper([this] { EXPECT_EQ(sleep(), Sleep::signalled); });
  until_it_is(Sleep::hearing);
  ring(*bell);
  sleeper.join();
}

TEST_F(EarOfRank, ARingForAProcessThatHasEndedIsNoSignal) {
  be_held_by_all();
  close_what_is_open(O_RDONLY);
  ear.ring(0);
}

TEST_F(EarOfRank, NobodySleepsBesideABellThatTheProgramHasClosed) {
  be_held_by_all();
  wait::unheard_hook = [](int, int error) { _exit(error); };
  close_what_is_open(O_RDONLY);
  EXPECT_EXIT(ear.hear(~std::uint64_t{0}), testing::ExitedWithCode(EBADF), "");
}

// Both at once, by two threads that do not wait for each other; a wake-up that is lost hangs.
TEST_F(EarOfRank, NoWakeUpIsLost) {
  be_held_by_all();
  constexpr int rounds = 10'000;
  std::atomic<int> rung{0};
  std::atomic<int> sent{0};
  std::atomic<int> seen{0};
  std::thread ringer([&] {
    for (int round = 1; round <= rounds; ++round) {
      rung.store(round, std::memory_order_relaxed);
      ring(*bell);
      while (round % 3 == 0 && seen.load() < round) {
        std::this_thread::yield();
      }
    }
  });
  std::thread network_of_others([&] {
    for (int round = 1; round <= rounds; ++round) {
      something_comes();
      while (sent.load() < round) {
        std::this_thread::yield();
      }
    }
  });
  while (rung.load(std::memory_order_relaxed) < rounds || sent.load() < rounds) {
    const int before = rung.load(std::memory_order_relaxed);
    seen.store(before);
    begin_sleep(*bell);
    char byte;
    if (read(network[0], &byte, 1) == 1) {
      sent.fetch_add(1);
    } else if (rung.load(std::memory_order_relaxed) == before &&
               (before < rounds || sent.load() < rounds)) {
      sleep_until_signalled(*bell);
    }
    end_sleep(*bell);
  }
  ringer.join();
  network_of_others.join();
}

}  // namespace
}  // namespace meantime::wait
