// The supervisor among those of the job's other nodes: takes and passes on what they say.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "launch/inspect/report.h"
#include "launch/messages.h"
#include "launch/nodes/addresses.h"
#include "launch/nodes/joining.h"
#include "launch/report/node_report.h"
#include "launch/supervise/supervisor_parts.h"
#include "settings/shown.h"

namespace meantime::launch {
namespace {

/// What other nodes may take from the end's beginning to their own, which is below a second.
constexpr double ending_seconds = 5;

}  // namespace

int Supervisor::own_number() const {
  return job_.starts_members ? -1 : std::max(job_.member, 0);
}

bool Supervisor::meet_other_nodes() {
  others_.set_up(job_.node_name.empty() ? host_name() : job_.node_name, job_.most_silent_seconds());
  if (job_.meeting_socket >= 0) {
    others_.expect(job_.meeting, job_.meeting_socket, static_cast<int>(job_.members.size()));
  } else if (!job_.meeting.empty() && !others_.join(job_.meeting, job_.member) && !job_.of_tasks) {
    return cannot_start(
        fmt::format("{} cannot reach the mpiexec that leads the job (at{})", host_name(),
                    job_.meeting.substr(std::min(job_.meeting.find(' '), job_.meeting.size()))));
  }
  if (others_.is_hub() || others_.is_member()) {
    watch(others_.events(), Source::other_nodes);
    watch(members_late_.descriptor(), Source::members_late);
    watch(list_limit_.descriptor(), Source::list_limit);
  }
  if (job_.has_board() || job_.has_other_nodes()) {
    watch(unreachable_look_.descriptor(), Source::unreachable);
  }
  return true;
}

/// A member those of its own ranks, the hub all: once all of them are there.
void Supervisor::tell_addresses() {
  const net::Board* const board = starter_.board();
  const auto wanted = [this](int rank) { return others_.is_hub() || !job_.ranks[rank].elsewhere; };
  if (board != nullptr && (others_.is_hub() || others_.is_member()) && !told_addresses_ &&
      are_posted(*board, wanted)) {
    told_addresses_ = true;
    others_.tell(LinkKind::addresses, 0, packed_addresses(*board, wanted));
  }
}

void Supervisor::on_other_nodes() {
  OtherNodes::News news;
  while (others_.hear(news)) {
    on_news(news);
  }
  for (std::size_t number = 0; number < job_.members.size() && others_.is_hub(); ++number) {
    if (others_.has_joined(static_cast<int>(number)) &&
        !std::exchange(job_.members[number].there, true)) {
      welcome(static_cast<int>(number));
    }
  }
  // Of the tasks of a launcher that are ranks themselves, not all members are there to come.
  if (others_.is_hub() && !job_.of_tasks &&
      std::all_of(job_.members.begin(), job_.members.end(),
                  [](const Member& member) { return member.there || member.over; })) {
    others_.expect_nobody();
    if (!ending_.begun()) {
      members_late_.set(0);
    }
  }
}

/// Tells one that has just come what all were told before.
void Supervisor::welcome(int member) {
  for (const int signal : held_signals_) {
    others_.tell_member(member, LinkKind::signal, signal);
  }
  if (!silent_elsewhere_.empty()) {
    others_.tell_member(member, LinkKind::silent, silent_status_, silent_elsewhere_);
  } else if (silent_ >= 0) {
    others_.tell_member(member, LinkKind::silent, WEXITSTATUS(job_.ranks[silent_].wait_status),
                        name(silent_));
  }
  if (told_end_) {
    others_.tell_member(member, LinkKind::end, ending_.status());
  }
  others_.tell_member(member, LinkKind::ask, static_cast<int>(over_nodes_.wave()));
}

void Supervisor::on_news(const OtherNodes::News& news) {
  const LinkMessage& message = news.message;
  switch (message.kind) {
    case LinkKind::addresses:
      if (const std::string wrong = starter_.board() == nullptr
                                        ? "there is no board for another node's addresses"
                                        : post_packed(message.text, *starter_.board());
          !wrong.empty()) {
        ending_.begin(1, wrong);
      } else if (others_.is_hub()) {
        tell_addresses();
      }
      break;
    case LinkKind::silent:
      if (others_.is_hub()) {
        others_.tell(LinkKind::silent, message.number, message.text, news.member);
      }
      silent_elsewhere_ = message.text;
      silent_status_ = message.number;
      check_for_stragglers();
      break;
    case LinkKind::end:
      if (message.number == timeout_status && job_.command.timeout_seconds > 0 &&
          !ending_.begun()) {
        mention("what each rank does:\n{}", job_report(job_, starter_.segments()));
      }
      ending_.begin(message.number, {});
      break;
    case LinkKind::signal:
      act_on(message.number, 0);
      break;
    case LinkKind::still:
      if (others_.is_hub()) {
        look_over_nodes();
      }
      break;
    case LinkKind::ask:
      answer_wave(message.number);
      break;
    case LinkKind::state:
      on_state(news.member, message.number, message.text);
      break;
    case LinkKind::ask_list:
      others_.tell(LinkKind::list, 0, own_list());
      break;
    case LinkKind::list:
      on_list(news.member, message.text);
      break;
    case LinkKind::report:
      reports_.push_back(news);
      break;
    case LinkKind::over:
      if (news.member >= 0) {
        Member& member = job_.members[static_cast<std::size_t>(news.member)];
        member.there = member.over = true;
        others_.let_go(news.member);
        if (!job_.of_tasks) {
          ending_.note(message.number);
        }
      }
      break;
    case LinkKind::lost:
      on_lost(news.member, message.number == fell_silent);
      break;
    case LinkKind::unreachable:
      tell_unreachable(message.number, message.text);
      break;
    case LinkKind::hello:
    case LinkKind::taken:
    case LinkKind::beat:
      break;
  }
}

/// What users know that node by. -1: the hub's.
std::string Supervisor::text_of_member(int member) const {
  const Member* const known =
      member >= 0 ? &job_.members[static_cast<std::size_t>(member)] : nullptr;
  return known != nullptr && !known->name.empty() ? known->text()
         : others_.name_of(member).empty()        ? "another node"
                                                  : settings::shown(others_.name_of(member));
}

std::string Supervisor::line_of_lost(int member) const {
  return fmt::format("{} is lost: nothing is heard of the {} there any more",
                     text_of_member(member), job_.of_tasks ? "supervisor" : "mpiexec");
}

int Supervisor::any_rank_here() const {
  const auto first = std::find_if(job_.ranks.begin(), job_.ranks.end(),
                                  [](const RankProcess& rank) { return !rank.elsewhere; });
  return first == job_.ranks.end() ? 0 : static_cast<int>(first - job_.ranks.begin());
}

/// `silent`: it has not said so, and its kernel has not either.
void Supervisor::on_lost(int member, bool silent) {
  if (job_.of_tasks && !silent) {
    return;  // their launcher knows better what has become of it
  }
  // Of many that hear no more of the hub the first one says so, which may be of the first node or
  // the second. If it has closed, whoever would read a line has gone with it.
  const bool hub_has_ranks = job_.of_tasks || job_.members.front().over;
  const auto first =
      std::find_if(job_.members.begin() + (hub_has_ranks ? 1 : 0), job_.members.end(),
                   [](const Member& one) { return one.ranks > 0; });
  const bool says = member >= 0 || (silent && first - job_.members.begin() == own_number());
  std::string line = says ? line_of_lost(member) : std::string();
  if (member >= 0) {
    Member& lost = job_.members[static_cast<std::size_t>(member)];
    lost.there = lost.over = true;
    if (lost.shell > 0 && silent) {
      kill(lost.shell, SIGTERM);  // which may wait for it for long
    } else if (lost.shell > 0 && !ending_.begun()) {
      lost.is_untold = true;
      line.clear();
    }
  }
  end_job(any_rank_here(), 1, line);
  if (silent && is_task_of_launcher(job_.command)) {
    ask_launcher_to_end(1);  // whose task there does not end
  }
}

/// Of a rank whose connection to another one is lost, which may be here. Who has died its
/// supervisor knows best, and a machine that is gone does not answer: so it is asked, and says what
/// is so.
void Supervisor::tell_unreachable(int rank, const std::string& text) {
  constexpr double until_an_end_is_known = 0.5;
  if (rank < 0 || rank >= static_cast<int>(job_.ranks.size())) {
    return;
  }
  const RankProcess& process = job_.ranks[rank];
  if (!process.elsewhere) {
    if (unreachable_ < 0) {
      unreachable_ = rank;
      unreachable_from_ = text;
      unreachable_look_.set(until_an_end_is_known);
    }
  } else if (others_.is_member()) {
    others_.tell(LinkKind::unreachable, rank, text);
  } else if (others_.is_hub() && rank < static_cast<int>(job_.member_of.size())) {
    others_.tell_member(job_.member_of[rank], LinkKind::unreachable, rank, text);
  }
}

void Supervisor::on_unreachable() {
  unreachable_look_.set(0);
  const int rank = std::exchange(unreachable_, -1);
  if (ending_.begun() || rank < 0 || job_.ranks[rank].ended) {
    return;
  }
  const std::size_t end = std::min(unreachable_from_.find('\n'), unreachable_from_.size());
  end_job(rank, 1,
          fmt::format("the connection of {} to {} is lost: {}", unreachable_from_.substr(0, end),
                      name(rank),
                      unreachable_from_.substr(std::min(end + 1, unreachable_from_.size()))));
}

/// What begins here ends the job everywhere.
void Supervisor::tell_of_the_end() {
  if (job_.of_tasks || !ending_.begun() || std::exchange(told_end_, true)) {
    return;
  }
  others_.tell(LinkKind::end, ending_.status());
  if (others_.is_hub()) {
    members_late_.set(ending_seconds);
  }
}

/// Those who take part by themselves are through, or gone.
bool Supervisor::members_are_over() const {
  return job_.of_tasks || !others_.is_hub() ||
         std::all_of(job_.members.begin(), job_.members.end(),
                     [](const Member& member) { return member.over || member.ranks == 0; });
}

/// Those who only wait hear how it ended.
void Supervisor::leave_other_nodes() {
  for (std::size_t number = 0; number < job_.members.size() && others_.is_hub(); ++number) {
    if (job_.members[number].ranks == 0) {
      others_.tell_member(static_cast<int>(number), LinkKind::over, ending_.status());
    }
  }
  others_.leave(ending_.status());
}

/// True: the hub tells of this node, too.
bool Supervisor::bring_report(const std::string& report, double patience) {
  others_.tell(LinkKind::report, 0, report);
  if (!job_.of_tasks) {
    return true;
  }
  const double end = now_seconds() + patience;
  OtherNodes::News news;
  while (others_.is_member() && now_seconds() < end) {
    pollfd ready{others_.events(), POLLIN, 0};
    poll(&ready, 1, static_cast<int>((end - now_seconds()) * 1000) + 1);
    while (others_.hear(news)) {
      if (news.message.kind == LinkKind::taken) {
        return true;
      }
    }
  }
  return false;
}

/// Adds what comes of other nodes, as long as some is missing, for so many seconds.
void Supervisor::take_reports(JobFigures& figures, JobTimes& times, double patience) {
  const double end = now_seconds() + patience;
  for (;;) {
    on_other_nodes();
    for (const OtherNodes::News& news : std::exchange(reports_, {})) {
      if (add_report(news.message.text, job_, figures, times)) {
        others_.tell_member(news.member, LinkKind::taken, 0);
      }
    }
    if (missing_ranks(job_).empty() || now_seconds() >= end) {
      return;
    }
    pollfd ready{others_.events(), POLLIN, 0};
    poll(&ready, 1, static_cast<int>((end - now_seconds()) * 1000) + 1);
  }
}

}  // namespace meantime::launch
