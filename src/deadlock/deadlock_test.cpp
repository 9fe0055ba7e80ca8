#include "deadlock/deadlock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "deadlock/node_state.h"
#include "node/process.h"
#include "node/segment.h"

namespace meantime::wait {
namespace {

char state_of_thread(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_ends = text.rfind(") ");
  return name_ends == std::string::npos ? 0 : text[name_ends + 2];
}

/// Ranks that this process, which has one thread, plays all of: each asleep, as its area says.
class Deadlock : public testing::Test {
 protected:
  static constexpr int ranks = 3;

  void SetUp() override { begin(ranks); }
  void begin(int ranks_here) {
    descriptor_ = node::create_segment(ranks, 2, {.ranks_here = ranks_here});
    ASSERT_GE(descriptor_, 0);
    ASSERT_EQ(node::segment().map(descriptor_), 0);
    for (int rank = 0; rank < ranks_here; ++rank) {
      node::RankArea& area = node::segment().area(rank);
      node::publish_process(area);
      area.asleep = 1;
      area.sleeps = 1;
      set_state(rank, node::RankState::waiting);
    }
    header().asleep = static_cast<std::uint32_t>(ranks_here);
  }
  void TearDown() override {
    node::segment().unmap();
    close(descriptor_);
  }

  static node::Header& header() { return node::segment().header(); }
  static void set_state(int rank, node::RankState state) {
    node::segment().area(rank).report.state = static_cast<std::uint32_t>(state);
  }

