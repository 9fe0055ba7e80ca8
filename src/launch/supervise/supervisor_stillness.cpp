// Whether the ranks of several nodes wait for each other for ever: the supervisor asks the nodes'
// segments where it has them all (mpiexec that plays nodes), or is the hub, which the members tell.
#include <fmt/format.h>

#include <algorithm>

#include "deadlock/node_state.h"
#include "launch/inspect/report.h"
#include "launch/inspect/stillness.h"
#include "launch/supervise/supervisor_parts.h"

namespace meantime::launch {
namespace {

using Next = wait::OverNodes::Next;

constexpr double again_seconds = 1;  // as a sleeper that is in doubt

}  // namespace

/// One of the nodes has become still, or it is time to look again.
void Supervisor::look_over_nodes() {
  still_look_.set(0);
  if (!job_.has_other_nodes() && job_.nodes < 2) {
    return;
  }
  if (told_of_deadlock_ || ending_.begun() || job_.command.on_deadlock == DeadlockAction::ignore) {
    return;
  }
  if (others_.is_member()) {
    others_.tell(LinkKind::still, 0);
  } else if (others_.is_hub()) {
    go_on(over_nodes_.begin());
  } else if (job_.nodes > 1) {
    const Next next = launch::look_over_nodes(over_nodes_, starter_.segments());
    if (next == Next::deadlock) {
      told_of_deadlock_ = true;
      tell_of_deadlock(0, fmt::format("Meantime: {}:", deadlock_found),
                       report_of_ranks_here(job_, starter_.segments()),
                       room_of_nodes(starter_.segments()), true);
    } else if (next == Next::look_later) {
      still_look_.set(again_seconds);
    }
  }
}

/// The hub's.
void Supervisor::go_on(Next next) {
  while (next == Next::ask_all) {
    const auto wave = over_nodes_.wave();
    others_.tell(LinkKind::ask, static_cast<int>(wave));
    next = Next::wait;
    for (std::size_t number = 0; number < job_.members.size() && next == Next::wait; ++number) {
      if (job_.members[number].ranks == 0) {  // one whose ranks are all through says so much
        next = over_nodes_.take(wave, number, {wait::Verdict::deadlock, 0, 0, 0, 0, 0, 0});
      } else if (last_states_.size() > number && last_states_[number]) {
        next = over_nodes_.take(wave, number, *last_states_[number]);
      } else if (static_cast<int>(number) == own_number()) {
        next = over_nodes_.take(wave, number, state_of_node(starter_.segments()));
      }
    }
  }
  if (next == Next::look_later) {
    still_look_.set(again_seconds);
  } else if (next == Next::deadlock) {
    told_of_deadlock_ = true;
    lists_.resize(job_.members.size());
    others_.tell(LinkKind::ask_list, 0);
    list_limit_.set(listing_seconds);
    tell_list_if_complete();
  }
}

/// A member's, in a wave.
void Supervisor::answer_wave(int wave) {
  others_.tell(LinkKind::state, wave, wait::words_of(state_of_node(starter_.segments())));
}

/// A member's, about to leave: what it would say to all waves.
void Supervisor::say_last_state() {
  if (others_.is_member() && job_.ranks_here() > 0) {
    answer_wave(last_state);
  }
}

void Supervisor::on_state(int member, int wave, std::string_view words) {
  const std::optional<wait::NodeState> state = wait::node_state_of(words);
  if (!state || !others_.is_hub()) {
    return;
  }
  const auto number = static_cast<std::size_t>(member);
  if (wave == last_state) {
    last_states_.resize(job_.members.size());
    last_states_[number] = state;
    go_on(over_nodes_.take(over_nodes_.wave(), number, *state));
  } else if (wave >= 0) {
    go_on(over_nodes_.take(static_cast<std::uint64_t>(wave), number, *state));
  }
}

/// What this machine's ranks do, and what they may lack.
std::string Supervisor::own_list() const {
  return report_of_ranks_here(job_, starter_.segments()) + "\n" +
         room_of_nodes(starter_.segments());
}

void Supervisor::on_list(int member, std::string_view text) {
  if (told_of_deadlock_ && !lists_.empty()) {
    lists_[static_cast<std::size_t>(member)] = text;
    tell_list_if_complete();
  }
}

void Supervisor::tell_list_if_complete() {
  for (std::size_t number = 0; number < lists_.size(); ++number) {
    const Member& member = job_.members[number];
    if (lists_[number].empty() && member.ranks > 0 &&
        others_.has_joined(static_cast<int>(number))) {
      return;
    }
  }
  tell_list();
}

/// As much of it as has come.
void Supervisor::tell_list() {
  list_limit_.set(0);
  std::string all;
  std::string hints;
  for (std::size_t number = 0; number < lists_.size(); ++number) {
    const std::string text = static_cast<int>(number) == own_number() ? own_list() : lists_[number];
    const std::size_t end = std::min(text.rfind("\n  ("), text.size());
    const std::string ranks = text.substr(0, end);
    hints += hints.empty() && end < text.size() ? text.substr(end + 1) : "";
    all += ranks.substr(0, ranks.find_last_not_of('\n') + 1) + (ranks.empty() ? "" : "\n");
  }
  lists_.clear();
  const auto first = std::find_if(job_.ranks.begin(), job_.ranks.end(),
                                  [](const RankProcess& rank) { return !rank.elsewhere; });
  const int rank = first == job_.ranks.end() ? 0 : static_cast<int>(first - job_.ranks.begin());
  tell_of_deadlock(rank, fmt::format("Meantime: {}:", deadlock_found),
                   all.substr(0, all.find_last_not_of('\n') + 1), hints, true);
}

}  // namespace meantime::launch
