#include "policy/looks.h"

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
  return make_policy(given, crowded);
}

/// What a program looks for: things by their number.
class Things final : public SoughtThings {
 public:
  std::size_t size() const override { return things_.size(); }
  void forget_all() override { things_.clear(); }
  bool forget_what_is_there() override { return false; }
  bool keeps_awake() const override { return false; }
  bool seek(unsigned thing) { return things_.insert(thing).second; }

 private:
  std::set<unsigned> things_;
};

/// A program that looks every `every_ns`; for so many things in turn.
struct Program {
  Looks looks;
  std::uint64_t now = 1'000'000'000;

  Program() { looks.sought = std::make_shared<Things>(); }

  /// The longest nap of so many looks in vain.
  std::uint64_t looks_in_vain(const Policy& policy, int times, std::uint64_t every_ns,
                              unsigned things = 1) {
    std::uint64_t longest = 0;
    for (int time = 0; time < times; ++time) {
      longest = std::max(longest, look(policy, every_ns, static_cast<unsigned>(time) % things));
    }
    return longest;
  }

  std::uint64_t look(const Policy& policy, std::uint64_t every_ns, unsigned thing) {
    now += every_ns;
    looks.in_vain();
    if (!looks.long_series(policy)) {
      return 0;
    }
    std::uint64_t nap = 0;
    if (looks.goes_on(policy, now, thing + 1)) {
      const bool changed = static_cast<Things&>(*looks.sought).seek(thing);
      nap = looks.nap_ns(policy, 1, looks.sought->size(), changed);
    }
    now += nap;
    looks.ends(now, nap);
    naps += nap != 0 ? 1 : 0;
    now += nap != 0 ? after_nap_ns : 0;
    return nap;
  }

  std::uint64_t after_nap_ns = 0;  ///< what the first look after a nap takes longer
  int naps = 0;
};

