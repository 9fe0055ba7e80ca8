#include "guest/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace meantime::guest {
namespace {

/// In half a trial. Less is too coarse to tell: the next trials are longer.
constexpr std::uint64_t enough_progress = 16;
constexpr double longest_half = 2;
constexpr std::size_t most_trials = 128;
constexpr std::size_t fewest_trials = 6;
/// While the cost is within the bound: guests run for so many times a trial's length, and are left
/// out of a thirtieth of the time.
constexpr double times_between = 28;
/// Without guests: at first so many times a trial's length.
constexpr double times_off = 20;
constexpr double longest_off = 60;

}  // namespace

void Bound::end(double now) {
  if (part_ != Part::none && !block_.guests) {
    seconds_without_ += now - began_;
  }
  part_ = Part::none;
}

Bound::Block Bound::next(double now, std::uint64_t progress) {
  const Part part = part_;
  end(now);
  if (part != Part::first && part != Part::second) {
    return first_of_trial(now, progress);
  }
  const std::uint64_t moved = progress - progress_;
  rate_[block_.guests ? 1 : 0] = static_cast<double>(moved) / (now - began_);
  fewest_ = part == Part::first ? moved : std::min(fewest_, moved);
  return part == Part::first ? begin(Part::second, !block_.guests, trial_seconds_, now, progress)
                             : after_trial(now, progress);
}

Bound::Block Bound::begin(Part part, bool guests, double seconds, double now,
                          std::uint64_t progress) {
  part_ = part;
  block_ = {guests, seconds};
  began_ = now;
  progress_ = progress;
  return block_;
}

Bound::Block Bound::first_of_trial(double now, std::uint64_t progress) {
  return begin(Part::first, coin(), trial_seconds_, now, progress);
}

Bound::Block Bound::after_trial(double now, std::uint64_t progress) {
  if (fewest_ < enough_progress && trial_seconds_ < longest_half) {
    trial_seconds_ = std::min(2 * trial_seconds_, longest_half);
    return first_of_trial(now, progress);
  }
  if (rate_[0] > 0 || rate_[1] > 0) {
    ++trials_;
    const double cost = rate_[0] / rate_[1] - 1;  // infinite where they stop the job
    if (last_.size() < most_trials) {
      last_.push_back(cost);
    } else {
      last_[next_] = cost;
      next_ = (next_ + 1) % most_trials;
    }
  }
  const std::optional<Cost> known = cost();
  if (known && known->least > most_) {
    last_.clear();
    next_ = 0;
    const double pause = std::ldexp(times_off * trial_seconds_, std::min(times_beyond_, 30));
    ++times_beyond_;
    return begin(Part::between, false, std::min(pause, longest_off), now, progress);
  }
  if (known && known->most < most_) {
    return begin(Part::between, true, times_between * 2 * trial_seconds_, now, progress);
  }
  return first_of_trial(now, progress);
}

// The median's interval: with n values, those about sqrt(n) places from the middle.
std::optional<Bound::Cost> Bound::cost() const {
  if (last_.size() < fewest_trials) {
    return std::nullopt;
  }
  std::vector<double> sorted = last_;
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<double>(sorted.size());
  const auto below = static_cast<std::size_t>((count - 1.96 * std::sqrt(count)) / 2);
  return Cost{sorted[sorted.size() / 2], sorted[below], sorted[sorted.size() - 1 - below]};
}

std::string cost_line(const Bound& bound) {
  std::string text =
      fmt::format("cost: not known, for which {} trials in a row are needed", fewest_trials);
  if (const std::optional<Bound::Cost> cost = bound.cost()) {
    text = fmt::format("cost: {:.1f} % of the run time ({:.1f} to {:.1f})", 100 * cost->median,
                       100 * cost->least, 100 * cost->most);
  }
  text += fmt::format("; {} trial{}, without guests for {:.1f} s", bound.trials(),
                      bound.trials() == 1 ? "" : "s", bound.seconds_without());
  if (bound.times_beyond() != 0) {
    text += fmt::format(", stopped {} time{} for more than --max-overhead", bound.times_beyond(),
                        bound.times_beyond() == 1 ? "" : "s");
  }
  return text;
}

bool Bound::coin() {
  chance_ ^= chance_ << 13;
  chance_ ^= chance_ >> 7;
  chance_ ^= chance_ << 17;
  return (chance_ >> 32 & 1) != 0;
}

}  // namespace meantime::guest
