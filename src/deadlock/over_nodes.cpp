#include "deadlock/over_nodes.h"

#include <algorithm>

namespace meantime::wait {
namespace {

bool nothing_is_under_way(const std::vector<std::optional<NodeState>>& answers) {
  NodeState sum;
  for (const std::optional<NodeState>& answer : answers) {
    sum.waiting += answer->waiting;
    sum.sent += answer->sent;
    sum.taken += answer->taken;
    sum.under_way += answer->under_way;
    sum.offered += answer->offered;
  }
  return sum.waiting > 0 && sum.sent == sum.taken && sum.under_way == sum.offered;
}

}  // namespace

OverNodes::Next OverNodes::first_wave() {
  ++wave_;
  under_way_ = true;
  is_second_ = again_ = false;
  std::fill(first_.begin(), first_.end(), std::nullopt);
  return Next::ask_all;
}

OverNodes::Next OverNodes::begin() {
  if (under_way_) {
    again_ = true;
    return Next::wait;
  }
  return first_wave();
}

/// Of two waves, or of as much of them as was needed.
OverNodes::Next OverNodes::end(Next result) {
  if (result != Next::deadlock && again_) {
    return first_wave();
  }
  under_way_ = false;
  return result;
}

OverNodes::Next OverNodes::take(std::uint64_t wave, std::size_t node, const NodeState& state) {
  if (!under_way_ || wave != wave_ || node >= first_.size()) {
    return Next::wait;
  }
  if (state.verdict == Verdict::running) {
    return end(Next::nothing);
  }
  Answers& answers = is_second_ ? second_ : first_;
  answers[node] = state;
  if (std::find(answers.begin(), answers.end(), std::nullopt) != answers.end()) {
    return Next::wait;
  }
  const bool all_still = std::all_of(
      answers.begin(), answers.end(),
      [](const std::optional<NodeState>& answer) { return answer->verdict == Verdict::deadlock; });
  if (!all_still || !nothing_is_under_way(answers) || (is_second_ && first_ != second_)) {
    return end(Next::look_later);
  }
  if (is_second_) {
    return end(Next::deadlock);
  }
  ++wave_;
  is_second_ = true;
  std::fill(second_.begin(), second_.end(), std::nullopt);
  return Next::ask_all;
}

}  // namespace meantime::wait
