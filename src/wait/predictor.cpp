#include "wait/predictor.h"

#include <algorithm>

namespace meantime::wait {
namespace {

constexpr std::uint32_t waits_to_learn = 4;
// A sleep and its wake-up take this much of the core by themselves; less is not worth it.
constexpr std::uint64_t shortest_sleep_ns = 20'000;
constexpr std::uint32_t most_misses = 3;
constexpr std::uint32_t first_pause = 8;
constexpr std::uint32_t longest_pause = 256;

std::uint64_t distance(std::uint64_t one, std::uint64_t other) {
  return one > other ? one - other : other - one;
}

std::uint64_t less(std::uint64_t from, std::uint64_t what) {
  return from > what ? from - what : 0;
}

/// Moves `mean` by 1/2^shift of the way to `value`.
void approach(std::uint64_t& mean, std::uint64_t value, int shift) {
  if (value > mean) {
    mean += (value - mean) >> shift;
  } else {
    mean -= (mean - value) >> shift;
  }
}

}  // namespace

void Lateness::learn(std::uint64_t late_ns) {
  // One sleep that a busy machine prolonged for milliseconds says nothing about the next.
  late_ns = std::min(late_ns, 4 * mean_ns_);
  approach(deviation_ns_, distance(late_ns, mean_ns_), 2);
  approach(mean_ns_, late_ns, 3);
}

std::uint64_t Lateness::margin_ns() const {
  return std::clamp<std::uint64_t>(mean_ns_ + 2 * deviation_ns_, 10'000, 150'000);
}

// The mean deviation of times that spread evenly over ±a is a/2, of a Gaussian 0.8 σ: twice of it
// covers all of the first and 89 % of the second. Where the spread would make the rank poll for
// more than half of the wait (two kinds of waits in turn, wild jitter) it does what event does
// instead: so prediction never costs more than half of what polling costs, except in waits that are
// not worth a sleep.
Plan Predictor::plan(const Lateness& lateness) const {
  if (waits_ < waits_to_learn || skip_ > 0) {
    return {};
  }
  const std::uint64_t spread = 2 * deviation_ns_;
  const std::uint64_t margin = lateness.margin_ns();
  const std::uint64_t latest = mean_ns_ + spread;
  if (latest <= 2 * margin) {
    return {0, latest + margin};
  }
  const std::uint64_t wake = less(mean_ns_, spread + margin);
  if (wake < shortest_sleep_ns || mean_ns_ - wake > mean_ns_ / 2) {
    return {};
  }
  return {wake, latest + margin};
}

void Predictor::learn(const Outcome& outcome, const Plan& plan, const Lateness& lateness) {
  // Who was rung came as much later as a wake-up takes.
  std::uint64_t came =
      outcome.rung ? less(outcome.waited_ns, lateness.mean_ns()) : outcome.waited_ns;
  if (waits_ == 0) {
    mean_ns_ = came;
    deviation_ns_ = came / 2;
  }
  waits_ = std::min(waits_ + 1, waits_to_learn);
  // A single wait that took far longer than any before must not spoil dozens of predictions; if all
  // get longer, the mean follows by doubling.
  came = std::min(came, 2 * (mean_ns_ + 2 * deviation_ns_) + 10'000);
  approach(deviation_ns_, distance(came, mean_ns_), 2);
  approach(mean_ns_, came, 3);
  if (plan.sleep_until_ns == 0 && plan.poll_until_ns == 0) {
    skip_ -= skip_ > 0 ? 1 : 0;
    return;
  }
  const bool missed = outcome.in_vain || (outcome.rung && plan.sleep_until_ns != 0);
  if (!missed) {
    misses_ = 0;
    pause_ = 0;
  } else if (++misses_ >= most_misses) {
    pause_ = std::clamp(2 * pause_, first_pause, longest_pause);
    skip_ = pause_;
    misses_ = 0;
  }
}

Plan Ade::plan(std::uint64_t patience_ns) const {
  return {sleep_ns_, sleep_ns_ + patience_ns};
}

// The paper's wait time is the rest of the wait after the sleep (the skew); if the message rang the
// sleeper, nothing was left. Its sleep time begins at zero, and doubling zero leads nowhere, so the
// first step from zero is η, also later on.
void Ade::learn(const Outcome& outcome, std::uint64_t step_ns, std::uint64_t threshold_ns) {
  const bool overslept = outcome.woke_ns != 0 && outcome.rung && !outcome.in_vain;
  const std::uint64_t rest = overslept ? 0 : less(outcome.waited_ns, outcome.woke_ns);
  const bool shorter = rest_ns_ > rest && rest_ns_ - rest >= threshold_ns;
  rest_ns_ = rest;
  if (sleep_ns_ == 0) {
    sleep_ns_ = rest > step_ns ? step_ns : 0;
    return;
  }
  if (shorter) {
    phase_ = phase_ == Phase::first_decrements ? Phase::steps : phase_;
    sleep_ns_ = phase_ == Phase::first_increments ? 2 * sleep_ns_ : sleep_ns_ + step_ns;
  } else {
    phase_ = phase_ == Phase::first_increments ? Phase::first_decrements : phase_;
    sleep_ns_ = phase_ == Phase::first_decrements ? sleep_ns_ / 2 : less(sleep_ns_, step_ns);
  }
  sleep_ns_ = sleep_ns_ < step_ns / 2 ? 0 : std::min<std::uint64_t>(sleep_ns_, 1'000'000'000);
}

}  // namespace meantime::wait