 private:
  int descriptor_ = -1;
};

TEST_F(Deadlock, AllAsleep) {
  EXPECT_EQ(look_for_deadlock(Look::thorough), Verdict::deadlock);
}

TEST_F(Deadlock, OneAwake) {
  node::segment().area(1).asleep = 0;
  header().asleep = ranks - 1;
  EXPECT_EQ(look_for_deadlock(Look::thorough), Verdict::running);
}

TEST_F(Deadlock, OneFinalized) {
  node::segment().area(1).asleep = 0;
  header().asleep = ranks - 1;
  header().finalized = 1;
  set_state(1, node::RankState::finalized);
  EXPECT_EQ(look_for_deadlock(Look::thorough), Verdict::deadlock);
}

TEST_F(Deadlock, OneAwayMayComeBack) {
  node::segment().area(1).asleep = 0;
  header().asleep = ranks - 1;
  header().finalized = 1;
  set_state(1, node::RankState::away);
  EXPECT_EQ(look_for_deadlock(Look::thorough), Verdict::doubt);
  node::note_end(node::segment(), 1);
  EXPECT_EQ(look_for_deadlock(Look::thorough), Verdict::deadlock);
  set_state(1, node::RankState::running);
  node::note_end(node::segment(), 1);
  EXPECT_EQ(look_for_deadlock(Look::thorough), Verdict::running);
}

// Rank 1 has signalled rank 0, has taken it off its area's count and lost its core before it took
// it off the sum. Rank 0 has woken, gone on and fallen asleep again: the sum has it twice.
TEST_F(Deadlock, ARingerBetweenItsTwoCounts) {
  for (node::RankState state : {node::RankState::running, node::RankState::waiting}) {
    node::segment().area(1).asleep = 0;
    set_state(1, state);
    EXPECT_EQ(look_for_deadlock(Look::thorough), Verdict::running);
    EXPECT_EQ(look_for_deadlock(Look::hasty), Verdict::running);
  }
}

// A thread of the searcher's own rank has counted itself in, was signalled before it slept, and has
// lost its core before it counted itself out again.
TEST_F(Deadlock, AnotherThreadOfTheSearchersProcessIsAwake) {
  std::atomic<bool> over{false};
  std::thread awake([&] {
    while (!over) {
    }
  });
  for (int rank = 0; rank < ranks; ++rank) {
    node::segment().area(rank).asleep = 2;
  }
  EXPECT_EQ(look_for_deadlock(Look::thorough), Verdict::doubt);
  EXPECT_EQ(look_for_deadlock(Look::hasty), Verdict::doubt);
  over = true;
  awake.join();
}

TEST_F(Deadlock, SomethingOpen) {
  node::segment().area(2).open_ended = 1;
  EXPECT_EQ(look_for_deadlock(Look::hasty), Verdict::doubt);
  EXPECT_EQ(look_for_deadlock(Look::thorough), Verdict::quiet);
  EXPECT_EQ(ranks_that_may_be_woken(), std::vector<int>{2});
}

TEST_F(Deadlock, AThreadOutsideOfMpiSleeps) {
  std::mutex lock;
  std::condition_variable told;
  std::atomic<int> id{0};
  bool over = false;
  std::thread idle([&] {
    std::unique_lock<std::mutex> locked(lock);
    id = gettid();
    told.wait(locked, [&] { return over; });
  });
  while (id == 0 || state_of_thread(id) != 'S') {
    std::this_thread::yield();
  }
  EXPECT_EQ(look_for_deadlock(Look::hasty), Verdict::doubt);
  EXPECT_EQ(look_for_deadlock(Look::thorough), Verdict::quiet);
  EXPECT_EQ(ranks_that_may_be_woken(), std::vector<int>{0});  // it stands for those of its process
  {
    const std::lock_guard<std::mutex> locked(lock);
    over = true;
  }
  told.notify_one();
  idle.join();
}

TEST_F(Deadlock, StillnessLastsUntilSomebodyMoves) {
  still_ns = 0;
  Stillness stillness;
  EXPECT_FALSE(stillness.lasts(Verdict::doubt));
  EXPECT_TRUE(stillness.lasts(Verdict::quiet));
  still_ns = 3'600'000'000'000;
  EXPECT_FALSE(stillness.lasts(Verdict::quiet));
  still_ns = 0;
  node::segment().area(1).sleeps = 2;
  EXPECT_TRUE(stillness.lasts(Verdict::quiet));
  EXPECT_FALSE(stillness.lasts(Verdict::running));
}

/// The last rank is on another node.
class OneOfSeveralNodes : public Deadlock {
 protected:
  void SetUp() override { begin(ranks - 1); }
  static NodeState state() { return look_at_node(node::segment(), Look::thorough); }
};

TEST_F(OneOfSeveralNodes, IsStill) {
  EXPECT_EQ(look_for_deadlock(Look::hasty), Verdict::doubt);
  EXPECT_EQ(look_for_deadlock(Look::thorough), Verdict::deadlock);
  EXPECT_EQ(state().waiting, 2u);
}

TEST_F(OneOfSeveralNodes, OneAwakeOrNotThereYet) {
  node::segment().area(1).asleep = 0;
  header().asleep = 1;
  for (node::RankState other : {node::RankState::running, node::RankState::absent}) {
    set_state(1, other);
    EXPECT_EQ(state(), NodeState{});
    header().finalized = 1;  // the sum is wrong for a moment
    EXPECT_EQ(state(), NodeState{});
    header().finalized = 0;
  }
}

TEST_F(OneOfSeveralNodes, SumsOfItsRanks) {
  const NodeState before = state();
  node::segment().area(0).traffic.sent = 5;
  node::segment().area(1).traffic.sent = 6;
  node::segment().area(0).traffic.taken = 3;
  node::segment().area(1).traffic.under_way = 2;
  node::segment().area(0).traffic.offered = 1;
  node::segment().area(1).sleeps = 2;
  NodeState expected = before;
  expected.moves += 1;
  expected.sent = 11;
  expected.taken = 3;
  expected.under_way = 2;
  expected.offered = 1;
  EXPECT_EQ(state(), expected);
}

TEST_F(OneOfSeveralNodes, APayloadIsOnItsWay) {
  node::segment().area(0).traffic.fetching = 1;
  EXPECT_EQ(state().verdict, Verdict::doubt);
}

TEST_F(OneOfSeveralNodes, AllHaveEnded) {
  for (int rank = 0; rank < 2; ++rank) {
    node::segment().area(rank).asleep = 0;
    set_state(rank, node::RankState::finalized);
  }
  header().asleep = 0;
  header().finalized = 2;
  EXPECT_EQ(state().verdict, Verdict::deadlock);
  EXPECT_EQ(state().waiting, 0u);
  EXPECT_EQ(look_for_deadlock(Look::thorough), Verdict::running);
}

TEST_F(OneOfSeveralNodes, ThreadsOfTheNetworkSleepWithTheirProcess) {
  node::segment().area(0).network_threads = 1;  // of this process, which has none
  EXPECT_EQ(state().verdict, Verdict::doubt);
  std::mutex lock;
  std::condition_variable told;
  std::atomic<int> id{0};
  bool over = false;
  std::thread network([&] {
    std::unique_lock<std::mutex> locked(lock);
    id = gettid();
    told.wait(locked, [&] { return over; });
  });
  while (id == 0 || state_of_thread(id) != 'S') {
    std::this_thread::yield();
  }
  EXPECT_EQ(state().verdict, Verdict::deadlock);
  node::segment().area(0).network_threads = 0;
  EXPECT_EQ(state().verdict, Verdict::quiet);
  {
    const std::lock_guard<std::mutex> locked(lock);
    over = true;
  }
  told.notify_one();
  network.join();
}

}  // namespace
}  // namespace meantime::wait
