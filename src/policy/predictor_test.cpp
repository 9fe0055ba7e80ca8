#include "policy/predictor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace meantime::wait {
namespace {

constexpr std::uint64_t us = 1000;
constexpr std::uint64_t late = 40 * us;  ///< timers and wake-ups of the machine that is played
constexpr std::uint64_t patience = 200 * us;
constexpr std::uint64_t first_polls = 2 * us;

std::uint64_t less(std::uint64_t from, std::uint64_t what) {
  return from > what ? from - what : 0;
}

/// One wait of a rank whose message comes after `comes`; what it cost.
struct Played {
  Outcome outcome;
  std::uint64_t polled = 0;  ///< CPU time
  std::uint64_t added = 0;   ///< latency beyond polling
};

Played play(const Plan& plan, std::uint64_t comes) {
  Played played;
  Outcome& outcome = played.outcome;
  std::uint64_t now = first_polls;
  for (const Window& window : {Window{plan.sleep_until_ns, plan.poll_until_ns}, plan.second,
                               Window{~std::uint64_t{0}, 0}}) {
    if (comes > now && window.sleep_until_ns > now) {
      const bool timer = window.poll_until_ns != 0;
      outcome.in_vain = !timer && plan.poll_until_ns != 0;
      if (comes < window.sleep_until_ns) {
        outcome.waited_ns = comes + late;
        outcome.came_ns = comes;
        outcome.woke_ns = timer ? outcome.waited_ns : outcome.woke_ns;
        outcome.signalled = true;
        played.added = late;
        return played;
      }
      now = outcome.woke_ns = window.sleep_until_ns + late;
    }
    if (comes <= std::max(now, window.poll_until_ns)) {
      outcome.waited_ns = std::max(now, comes);
      played.polled += outcome.waited_ns - now;
      played.added = outcome.waited_ns - comes;
      return played;
    }
    played.polled += less(window.poll_until_ns, now);
    now = std::max(now, window.poll_until_ns);
  }
  return played;
}

struct Sums {
  double cpu_of_polling = 0;  ///< share
  double timed = 0;           ///< share of the waits that had a timer
  std::uint64_t added_p99 = 0;
  std::uint64_t added_median = 0;
};

template <class Learner>
Sums judge(const std::vector<std::uint64_t>& times, std::size_t from, Learner&& one) {
  std::uint64_t polled = 0;
  std::uint64_t waited = 0;
  std::size_t timed = 0;
  std::vector<std::uint64_t> added;
  for (std::size_t wait = 0; wait < times.size(); ++wait) {
    const Played played = one(times[wait]);
    if (wait >= from) {
      polled += played.polled;
      waited += times[wait];
      added.push_back(played.added);
      timed += played.outcome.woke_ns != 0 ? 1 : 0;
    }
  }
  std::sort(added.begin(), added.end());
  return {static_cast<double>(polled) / static_cast<double>(waited),
          static_cast<double>(timed) / static_cast<double>(added.size()),
          added[added.size() * 99 / 100], added[added.size() / 2]};
}

Sums judge_predictor(const std::vector<std::uint64_t>& times, std::size_t from = 100) {
  Predictor predictor;
  Lateness lateness;
  return judge(times, from, [&](std::uint64_t comes) {
    const Plan plan = predictor.plan(lateness, patience, 20'000);
    const Played played = play(plan, comes);
    if (played.outcome.woke_ns != 0 && !played.outcome.signalled) {
      lateness.learn(late);
    }
    predictor.learn(played.outcome);
    return played;
  });
}

/// Numbers that look random: the same each time.
class Dice {
 public:
  std::uint64_t below(std::uint64_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % limit;
  }

 private:
  std::uint64_t state_ = 1;
};

std::vector<std::uint64_t> times(std::size_t count, const std::function<std::uint64_t(int)>& of) {
  std::vector<std::uint64_t> all;
  for (std::size_t index = 0; index < count; ++index) {
    all.push_back(of(static_cast<int>(index)));
  }
  return all;
}

TEST(Predictor, SteadyWaitsCostNoLatencyAndLittleTime) {
  for (const auto& [delay, most_cpu] :
       {std::pair{150 * us, 0.35}, std::pair{200 * us, 0.25}, std::pair{1000 * us, 0.04}}) {
    const Sums sums = judge_predictor(times(1000, [delay = delay](int) { return delay; }));
    EXPECT_EQ(sums.added_p99, 0u) << delay;
    EXPECT_EQ(sums.timed, 1) << delay;
    EXPECT_LT(sums.cpu_of_polling, most_cpu) << delay;
  }
}

TEST(Predictor, ShortWaitsArePolledFor) {
  const Sums sums = judge_predictor(times(1000, [](int) { return 20 * us; }));
  EXPECT_EQ(sums.added_p99, 0u);
  EXPECT_EQ(sums.timed, 0);
}

TEST(Predictor, NeverSlowerThanAWakeUpAndNeverMoreThanHalfOfPolling) {
  Dice dice;
  for (const std::uint64_t delay : {100 * us, 200 * us, 1000 * us}) {
    const auto jitter = [&](int) { return delay * 7 / 10 + dice.below(delay * 6 / 10); };
    const auto bimodal = [&](int) { return dice.below(2) == 0 ? delay / 5 : delay * 9 / 5; };
    const auto drifting = [&](int index) {
      return delay + delay * static_cast<unsigned>(index) / 500;
    };
    int kind = 0;
    for (const Sums& sums :
         {judge_predictor(times(2000, jitter)), judge_predictor(times(2000, bimodal)),
          judge_predictor(times(2000, drifting))}) {
      EXPECT_EQ(sums.added_median, 0u) << delay << " kind " << kind;
      EXPECT_LE(sums.added_p99, late) << delay << " kind " << kind;
      EXPECT_LE(sums.cpu_of_polling, delay == 100 * us ? 1.0 : 0.5) << delay << " kind " << kind;
      ++kind;
    }
  }
}

TEST(Predictor, FindsANewTimeAgain) {
  const Sums sums =
      judge_predictor(times(2000, [](int index) { return (index < 1000 ? 200 : 900) * us; }), 1500);
  EXPECT_EQ(sums.added_median, 0u);
  EXPECT_LT(sums.cpu_of_polling, 0.2);
}

TEST(Predictor, OneWaitInTenThatIsFarLongerChangesNothing) {
  const Sums sums =
      judge_predictor(times(2000, [](int index) { return (index % 10 == 0 ? 9000 : 300) * us; }));
  EXPECT_EQ(sums.added_median, 0u);
  EXPECT_EQ(sums.timed, 1);
  EXPECT_LT(sums.cpu_of_polling, 0.1);
}

TEST(Predictor, TimersThatAreLateForAWhileAreForgotten) {
  Lateness lateness;
  for (int sleep = 0; sleep < 20; ++sleep) {
    lateness.learn(3'000 * us);
  }
  EXPECT_LE(lateness.margin_ns(), 100 * us);
  for (int sleep = 0; sleep < 20; ++sleep) {
    lateness.learn(30 * us);
  }
  EXPECT_EQ(lateness.margin_ns(), 30 * us);
  // Where a timer is often late by more than half of the wait, it is still tried.
  Predictor predictor;
  for (int wait = 0; wait < 16; ++wait) {
    predictor.learn({.waited_ns = 150 * us});
    lateness.learn(3'000 * us);
  }
  EXPECT_GT(predictor.plan(lateness, patience, 20'000).sleep_until_ns, 0u);
}

TEST(Ade, StaysBelowTheWaitMostOfTheTime) {
  Ade ade;
  const Sums sums =
      judge(times(2000, [](int) { return 1000 * us; }), 100, [&](std::uint64_t comes) {
        const Played played = play(ade.plan(2000 * us), comes);
        ade.learn(played.outcome, 50 * us, 5 * us);
        return played;
      });
  EXPECT_EQ(sums.added_median, 0u);
  EXPECT_LT(sums.cpu_of_polling, 0.8);  // the paper's estimate goes up and down below the wait
}

TEST(Ade, ShortWaitsAreNotSleptIn) {
  Ade ade;
  const Sums sums = judge(times(200, [](int) { return 10 * us; }), 10, [&](std::uint64_t comes) {
    const Played played = play(ade.plan(200 * us), comes);
    ade.learn(played.outcome, 50 * us, 5 * us);
    return played;
  });
  EXPECT_EQ(sums.added_p99, 0u);
}

}  // namespace
}  // namespace meantime::wait
