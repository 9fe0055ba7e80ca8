#include "wait/advisor.h"

#include <gtest/gtest.h>

#include <vector>

namespace meantime::wait {
namespace {

/// Countdown with its requests written down, and an mpiexec that may be deaf.
class CountdownTo500us : public ::testing::Test {
 protected:
  static Question at(const Situation& wait, std::uint64_t waited_ns) {
    return {wait, 0, 1, waited_ns, 0, false};
  }

  bool deaf_ = false;
  std::vector<bool> requests_;
  std::shared_ptr<Advisor> countdown_ = countdown(500'000, [this](bool low) {
    requests_.push_back(low);
    return !deaf_;
  });
  Situation one_;
  Situation other_;
};

using Requests = std::vector<bool>;

TEST_F(CountdownTo500us, AsksOnceAndTakesItBack) {
  EXPECT_EQ(countdown_->next(at(one_, 499'999)), std::nullopt);
  EXPECT_EQ(countdown_->longest_sleep_ns(at(one_, 100'000)), 400'000u);
  EXPECT_EQ(requests_, Requests());
  EXPECT_EQ(countdown_->next(at(one_, 500'000)), std::nullopt);
  EXPECT_EQ(countdown_->next(at(one_, 900'000)), std::nullopt);
  EXPECT_EQ(countdown_->longest_sleep_ns(at(one_, 900'000)), 0u);
  EXPECT_EQ(requests_, Requests({true}));
  countdown_->over(at(one_, 1'000'000));
  EXPECT_EQ(requests_, Requests({true, false}));
}

TEST_F(CountdownTo500us, ShortWaitsAskForNothing) {
  countdown_->next(at(one_, 10'000));
  countdown_->over(at(one_, 600'000));
  EXPECT_EQ(requests_, Requests());
}

TEST_F(CountdownTo500us, IsAskedAgainIfItsTimeCameBetweenQuestionAndSleep) {
  countdown_->next(at(one_, 499'999));
  EXPECT_GT(countdown_->longest_sleep_ns(at(one_, 500'001)), 0u);
}

TEST_F(CountdownTo500us, AsksAgainWhereItWasNotHeard) {
  deaf_ = true;
  countdown_->next(at(one_, 500'000));
  EXPECT_GT(countdown_->longest_sleep_ns(at(one_, 500'000)), 0u);
  // Of who has waited for so long no sleep may end by itself.
  EXPECT_EQ(countdown_->longest_sleep_ns(at(one_, longest_without_sleep_ns + 1)), 0u);
  deaf_ = false;
  countdown_->next(at(one_, 560'000));
  EXPECT_EQ(countdown_->longest_sleep_ns(at(one_, 560'000)), 0u);
  countdown_->over(at(one_, 600'000));
  EXPECT_EQ(requests_, Requests({true, true, false}));
}

TEST_F(CountdownTo500us, TheLastWaitOfARankTakesItBack) {
  countdown_->next(at(one_, 500'000));
  countdown_->next(at(other_, 500'000));
  countdown_->over(at(one_, 600'000));
  EXPECT_EQ(requests_, Requests({true}));
  countdown_->over(at(other_, 600'000));
  EXPECT_EQ(requests_, Requests({true, false}));
}

TEST(ReadyAdvisors, AreKnownByName) {
  for (const char* name : {"performance", "balanced", "powersave"}) {
    EXPECT_NE(ready_advisor(name), nullptr);
  }
  EXPECT_EQ(ready_advisor("none"), nullptr);
  const Situation wait;
  EXPECT_EQ(ready_advisor("powersave")->next({wait, 0, 1, 0, 0, false}), Step::park);
}

TEST(ReadyAdvisors, PollOnlyOnCoresOfTheirOwn) {
  const Situation wait;
  for (const char* name : {"performance", "balanced"}) {
    const std::shared_ptr<Advisor> advisor = ready_advisor(name);
    EXPECT_EQ(advisor->next({wait, 0, 1, 1'000, 10'000, false}), Step::poll) << name;
    EXPECT_EQ(advisor->next({wait, 0, 1, 1'000, 10'000, true}), std::nullopt) << name;
    EXPECT_TRUE(advisor->leaves_shared_cores_alone()) << name;
  }
  EXPECT_EQ(ready_advisor("powersave")->next({wait, 0, 1, 1'000, 10'000, true}), Step::park);
}

}  // namespace
}  // namespace meantime::wait
