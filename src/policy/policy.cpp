#include "policy/policy.h"

#include <algorithm>
#include <initializer_list>

#include "base/heuristics.h"
#include "settings/settings.h"

namespace meantime::wait {
namespace {

// Waking another core costs 20–50 µs of latency and 12–17 µs of the waker's time, with two virtual
// cores (bench/limits/wake.cpp). Whoever has a core of his own polls for a few of those before he
// sleeps: a wait that outlasts them is a sixth longer for the sleep, at most.
constexpr std::uint64_t wake_ups_worth_polling = 6;
/// Beside its doubling patience grows by such a part of a wake-up, so that it comes back from
/// nothing.
constexpr std::uint64_t steps_a_wake_up = 2;
/// Turns of polling, one of which is a yield; and of those after a timer.
constexpr std::uint32_t yield_every = 16;
constexpr std::uint32_t rare_yield_every = 64;
// The paper wants ε well below η, and η below half of a typical wait that is worth a sleep.
constexpr std::uint64_t default_ade_step_us = 50;
constexpr std::uint64_t default_ade_threshold_us = 5;

static_assert(settings::infinity == endless);

constexpr std::string_view wait_settings[] = {
    "MEANTIME_WAIT",     "MEANTIME_TRIES_POLL",    "MEANTIME_TRIES_YIELD", "MEANTIME_TIMEOUT",
    "MEANTIME_ADE_STEP", "MEANTIME_ADE_THRESHOLD", "MEANTIME_WAKE_UP_COST"};

std::string nonsense(const PolicySettings& given) {
  const Policy policy = make_policy(given, false);
  return policy.knobs.tries_poll == 0 && policy.knobs.tries_yield == 0 &&
                 policy.knobs.timeout_us == 0
             ? "MEANTIME_TRIES_POLL, MEANTIME_TRIES_YIELD and MEANTIME_TIMEOUT are all 0: then a "
               "rank has no way to wait"
             : "";
}

}  // namespace

Step Policy::next(std::uint32_t turns, std::uint64_t waited_ns, const Plan& plan) const {
  if (waited_ns > longest_without_sleep_ns) {
    return Step::park;
  }
  std::uint64_t turn = turns;
  if (round != 0) [[unlikely]] {
    turn %= round;
  }
  const std::uint64_t tries = tries_poll(plan);
  if (turn < tries) {
    return Step::poll;
  }
  if (waited_ns < plan.poll_until_ns) {
    // The one we wait for may share our core without our knowing: then it runs only if we let it. A
    // yield on a core of our own is over in 0.2 µs. Who has slept until the message is about to
    // come has given the core already, and does it more rarely: it is there for its latency.
    const std::uint32_t every = plan.sleep_until_ns == 0 ? yield_every : rare_yield_every;
    return uses(Heuristic::polling_yields) && !beside_guests() && turns % every == 0 ? Step::yield
                                                                                     : Step::poll;
  }
  return turn - tries < knobs.tries_yield ? Step::yield : Step::park;
}

bool Policy::sleeps() const {
  return knobs.tries_poll != endless && knobs.tries_yield != endless && round == 0;
}

std::uint64_t Policy::patience_after(std::uint64_t lull_ns, std::uint64_t patience_ns) const {
  if (!uses(Heuristic::patience)) {
    return patience_ns;
  }
  if (lull_ns > most_patience()) {
    return patience_ns / 2;
  }
  return std::min(patience_ns * 2 + wake_up_ns / steps_a_wake_up, most_patience());
}

std::uint64_t Policy::first_patience() const {
  return most_patience();
}

std::uint64_t Policy::most_patience() const {
  return wake_ups_worth_polling * wake_up_ns;
}

std::string Policy::value(std::string_view setting) const {
  const auto text = [](std::uint64_t number) {
    return number == endless ? std::string("infinity") : std::to_string(number);
  };
  return setting == wait_settings[0]   ? std::string(preset->name)
         : setting == wait_settings[1] ? text(knobs.tries_poll)
         : setting == wait_settings[2] ? text(knobs.tries_yield)
         : setting == wait_settings[3] ? text(knobs.timeout_us)
         : setting == wait_settings[4] ? text(ade_step_ns / 1000)
         : setting == wait_settings[5] ? text(ade_threshold_ns / 1000)
         : setting == wait_settings[6] ? text((wake_up_ns + 500) / 1000)
                                       : std::string();
}

std::string PolicySettings::add(std::string_view setting, std::string_view value) {
  const settings::Setting* row = settings::find(setting);
  const auto place =
      std::find(std::begin(wait_settings), std::end(wait_settings), setting) - wait_settings;
  if (row == nullptr || place == std::ssize(wait_settings)) {
    return {};
  }
  if (!value.empty()) {
    if (std::string wrong = settings::problem(*row, value); !wrong.empty()) {
      return wrong;
    }
  }
  PolicySettings given = *this;
  const std::optional<std::uint64_t> number =
      value.empty() ? std::nullopt : settings::number(*row, value);
  switch (place) {
    case 0:
      given.preset = find_preset(value);
      break;
    case 1:
      given.tries_poll = number;
      break;
    case 2:
      given.tries_yield = number;
      break;
    case 3:
      given.timeout_us = number;
      break;
    case 4:
      given.ade_step_us = number;
      break;
    case 5:
      given.ade_threshold_us = number;
      break;
    default:
      given.wake_up_us = number;
      break;
  }
  if (std::string wrong = nonsense(given); !wrong.empty()) {
    return wrong;
  }
  *this = given;
  return {};
}

Policy make_policy(const PolicySettings& given, bool crowded) {
  const Preset& preset = given.preset != nullptr ? *given.preset : presets[0];
  Policy policy;
  policy.preset = &preset;
  policy.crowded = crowded || preset.shared;
  policy.knobs = preset.knobs;
  policy.knobs.tries_poll =
      given.tries_poll.value_or(policy.crowded ? preset.few_tries_poll : preset.knobs.tries_poll);
  policy.knobs.tries_yield = given.tries_yield.value_or(preset.knobs.tries_yield);
  policy.knobs.timeout_us = given.timeout_us.value_or(preset.knobs.timeout_us);
  // Who says how often to look need not be told by experience.
  const bool by_hand = given.tries_poll || given.tries_yield;
  policy.prediction =
      by_hand && preset.prediction == Prediction::patience ? Prediction::none : preset.prediction;
  policy.gives_way = policy.crowded && policy.prediction == Prediction::patience;
  policy.gives_way_at_gates = policy.crowded && !by_hand && policy.knobs.tries_yield == 0 &&
                              policy.knobs.tries_poll != endless;
  policy.ade_step_ns = 1000 * given.ade_step_us.value_or(default_ade_step_us);
  policy.ade_threshold_ns = 1000 * given.ade_threshold_us.value_or(default_ade_threshold_us);
  policy.wake_up_ns = given.wake_up_us ? 1000 * *given.wake_up_us : measured_wake_up_ns();
  if (policy.knobs.timeout_us > endless / 2000) {  // centuries; with the clock added, no overflow
    policy.knobs.timeout_us = endless;
  }
  policy.timed = policy.knobs.timeout_us != endless;
  const bool goes_round = policy.knobs.timeout_us == 0 && policy.knobs.tries_poll != endless &&
                          policy.knobs.tries_yield != endless;
  policy.tries_poll_of_long_waits = given.tries_poll || goes_round
                                        ? policy.knobs.tries_poll
                                        : std::min(preset.few_tries_poll, preset.knobs.tries_poll);
  policy.round = goes_round ? policy.knobs.tries_poll + policy.knobs.tries_yield : 0;
  return policy;
}

PolicySettings policy_settings_from(const std::function<std::string(std::string_view)>& value,
                                    std::string* problem) {
  PolicySettings given;
  // The timeout last: the others may be 0 before it is known.
  for (const std::string_view setting : wait_settings) {
    if (*problem = given.add(setting, value(setting)); !problem->empty()) {
      break;
    }
  }
  return given;
}

constinit Policy detail::host_policy;
constinit PolicySettings detail::host_policy_settings;
constinit std::uint64_t detail::host_wake_up_ns = unknown_wake_up_ns;
constinit bool detail::host_beside_guests = false;

}  // namespace meantime::wait
