#include "policy/predictor.h"

#include <algorithm>

#include "base/heuristics.h"

namespace meantime::wait {
namespace {

constexpr std::size_t waits_to_learn = 4;
// A timer that is later was so because somebody else had the core, who may have it or not the next
// time.
constexpr std::uint64_t most_late_ns = 100'000;

std::uint64_t less(std::uint64_t from, std::uint64_t what) {
  return from > what ? from - what : 0;
}

using Times = std::span<const std::uint64_t>;

/// Sleeps until all but one in ten timers are in time for the earliest, but for half of the wait if
/// there is so much between the earliest and the latest; so it costs no more than half of what
/// polling does. Then polls for a wake-up longer than the latest took: if that is in vain it has
/// cost as much again as to have slept.
Window window_of(Times times, const Lateness& lateness) {
  const std::uint64_t middle = (times.front() + times.back()) / 2;
  return {
      std::max(less(times.front(), lateness.margin_ns()), less(middle / 2, lateness.typical_ns())),
      times.back() + lateness.typical_ns()};
}

/// How many of them come before the widest gap.
std::size_t before_the_gap(Times times) {
  std::size_t before = 1;
  for (std::size_t index = 2; index < times.size(); ++index) {
    if (times[index] - times[index - 1] > times[before] - times[before - 1]) {
      before = index;
    }
  }
  return before;
}

}  // namespace

void Recent::add(std::uint64_t time) {
  times_[next_] = time;
  next_ = (next_ + 1) % most;
  count_ = std::min(count_ + 1, most);
}

Times Recent::inner(std::array<std::uint64_t, most>& room) const {
  std::copy_n(times_.begin(), count_, room.begin());
  std::sort(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(count_));
  const std::size_t outer = count_ == most ? 1 : 0;
  return Times(room).subspan(outer, count_ - 2 * outer);
}

void Lateness::learn(std::uint64_t late_ns) {
  recent_.add(std::min(late_ns, most_late_ns));
  std::array<std::uint64_t, Recent::most> room;
  if (const Times times = recent_.inner(room);
      recent_.count() >= waits_to_learn && uses(Heuristic::lateness)) {
    typical_ns_ = times[times.size() / 2];
    margin_ns_ = times.back();
  }
}

// Two groups of times (an iteration in two does more) are two windows, if there is time for a sleep
// between them: what is most of the distance from the first time to the last is no jitter.
Plan Predictor::plan(const Lateness& lateness, std::uint64_t patience_ns,
                     std::uint64_t wake_up_ns) const {
  Plan plan;
  if (came_.count() < waits_to_learn) {
    return plan;
  }
  std::array<std::uint64_t, Recent::most> room;
  const Times times = came_.inner(room);
  const std::size_t before = before_the_gap(times);
  Window first = window_of(times.first(before), lateness);
  const Window second = window_of(times.subspan(before), lateness);
  if (uses(Heuristic::windows) &&
      2 * (times[before] - times[before - 1]) > times.back() - times.front() &&
      less(second.sleep_until_ns, first.poll_until_ns) >= wake_up_ns) {
    plan.second = second;
  } else {
    first = window_of(times, lateness);
  }
  plan.expected_ns = times[times.size() / 2];
  plan.sleep_until_ns = first.sleep_until_ns;
  plan.poll_until_ns = first.poll_until_ns;
  if (plan.sleep_until_ns < wake_up_ns) {  // the sleep is not worth it
    plan.sleep_until_ns = plan.poll_until_ns <= patience_ns ? 0 : wake_up_ns;
  }
  return plan;
}

void Predictor::learn(const Outcome& outcome) {
  came_.add(outcome.signalled && outcome.came_ns != 0 ? outcome.came_ns : outcome.waited_ns);
}

Plan Ade::plan(std::uint64_t patience_ns) const {
  return {sleep_ns_, sleep_ns_ + patience_ns};
}

// The paper's wait time is the rest of the wait after the sleep (the skew); if the message rang the
// sleeper, nothing was left. Its sleep time begins at zero, and doubling zero leads nowhere, so the
// first step from zero is η, also later on.
void Ade::learn(const Outcome& outcome, std::uint64_t step_ns, std::uint64_t threshold_ns) {
  const bool overslept = outcome.woke_ns != 0 && outcome.signalled && !outcome.in_vain;
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
