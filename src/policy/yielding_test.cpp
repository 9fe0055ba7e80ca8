#include "policy/yielding.h"

#include <gtest/gtest.h>

namespace meantime::wait {
namespace {

constexpr std::uint64_t quick_ns = 2'000;
constexpr std::uint64_t slice_ns = 3'000'000;

/// So many waits, each ended by its yields; every `slice_every`th of these loses a slice. What lost
/// slices cost a wait on average.
std::uint64_t cost_of(Yielding& yielding, int waits, int slice_every, int* slept) {
  std::uint64_t lost = 0;
  int yields = 0;
  for (int wait = 0; wait < waits; ++wait) {
    if (!yielding.begins()) {
      ++*slept;
      continue;
    }
    const bool slice = ++yields % slice_every == 0;
    yielding.ended(true, slice ? slice_ns : quick_ns);
    lost += slice ? slice_ns : 0;
  }
  return lost / static_cast<std::uint64_t>(waits);
}

TEST(Yielding, ANeighbourThatAlwaysPollsIsPaidForBySleeping) {
  Yielding messages = Yielding::for_messages(1);
  int slept = 0;
  EXPECT_LE(cost_of(messages, 100'000, 1, &slept), 5'100u);
  EXPECT_GT(slept, 99'000);
}

TEST(Yielding, WhereManyShareACpuTheirTurnsAreNoSlicesAndSlicesArePaidByAll) {
  Yielding messages = Yielding::for_messages(32);
  for (int wait = 0; wait < 1'000; ++wait) {
    ASSERT_TRUE(messages.begins());
    messages.ended(true, 800'000);
  }
  int slept = 0;
  EXPECT_LE(cost_of(messages, 100'000, 1, &slept), 165'000u);
  EXPECT_LT(slept, 95'000);
}

TEST(Yielding, AtAGateALostSliceCostsTheNextWaitItsYields) {
  Yielding gates = Yielding::for_gates();
  int slept = 0;
  cost_of(gates, 100'000, 100, &slept);
  EXPECT_GT(slept, 900);
  EXPECT_LT(slept, 1'100);
  Yielding busy = Yielding::for_gates();
  for (int wait = 0; wait < 1'000; ++wait) {
    ASSERT_TRUE(busy.begins()) << "turns of others are no slices";
    busy.ended(true, 800'000);
  }
}

TEST(Yielding, AfterALostSliceItSleeps) {
  Yielding gates = Yielding::for_gates();
  Yields yields;
  ASSERT_TRUE(yields.another(gates));
  for (const std::uint64_t began = now_ns(); now_ns() - began < 1'000'000;) {
  }
  EXPECT_FALSE(yields.another(gates));
  EXPECT_FALSE(yields.another(gates));
  EXPECT_FALSE(yields.have_ended_it());
  EXPECT_FALSE(Yields().another(gates)) << "nor does the next wait";
}

TEST(Yielding, ManyTurnsOfOthersAreWaitedFor) {
  Yielding gates = Yielding::for_gates();
  Yields yields;
  for (int turn = 0; turn < 20; ++turn) {
    ASSERT_TRUE(yields.another(gates));
  }
  EXPECT_TRUE(yields.have_ended_it());
  yields.end();
  EXPECT_TRUE(Yields().another(gates));
}

TEST(Yielding, ItIsTriedAgain) {
  Yielding messages = Yielding::for_messages(1);
  messages.ended(true, 60'000'000'000);  // stopped for a minute
  int slept = 0;
  cost_of(messages, 10'000, 1'000'000, &slept);
  EXPECT_LE(slept, 4'000);
}

TEST(Yielding, InVainItIsTriedMoreAndMoreRarely) {
  Yielding messages = Yielding::for_messages(1);
  int tries = 0;
  for (int wait = 0; wait < 1'600; ++wait) {
    if (messages.begins()) {
      ++tries;
      messages.ended(false, 0);
    }
  }
  EXPECT_LE(tries, 110);
  EXPECT_GE(tries, 90);
}

}  // namespace
}  // namespace meantime::wait
