#include "policy/test_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

namespace meantime::wait {
namespace {

Policy policy_of(const char* preset, bool crowded = false) {
  PolicySettings given;
  EXPECT_EQ(given.add("MEANTIME_WAIT", preset), "");
  EXPECT_EQ(given.add("MEANTIME_WAKE_UP_COST", "25"), "");  // so that 50 us are worth a nap
  return make_policy(given, crowded);
}

/// What a program tests for: things by their number.
class Things final : public WatchedThings {
 public:
  std::size_t size() const override { return things_.size(); }
  void forget_all() override { things_.clear(); }
  bool forget_what_is_there() override { return false; }
  bool keeps_awake() const override { return false; }
  bool watch(unsigned thing) { return things_.insert(thing).second; }

 private:
  std::set<unsigned> things_;
};

/// A program that tests every `every_ns`; for so many things in turn.
struct Program {
  TestLoop loop;
  std::uint64_t now = 1'000'000'000;

  Program() { loop.watched = std::make_shared<Things>(); }

  /// The longest nap of so many tests in vain.
  std::uint64_t tests_in_vain(const Policy& policy, int times, std::uint64_t every_ns,
                              unsigned things = 1) {
    std::uint64_t longest = 0;
    for (int time = 0; time < times; ++time) {
      longest = std::max(longest, test(policy, every_ns, static_cast<unsigned>(time) % things));
    }
    return longest;
  }

  std::uint64_t test(const Policy& policy, std::uint64_t every_ns, unsigned thing) {
    now += every_ns;
    loop.in_vain();
    if (!loop.long_series(policy)) {
      return 0;
    }
    std::uint64_t nap = 0;
    if (loop.goes_on(policy, now, thing + 1)) {
      const bool changed = static_cast<Things&>(*loop.watched).watch(thing);
      nap = loop.nap_ns(policy, 1, loop.watched->size(), changed);
    }
    now += nap;
    loop.ends(now, nap);
    naps += nap != 0 ? 1 : 0;
    now += nap != 0 ? after_nap_ns : 0;
    return nap;
  }

