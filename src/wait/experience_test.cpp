#include "wait/experience.h"

#include <gtest/gtest.h>

namespace meantime::wait {
namespace {

/// What the ledger says of waits of 500 us that slept by a timer until `slept_ns`.
std::uint64_t mean_error_ns(Prediction prediction, std::uint64_t slept_ns) {
  ledger::SiteAccount account{};
  Site site;
  site.account = &account;
  Policy policy;
  policy.prediction = prediction;
  policy.ade_step_ns = 50'000;
  policy.ade_threshold_ns = 5'000;
  Plan plan{slept_ns, 600'000};
  plan.expected_ns = 495'000;
  for (int wait = 0; wait < 100; ++wait) {
    learn(policy, site, plan, {500'000, 0, slept_ns, false, false});
  }
  EXPECT_EQ(account.predictions.load(), 100u);
  EXPECT_EQ(account.late.load(), 0u);
  EXPECT_EQ(account.vain.load(), 0u);
  return account.error_ns.load() / 100;
}

TEST(Experience, ErrorsAreThoseOfTheGuessThatWasMade) {
  EXPECT_EQ(mean_error_ns(Prediction::timer, 400'000), 5'000u);
  EXPECT_EQ(mean_error_ns(Prediction::ade, 400'000), 100'000u);
}

TEST(Experience, WaitsWithoutATimerAreNoPredictions) {
  ledger::SiteAccount account{};
  Site site;
  site.account = &account;
  learn(Policy{}, site, {0, 100'000}, {50'000, 0, 0, false, false});
  EXPECT_EQ(account.predictions.load(), 0u);
  EXPECT_EQ(site.last_wait_ns, 50'000u);
  // The message came while the rank still looked, before the sleep that was planned.
  learn(Policy{}, site, {400'000, 600'000}, {3'000, 0, 0, false, false});
  EXPECT_EQ(account.predictions.load(), 0u);
}

// A wait for 16 MiB is their copies, and no reason to sleep the next time.
TEST(Experience, WorkIsNoWaiting) {
  Policy policy;
  Site works;
  Site waits;
  works.patience_ns = waits.patience_ns = policy.first_patience();
  for (int wait = 0; wait < 10; ++wait) {
    learn(policy, works, {}, {.waited_ns = 2'000'000, .longest_lull_ns = 10'000});
    learn(policy, waits, {}, {.waited_ns = 2'000'000, .longest_lull_ns = 2'000'000});
  }
  EXPECT_EQ(works.patience_ns, policy.first_patience());
  EXPECT_TRUE(Policy::waits_are_long(waits.patience_ns));
}

}  // namespace
}  // namespace meantime::wait
