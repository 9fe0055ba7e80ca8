#include "policy/policy.h"

#include <gtest/gtest.h>

#include <map>

#include "policy/contention.h"

namespace meantime::wait {
namespace {

Policy policy_of(const std::map<std::string, std::string>& settings, bool crowded = false) {
  std::string problem;
  const PolicySettings given = policy_settings_from(
      [&settings](std::string_view name) {
        const auto found = settings.find(std::string(name));
        return found == settings.end() ? std::string() : found->second;
      },
      &problem);
  EXPECT_EQ(problem, "");
  return make_policy(given, crowded);
}

TEST(Policy, ClimbsByItsKnobs) {
  const Policy policy = policy_of({{"MEANTIME_TRIES_POLL", "3"}, {"MEANTIME_TRIES_YIELD", "2"}});
  EXPECT_EQ(policy.next(0, 0, {}), Step::poll);
  EXPECT_EQ(policy.next(2, 0, {}), Step::poll);
  EXPECT_EQ(policy.next(3, 0, {}), Step::yield);
  EXPECT_EQ(policy.next(4, 0, {}), Step::yield);
  EXPECT_EQ(policy.next(5, 0, {}), Step::park);
  EXPECT_TRUE(policy.sleeps());
}

TEST(Policy, InfinityEndsTheClimbAndZeroSkips) {
  const Policy polls = policy_of({{"MEANTIME_WAIT", "poll"}});
  EXPECT_EQ(polls.next(4'000'000'000u, 0, {}), Step::poll);
  EXPECT_FALSE(polls.sleeps());
  const Policy yields = policy_of({{"MEANTIME_WAIT", "event"},
                                   {"MEANTIME_TRIES_POLL", "0"},
                                   {"MEANTIME_TRIES_YIELD", "INFINITY"}});  // as papers do
  EXPECT_EQ(yields.next(0, 0, {}), Step::yield);
  EXPECT_EQ(yields.next(4'000'000'000u, 0, {}), Step::yield);
  const Policy sleeps = policy_of({{"MEANTIME_WAIT", "event"}, {"MEANTIME_TRIES_POLL", "0"}});
  EXPECT_EQ(sleeps.next(0, 0, {}), Step::park);
}

TEST(Policy, WithoutASleepItBeginsAnew) {
  const Policy policy = policy_of(
      {{"MEANTIME_TRIES_POLL", "3"}, {"MEANTIME_TRIES_YIELD", "1"}, {"MEANTIME_TIMEOUT", "0"}});
  EXPECT_FALSE(policy.sleeps());
  for (std::uint32_t turn = 0; turn < 40; ++turn) {
    EXPECT_EQ(policy.next(turn, 0, {}), turn % 4 == 3 ? Step::yield : Step::poll) << turn;
  }
}

TEST(Policy, EveryoneSleepsAfterASecond) {
  for (const Preset& preset : presets) {
    const Policy policy = policy_of({{"MEANTIME_WAIT", std::string(preset.name)}});
    EXPECT_EQ(policy.next(1000, longest_without_sleep_ns + 1, {.poll_until_ns = endless}),
              Step::park)
        << preset.name;
  }
}

TEST(Policy, NobodyPollsLongWhereRanksShareCores) {
  for (const char* name : {"adaptive", "event", "predicted", "ade", "overprovisioned"}) {
    const Policy policy = policy_of({{"MEANTIME_WAIT", name}}, true);
    EXPECT_NE(policy.next(8, 0, {}), Step::poll) << name;
  }
}

TEST(Policy, LooksAFewTimesWhereWaitsHaveBeenLong) {
  for (const char* name : {"adaptive", "event", "predicted", "ade"}) {
    const Policy policy = policy_of({{"MEANTIME_WAIT", name}});
    EXPECT_EQ(policy.next(8, 0, {}), Step::poll) << name;
    EXPECT_EQ(policy.next(7, 0, {.waits_are_long = true}), Step::poll) << name;
    EXPECT_EQ(policy.next(8, 0, {.waits_are_long = true}), Step::park) << name;
  }
  // Who says how often, or never sleeps, is taken at his word.
  const Policy by_hand = policy_of({{"MEANTIME_WAIT", "event"}, {"MEANTIME_TRIES_POLL", "100"}});
  EXPECT_EQ(by_hand.next(99, 0, {.waits_are_long = true}), Step::poll);
  const Policy round = policy_of({{"MEANTIME_WAIT", "event"}, {"MEANTIME_TIMEOUT", "0"}});
  EXPECT_EQ(round.next(1000, 0, {.waits_are_long = true}), Step::poll);
}

TEST(Policy, WaitsAreLongAfterEightAndShortAfterOne) {
  const Policy policy = policy_of({{"MEANTIME_WAIT", "event"}});
  std::uint64_t patience = policy.first_patience();
  int waits = 0;
  for (; !Policy::waits_are_long(patience) && waits < 100; ++waits) {
    patience = policy.patience_after(1'000'000, patience);
  }
  EXPECT_EQ(waits, 8);
  EXPECT_FALSE(Policy::waits_are_long(policy.patience_after(1'000, patience)));
}

TEST(Policy, NonsenseIsRefusedAndChangesNothing) {
  PolicySettings given;
  EXPECT_EQ(given.add("MEANTIME_TRIES_POLL", "0"), "");
  EXPECT_EQ(given.add("MEANTIME_TIMEOUT", "0"),
            "MEANTIME_TRIES_POLL, MEANTIME_TRIES_YIELD and "
            "MEANTIME_TIMEOUT are all 0: then a rank has no way "
            "to wait");
  EXPECT_FALSE(given.timeout_us.has_value());
  EXPECT_NE(given.add("MEANTIME_WAIT", "sleep"), "");
  EXPECT_NE(given.add("MEANTIME_TIMEOUT", "1ms"), "");
  EXPECT_EQ(given.add("MEANTIME_WAIT", "yield"), "");
  EXPECT_EQ(given.add("MEANTIME_TIMEOUT", "0"), "");
  EXPECT_EQ(make_policy(given, false).value("MEANTIME_TRIES_YIELD"), "infinity");
}

TEST(Policy, PatienceIsAFewWakeUps) {
  measured_wake_up_ns() = 25'000;
  EXPECT_EQ(policy_of({}).most_patience(), 150'000u);
  EXPECT_EQ(policy_of({}).value("MEANTIME_WAKE_UP_COST"), "25");
  EXPECT_EQ(policy_of({{"MEANTIME_WAKE_UP_COST", "auto"}}).most_patience(), 150'000u);
  const Policy set = policy_of({{"MEANTIME_WAKE_UP_COST", "10"}});
  EXPECT_EQ(set.first_patience(), 60'000u);
  EXPECT_EQ(set.patience_after(59'000, 50'000), 60'000u);
  EXPECT_EQ(set.patience_after(61'000, 50'000), 25'000u);
  measured_wake_up_ns() = unknown_wake_up_ns;
  PolicySettings given;
  EXPECT_EQ(given.add("MEANTIME_WAKE_UP_COST", "0"),
            "MEANTIME_WAKE_UP_COST must be a number of microseconds from 1 to 10000, or auto, not "
            "'0'");
}

TEST(Contention, TwoHoldUpsSoonAfterEachOtherAreNoAccident) {
  Contention contention;
  for (int wait = 0; wait < 1000; ++wait) {
    contention.wait_begins();
    if (wait % 100 == 0) {
      contention.held_up();
    }
    ASSERT_FALSE(contention.shared());
  }
  contention.held_up();
  contention.wait_begins();
  contention.held_up();
  EXPECT_TRUE(contention.shared());
  int waits = 0;
  for (; contention.shared(); ++waits) {
    contention.wait_begins();
  }
  EXPECT_EQ(waits, 64);
  contention.held_up();
  contention.held_up();
  for (waits = 0; contention.shared(); ++waits) {
    contention.wait_begins();
  }
  EXPECT_EQ(waits, 128);  // the same guest is still there
}

TEST(Policy, AtGatesWhoSleepsAtOnceGivesWayFirst) {
  for (const char* preset : {"adaptive", "event", "predicted"}) {
    EXPECT_TRUE(policy_of({{"MEANTIME_WAIT", preset}}, true).gives_way_at_gates);
    EXPECT_FALSE(policy_of({{"MEANTIME_WAIT", preset}}, false).gives_way_at_gates);
  }
  EXPECT_FALSE(policy_of({{"MEANTIME_WAIT", "poll"}}, true).gives_way_at_gates);
  EXPECT_FALSE(policy_of({{"MEANTIME_WAIT", "yield"}}, true).gives_way_at_gates);
  EXPECT_FALSE(policy_of({{"MEANTIME_WAIT", "event"}}, true).gives_way);
  EXPECT_FALSE(policy_of({{"MEANTIME_WAIT", "event"}, {"MEANTIME_TRIES_YIELD", "0"}}, true)
                   .gives_way_at_gates);
}

}  // namespace
}  // namespace meantime::wait