  std::uint64_t after_nap_ns = 0;  ///< what the first test after a nap takes longer
  int naps = 0;
};

TEST(InATestLoop, AFewDoNotNap) {
  const Policy event = policy_of("event");
  Program program;
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(program.tests_in_vain(event, 64 + 100'000 / 50 - 1, 50), 0u);
    EXPECT_GT(program.tests_in_vain(event, 2, 50), 0u);
    program.loop.found();
  }
}

TEST(InATestLoop, WhoTestsAHundredTimesAndThenWorksNeverNaps) {
  for (const bool crowded : {false, true}) {
    Program program;
    const Policy policy = policy_of(crowded ? "adaptive" : "event", crowded);
    for (int step = 0; step < 1'000; ++step) {
      program.tests_in_vain(policy, 100, 50);
      program.now += 10'000;
    }
    EXPECT_EQ(program.naps, 0);
  }
}

TEST(InATestLoop, NapsGrowWithTheSeriesUpToAMillisecond) {
  const Policy event = policy_of("event");
  Program program;
  EXPECT_EQ(program.tests_in_vain(event, 64 + 100'000 / 50 + 1, 50), 50'000u);
  EXPECT_EQ(program.tests_in_vain(event, 100, 50), 1'000'000u);
}

TEST(InATestLoop, WhoComputesBetweenThemNeverNaps) {
  EXPECT_EQ(Program().tests_in_vain(policy_of("event"), 10'000, 5'000), 0u);
  EXPECT_EQ(Program().tests_in_vain(policy_of("event", true), 10'000, 5'000), 0u);
}

TEST(InATestLoop, AColdReturnFromANapDoesNotEndTheSeries) {
  for (const char* preset : {"event", "adaptive"}) {
    Program program;
    program.after_nap_ns = 40'000;
    program.tests_in_vain(policy_of(preset), 100'000, 50);
    // Every other test, or an eighth of the time, after the first millisecond.
    EXPECT_GT(program.naps, preset == std::string_view("event") ? 39'000 : 10) << preset;
  }
}

TEST(InATestLoop, WhoComputesAfterANapEndsTheSeries) {
  Program program;
  const Policy event = policy_of("event");
  EXPECT_GT(program.tests_in_vain(event, 3'000, 50), 0u);
  program.naps = 0;
  program.tests_in_vain(event, 1'000, 30'000);
  EXPECT_LE(program.naps, 1);
}

TEST(InATestLoop, SinceWhenTheProgramHasBeenTesting) {
  const Policy event = policy_of("event");
  Program program;
  program.tests_in_vain(event, 64, 50);
  const std::uint64_t began = program.now;
  program.tests_in_vain(event, 100, 50);
  program.tests_in_vain(event, 100, 5'000);  // computes a little in between
  EXPECT_EQ(program.loop.since_ns(), began);
  program.tests_in_vain(event, 1, 20'000'000);
  EXPECT_EQ(program.loop.since_ns(), program.now);
  program.loop.found();
  program.tests_in_vain(event, 64, 50);
  EXPECT_EQ(program.loop.since_ns(), program.now);
}

TEST(InATestLoop, WhoTestsForSeveralThingsNapsOnceARound) {
  for (const unsigned things : {2u, 8u, 64u}) {
    Program program;
    const Policy event = policy_of("event");
    program.tests_in_vain(event, 4'000, 50, things);
    program.naps = 0;
    EXPECT_EQ(program.tests_in_vain(event, 640, 50, things), 1'000'000u) << things;
    // The first test after a nap is none of a round.
    const int naps = 640 / (static_cast<int>(things) + 1);
    EXPECT_LE(program.naps, naps + 1);
    EXPECT_GE(program.naps, naps - 1);
  }
}

TEST(InATestLoop, ANewThingComesBeforeTheNextNap) {
  Program program;
  const Policy event = policy_of("event");
  program.tests_in_vain(event, 4'000, 50, 8);
  program.naps = 0;
  program.test(event, 50, 8);
  EXPECT_EQ(program.tests_in_vain(event, 8, 50, 8), 0u);
  EXPECT_GT(program.tests_in_vain(event, 2, 50, 8), 0u);
}

TEST(InATestLoop, WhoComputesOnceARoundNeverNaps) {
  for (const unsigned things : {2u, 8u, 64u}) {
    for (const std::uint64_t computes : {3'000u, 40'000u, 300'000u}) {
      Program program;
      const Policy event = policy_of("event");
      for (int round = 0; round < 2'000; ++round) {
        for (unsigned thing = 0; thing < things; ++thing) {
          program.test(event, thing == 0 ? computes : 300, thing);
        }
      }
      EXPECT_EQ(program.naps, 0) << things << " things, " << computes << " ns";
    }
  }
}

/// Of that program: how much longer it takes than if it never napped.
double slowed_down(const Policy& policy, std::uint64_t step_ns, unsigned things,
                   bool once_a_round) {
  Program program;
  const std::uint64_t began = program.now;
  std::uint64_t own = 0;
  for (unsigned test = 0; test < 300'000; ++test) {
    const std::uint64_t pause = once_a_round && test % things != 0 ? 50 : step_ns;
    own += pause;
    program.test(policy, pause, test % things);
  }
  return static_cast<double>(program.now - began) / static_cast<double>(own);
}

TEST(InATestLoop, WhoWorksALittleBetweenThemTakesAtMostTwiceAsLong) {
  for (const std::uint64_t step : {150u, 1'000u, 1'900u}) {
    for (const unsigned things : {1u, 2u, 8u}) {
      for (const bool once_a_round : {false, true}) {
        for (const char* preset : {"event", "predicted", "overprovisioned"}) {
          EXPECT_LE(slowed_down(policy_of(preset), step, things, once_a_round), 2.1) << preset;
        }
        EXPECT_LE(slowed_down(policy_of("adaptive"), step, things, once_a_round), 1.2);
        EXPECT_LE(slowed_down(policy_of("adaptive", true), step, things, once_a_round), 1.2);
      }
    }
  }
}

TEST(InATestLoop, WhoBeginsToWorkIsNotHeldUp) {
  Program program;
  const Policy event = policy_of("event");
  program.tests_in_vain(event, 10'000, 50);
  program.naps = 0;
  program.tests_in_vain(event, 1'000, 1'000);
  EXPECT_LE(program.naps, 3);
}

TEST(InATestLoop, WorkIsForgotten) {
  Program program;
  const Policy event = policy_of("event");
  program.tests_in_vain(event, 10'000, 1'000);
  program.naps = 0;
  program.tests_in_vain(event, 2'000, 50);
  EXPECT_EQ(program.tests_in_vain(event, 100, 50), 1'000'000u);
  EXPECT_GT(program.naps, 50);
}

TEST(InATestLoop, OnlyTheProgramsOwnTimeCounts) {
  const Policy event = policy_of("event");
  TestLoop loop;
  loop.watched = std::make_shared<Things>();
  std::uint64_t now = 1'000'000'000;
  int naps = 0;
  for (int test = 0; test < 1'000; ++test) {
    const std::uint64_t entered = now + 50;
    now = entered + 30'000;  // the search copies somebody's message
    loop.in_vain();
    if (loop.long_series(event)) {
      if (loop.goes_on(event, now, 1, entered)) {
        naps += loop.nap_ns(event, 1, 1, false) != 0 ? 1 : 0;
      }
      loop.ends(now);
    }
  }
  EXPECT_GT(naps, 900);
}

TEST(InATestLoop, OnACoreOfItsOwnAdaptivePollsForAMillisecond) {
  const Policy adaptive = policy_of("adaptive");
  Program program;
  EXPECT_EQ(program.tests_in_vain(adaptive, 19'000, 50), 0u);
  EXPECT_GT(program.tests_in_vain(adaptive, 2'000, 50), 0u);
  EXPECT_GT(Program().tests_in_vain(policy_of("adaptive", true), 2'100, 50), 0u);
}

TEST(InATestLoop, OnACoreOfItsOwnAdaptiveNapsForAnEighthOfTheTime) {
  Program program;
  const std::uint64_t began = program.now;
  const std::uint64_t nap = program.tests_in_vain(policy_of("adaptive"), 1'000'000, 50);
  EXPECT_EQ(nap, 50'000u);
  const std::uint64_t napped = static_cast<std::uint64_t>(program.naps) * nap;
  EXPECT_GT(napped, (program.now - began) / 16);
  EXPECT_LT(napped, (program.now - began) / 7);
}

TEST(InATestLoop, EachThreadHasASeriesOfItsOwn) {
  TestLoops loops;
  TestLoop* const mine = &loops.own(true);
  TestLoop* of_another = nullptr;
  std::thread([&] {
    of_another = &loops.own(true);
    EXPECT_EQ(&loops.own(true), of_another);
  }).join();
  EXPECT_NE(mine, of_another);
  EXPECT_EQ(&loops.own(true), mine);
  EXPECT_EQ(&loops.own(false), &loops.own(false));
}

TEST(InATestLoop, ManyThreadsComeAndGo) {
  TestLoops loops;
  TestLoop& mine = loops.own(true);
  mine.in_vain();
  std::set<TestLoop*> seen;
  for (int batch = 0; batch < 4; ++batch) {
    std::vector<std::thread> threads;
    std::mutex mutex;
    std::barrier all_alive(20);
    for (int thread = 0; thread < 20; ++thread) {
      threads.emplace_back([&] {
        {
          const std::lock_guard lock(mutex);
          TestLoop& own = loops.own(true);
          own.in_vain();
          own.goes_on(policy_of("event"), 1'000 + static_cast<std::uint64_t>(batch), 1);
          seen.insert(&own);
        }
        all_alive.arrive_and_wait();
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  EXPECT_LE(seen.size(), 32u);
}

TEST(InATestLoop, PollAndYieldNeverNap) {
  EXPECT_EQ(Program().tests_in_vain(policy_of("poll"), 100'000, 50), 0u);
  EXPECT_EQ(Program().tests_in_vain(policy_of("yield"), 100'000, 50), 0u);
}

}  // namespace
}  // namespace meantime::wait