TEST(Looks, AFewDoNotNap) {
  const Policy event = policy_of("event");
  Program program;
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(program.looks_in_vain(event, 64 + 100'000 / 50 - 1, 50), 0u);
    EXPECT_GT(program.looks_in_vain(event, 2, 50), 0u);
    program.looks.found();
  }
}

TEST(Looks, WhoLooksAHundredTimesAndThenWorksNeverNaps) {
  for (const bool crowded : {false, true}) {
    Program program;
    const Policy policy = policy_of(crowded ? "adaptive" : "event", crowded);
    for (int step = 0; step < 1'000; ++step) {
      program.looks_in_vain(policy, 100, 50);
      program.now += 10'000;
    }
    EXPECT_EQ(program.naps, 0);
  }
}

TEST(Looks, NapsGrowWithTheSeriesUpToAMillisecond) {
  const Policy event = policy_of("event");
  Program program;
  EXPECT_EQ(program.looks_in_vain(event, 64 + 100'000 / 50 + 1, 50), 50'000u);
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
    // Every other look, or an eighth of the time, after the first millisecond.
    EXPECT_GT(program.naps, preset == std::string_view("event") ? 39'000 : 10) << preset;
  }
}

TEST(Looks, WhoComputesAfterANapEndsTheSeries) {
  Program program;
  const Policy event = policy_of("event");
  EXPECT_GT(program.looks_in_vain(event, 3'000, 50), 0u);
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

TEST(Looks, WhoLooksForSeveralThingsNapsOnceARound) {
  for (const unsigned things : {2u, 8u, 64u}) {
    Program program;
    const Policy event = policy_of("event");
    program.looks_in_vain(event, 4'000, 50, things);
    program.naps = 0;
    EXPECT_EQ(program.looks_in_vain(event, 640, 50, things), 1'000'000u) << things;
    // The first look after a nap is none of a round.
    const int naps = 640 / (static_cast<int>(things) + 1);
    EXPECT_LE(program.naps, naps + 1);
    EXPECT_GE(program.naps, naps - 1);
  }
}

TEST(Looks, ANewThingComesBeforeTheNextNap) {
  Program program;
  const Policy event = policy_of("event");
  program.looks_in_vain(event, 4'000, 50, 8);
  program.naps = 0;
  program.look(event, 50, 8);
  EXPECT_EQ(program.looks_in_vain(event, 8, 50, 8), 0u);
  EXPECT_GT(program.looks_in_vain(event, 2, 50, 8), 0u);
}

TEST(Looks, WhoComputesOnceARoundNeverNaps) {
  for (const unsigned things : {2u, 8u, 64u}) {
    for (const std::uint64_t computes : {3'000u, 40'000u, 300'000u}) {
      Program program;
      const Policy event = policy_of("event");
      for (int round = 0; round < 2'000; ++round) {
        for (unsigned thing = 0; thing < things; ++thing) {
          program.look(event, thing == 0 ? computes : 300, thing);
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
  for (unsigned look = 0; look < 300'000; ++look) {
    const std::uint64_t pause = once_a_round && look % things != 0 ? 50 : step_ns;
    own += pause;
    program.look(policy, pause, look % things);
  }
  return static_cast<double>(program.now - began) / static_cast<double>(own);
}

TEST(Looks, WhoWorksALittleBetweenThemTakesAtMostTwiceAsLong) {
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

TEST(Looks, WhoBeginsToWorkIsNotHeldUp) {
  Program program;
  const Policy event = policy_of("event");
  program.looks_in_vain(event, 10'000, 50);
  program.naps = 0;
  program.looks_in_vain(event, 1'000, 1'000);
  EXPECT_LE(program.naps, 3);
}

TEST(Looks, WorkIsForgotten) {
  Program program;
  const Policy event = policy_of("event");
  program.looks_in_vain(event, 10'000, 1'000);
  program.naps = 0;
  program.looks_in_vain(event, 2'000, 50);
  EXPECT_EQ(program.looks_in_vain(event, 100, 50), 1'000'000u);
  EXPECT_GT(program.naps, 50);
}

TEST(Looks, OnlyTheProgramsOwnTimeCounts) {
  const Policy event = policy_of("event");
  Looks looks;
  looks.sought = std::make_shared<Things>();
  std::uint64_t now = 1'000'000'000;
  int naps = 0;
  for (int look = 0; look < 1'000; ++look) {
    const std::uint64_t entered = now + 50;
    now = entered + 30'000;  // the search copies somebody's message
    looks.in_vain();
    if (looks.long_series(event)) {
      if (looks.goes_on(event, now, 1, entered)) {
        naps += looks.nap_ns(event, 1, 1, false) != 0 ? 1 : 0;
      }
      looks.ends(now);
    }
  }
  EXPECT_GT(naps, 900);
}

TEST(Looks, OnACoreOfItsOwnAdaptivePollsForAMillisecond) {
  const Policy adaptive = policy_of("adaptive");
  Program program;
  EXPECT_EQ(program.looks_in_vain(adaptive, 19'000, 50), 0u);
  EXPECT_GT(program.looks_in_vain(adaptive, 2'000, 50), 0u);
  EXPECT_GT(Program().looks_in_vain(policy_of("adaptive", true), 2'100, 50), 0u);
}

TEST(Looks, OnACoreOfItsOwnAdaptiveNapsForAnEighthOfTheTime) {
  Program program;
  const std::uint64_t began = program.now;
  const std::uint64_t nap = program.looks_in_vain(policy_of("adaptive"), 1'000'000, 50);
  EXPECT_EQ(nap, 50'000u);
  const std::uint64_t napped = static_cast<std::uint64_t>(program.naps) * nap;
  EXPECT_GT(napped, (program.now - began) / 16);
  EXPECT_LT(napped, (program.now - began) / 7);
}

TEST(Looks, EachThreadHasASeriesOfItsOwn) {
  LooksOfThreads looks;
  Looks* const mine = &looks.own(true);
  Looks* of_another = nullptr;
  std::thread([&] {
    of_another = &looks.own(true);
    EXPECT_EQ(&looks.own(true), of_another);
  }).join();
  EXPECT_NE(mine, of_another);
  EXPECT_EQ(&looks.own(true), mine);
  EXPECT_EQ(&looks.own(false), &looks.own(false));
}

TEST(Looks, ManyThreadsComeAndGo) {
  LooksOfThreads looks;
  Looks& mine = looks.own(true);
  mine.in_vain();
  std::set<Looks*> seen;
  for (int batch = 0; batch < 4; ++batch) {
    std::vector<std::thread> threads;
    std::mutex mutex;
    std::barrier all_alive(20);
    for (int thread = 0; thread < 20; ++thread) {
      threads.emplace_back([&] {
        {
          const std::lock_guard lock(mutex);
          Looks& own = looks.own(true);
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

TEST(Looks, PollAndYieldNeverNap) {
  EXPECT_EQ(Program().looks_in_vain(policy_of("poll"), 100'000, 50), 0u);
  EXPECT_EQ(Program().looks_in_vain(policy_of("yield"), 100'000, 50), 0u);
}

}  // namespace
}  // namespace meantime::wait
