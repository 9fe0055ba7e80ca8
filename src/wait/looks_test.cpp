#include "wait/looks.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace meantime::wait {
namespace {

Policy policy_of(const char* preset, bool crowded = false) {
  Wish wish;
  EXPECT_EQ(wish.add("MEANTIME_WAIT", preset), "");
  return make_policy(wish, crowded);
}

/// A program that looks every `every_ns`; for so many things in turn.
struct Program {
  Looks looks;
  std::uint64_t now = 1'000'000'000;

  /// The longest nap of so many looks in vain.
  std::uint64_t looks_in_vain(const Policy& policy, int times, std::uint64_t every_ns,
                              unsigned things = 1) {
    std::uint64_t longest = 0;
    for (int time = 0; time < times; ++time) {
      now += every_ns;
      if (looks.in_vain() >= Looks::quick(policy)) {
        const std::uint64_t nap = looks.nap_ns(policy, now, static_cast<unsigned>(time) % things);
        longest = std::max(longest, nap);
        now += nap;
        looks.ends(now);
      }
    }
    return longest;
  }
};

TEST(Looks, AFewDoNotNap) {
  const Policy event = policy_of("event");
  Program program;
  EXPECT_EQ(program.looks_in_vain(event, 64, 50), 0u);
  EXPECT_GT(program.looks_in_vain(event, 1, 50), 0u);
  program.looks.found();
  EXPECT_EQ(program.looks_in_vain(event, 64, 50), 0u);
}

TEST(Looks, NapsGrowWithTheSeriesUpToAMillisecond) {
  const Policy event = policy_of("event");
  Program program;
  EXPECT_EQ(program.looks_in_vain(event, 65, 50), 50'000u);
  EXPECT_EQ(program.looks_in_vain(event, 100, 50), 1'000'000u);
}

TEST(Looks, WhoComputesBetweenThemNeverNaps) {
  EXPECT_EQ(Program().looks_in_vain(policy_of("event"), 10'000, 5'000), 0u);
  EXPECT_EQ(Program().looks_in_vain(policy_of("event", true), 10'000, 5'000), 0u);
}

TEST(Looks, WhoLooksForSeveralThingsNapsShortly) {
  Program program;
  EXPECT_EQ(program.looks_in_vain(policy_of("event"), 1000, 50, 2), 50'000u);
}

TEST(Looks, OnACoreOfItsOwnAdaptivePollsForAMillisecond) {
  const Policy adaptive = policy_of("adaptive");
  Program program;
  EXPECT_EQ(program.looks_in_vain(adaptive, 19'000, 50), 0u);
  EXPECT_GT(program.looks_in_vain(adaptive, 2'000, 50), 0u);
  EXPECT_GT(Program().looks_in_vain(policy_of("adaptive", true), 20, 50), 0u);
}

TEST(Looks, PollAndYieldNeverNap) {
  EXPECT_EQ(Program().looks_in_vain(policy_of("poll"), 100'000, 50), 0u);
  EXPECT_EQ(Program().looks_in_vain(policy_of("yield"), 100'000, 50), 0u);
}

}  // namespace
}  // namespace meantime::wait
