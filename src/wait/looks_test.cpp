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
        looks.ends(now, nap != 0);
        naps += nap != 0 ? 1 : 0;
        now += nap != 0 ? after_nap_ns : 0;
      }
    }
    return longest;
  }

  std::uint64_t after_nap_ns = 0;  ///< what the first look after a nap takes longer
  int naps = 0;
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

TEST(Looks, AColdReturnFromANapDoesNotEndTheSeries) {
  for (const char* preset : {"event", "adaptive"}) {
    Program program;
    program.after_nap_ns = 40'000;
    program.looks_in_vain(policy_of(preset), 100'000, 50);
    EXPECT_GT(program.naps, 39'000) << preset;  // every other look, after the first millisecond
  }
}

TEST(Looks, WhoComputesAfterANapEndsTheSeries) {
  Program program;
  const Policy event = policy_of("event");
  EXPECT_GT(program.looks_in_vain(event, 1'000, 50), 0u);
  program.naps = 0;
  program.looks_in_vain(event, 1'000, 30'000);
  EXPECT_LE(program.naps, 1);
}

TEST(Looks, AnInterruptDoesNotEndTheSeries) {
  const Policy adaptive = policy_of("adaptive");
  Program program;
  for (int part = 0; part < 10; ++part) {
    program.looks_in_vain(adaptive, 3'000, 50);
    program.now += 10'000;
  }
  EXPECT_GT(program.naps, 0);
}

TEST(Looks, SinceWhenTheProgramHasBeenAsking) {
  const Policy event = policy_of("event");
  Program program;
  program.looks_in_vain(event, 64, 50);
  const std::uint64_t began = program.now;
  program.looks_in_vain(event, 100, 50);
  program.looks_in_vain(event, 100, 5'000);  // computes a little in between
  EXPECT_EQ(program.looks.asking_since_ns(), began);
  program.looks_in_vain(event, 1, 20'000'000);
  EXPECT_EQ(program.looks.asking_since_ns(), program.now);
  program.looks.found();
  program.looks_in_vain(event, 64, 50);
  EXPECT_EQ(program.looks.asking_since_ns(), program.now);
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
