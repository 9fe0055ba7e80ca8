#include "launch/nodes/other_nodes.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "launch/nodes/meeting.h"

namespace meantime::launch {
namespace {

constexpr double joining_seconds = 20;
/// The hub may still be busy starting others.
constexpr double first_beat_seconds = 60;
constexpr std::size_t most_strangers = 1024;
/// Beats in the time after which a silent one is lost, and how many of them may be missed: the
/// fourth is due as the time is over, and one may have fallen silent as it had just answered.
constexpr int beats = 4;
constexpr int most_unanswered = 3;

}  // namespace

OtherNodes::~OtherNodes() {
  if (events_ >= 0) {
    close(events_);
  }
  if (socket_ >= 0) {
    close(socket_);
  }
}

void OtherNodes::watch(int descriptor) {
  if (events_ < 0) {
    events_ = epoll_create1(EPOLL_CLOEXEC);
  }
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(events_, EPOLL_CTL_ADD, descriptor, &event);
}

void OtherNodes::set_up(std::string_view name, double most_silent_seconds) {
  name_ = name;
  most_silent_seconds_ = most_silent_seconds;
}

double OtherNodes::between_beats() const {
  return most_silent_seconds_ / beats;
}

/// The last of those beats may be a little late.
double OtherNodes::until_hub_is_silent() const {
  return (most_unanswered + 0.5) * between_beats();
}

void OtherNodes::expect(std::string_view meeting, int socket, int members) {
  secret_ = secret_of(meeting);
  socket_ = socket;
  members_.resize(static_cast<std::size_t>(members));
  names_.resize(members_.size());
  unanswered_.resize(members_.size());
  watch(socket_);
  watch(beat_.descriptor());
}

void OtherNodes::expect_nobody() {
  if (socket_ >= 0) {
    epoll_ctl(events_, EPOLL_CTL_DEL, socket_,
              nullptr);  // of which another process may have a copy
    close(std::exchange(socket_, -1));
    strangers_.clear();
  }
}

bool OtherNodes::join(const std::string& meeting, int member) {
  const int connection = connection_to_meeting(meeting, joining_seconds);
  if (connection < 0) {
    return false;
  }
  bound_silence(connection, most_silent_seconds_);
  hub_ = std::make_unique<Link>(connection, most_silent_seconds_ / 2);
  hub_->trust();
  watch(connection);
  watch(beat_.descriptor());
  expect_beat(first_beat_seconds);
  return hub_->send(LinkKind::hello, member, secret_of(meeting));
}

void OtherNodes::accept_some() {
  // Not all: who has come says something before others are let in, perhaps in its place.
  for (std::size_t left = most_strangers / 4; left > 0; --left) {
    const int connection = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const bool no_descriptor = connection < 0 && (errno == EMFILE || errno == ENFILE);
    if ((no_descriptor && !strangers_.empty()) || strangers_.size() == most_strangers) {
      strangers_.erase(strangers_.begin());  // who has said nothing for longest
    }
    if (no_descriptor) {
      continue;
    }
    if (connection < 0) {
      return;
    }
    bound_silence(connection, most_silent_seconds_);
    strangers_.push_back(std::make_unique<Link>(connection, most_silent_seconds_ / 2));
    watch(connection);
  }
}

void OtherNodes::hear_strangers() {
  for (std::unique_ptr<Link>& stranger : strangers_) {
    LinkMessage message;
    if (!stranger->receive(message)) {
      continue;
    }
    const int member = message.number;
    if (message.kind == LinkKind::hello && message.text == secret_ && member >= 0 &&
        member < static_cast<int>(members_.size()) && members_[member] == nullptr) {
      stranger->trust();
      members_[member] = std::move(stranger);
      if (beat_due_ == 0) {
        expect_beat(between_beats());
        beat_to_all();
      }
    }
    stranger.reset();
  }
  std::erase(strangers_, nullptr);
}

void OtherNodes::beat_to_all() {
  last_beat_ = now_seconds();
  tell(LinkKind::beat, 0, name_);
}

void OtherNodes::beat_if_due() {
  if ((is_hub() || is_member()) && now_seconds() - last_beat_ > between_beats()) {
    beat_to_all();
  }
}

/// 0: none is due.
void OtherNodes::expect_beat(double seconds) {
  beat_due_ = seconds == 0 ? 0 : now_seconds() + seconds;
  beat_.set(seconds);
}

/// It is time, and what has come was read.
void OtherNodes::beat() {
  const bool was_awake = now_seconds() - beat_due_ < between_beats() / 2;
  if (hub_ != nullptr) {
    expect_beat(until_hub_is_silent());
    if (was_awake) {
      hub_->give_up();
    }
    return;
  }
  bool is_anybody_there = false;
  for (std::size_t number = 0; number < members_.size(); ++number) {
    Link* const member = members_[number].get();
    if (member == nullptr) {
      continue;
    }
    is_anybody_there = true;
    int& unanswered = unanswered_[number];
    unanswered = member->has_spoken() ? 0 : unanswered + (was_awake ? 1 : 0);
    if (unanswered == most_unanswered) {
      member->give_up();
    }
  }
  expect_beat(is_anybody_there ? between_beats() : 0);
  beat_to_all();
}

bool OtherNodes::hear_hub(News& news) {
  while (hub_ != nullptr && hub_->receive(news.message)) {
    news.member = -1;
    if (news.message.kind == LinkKind::lost) {
      hub_.reset();
      expect_beat(0);
      return true;
    }
    if (news.message.kind != LinkKind::beat) {
      return true;
    }
    hub_name_ = news.message.text;
    expect_beat(until_hub_is_silent());
    beat_to_all();
  }
  return false;
}

bool OtherNodes::hear_members(News& news) {
  for (std::unique_ptr<Link>& member : members_) {
    while (member != nullptr && member->receive(news.message)) {
      news.member = static_cast<int>(&member - members_.data());
      if (news.message.kind == LinkKind::lost) {
        member.reset();
      }
      if (news.message.kind != LinkKind::beat) {
        return true;
      }
      names_[static_cast<std::size_t>(news.member)] = news.message.text;
    }
  }
  return false;
}

bool OtherNodes::hear(News& news) {
  if (hear_hub(news)) {
    return true;
  }
  if (socket_ >= 0) {
    accept_some();
    hear_strangers();
  }
  if (hear_members(news)) {
    return true;
  }
  if (beat_due_ == 0 || now_seconds() < beat_due_) {
    return false;
  }
  beat();
  return hear_hub(news) || hear_members(news);
}

void OtherNodes::tell(LinkKind kind, int number, std::string_view text, int except) {
  if (hub_ != nullptr) {
    hub_->send(kind, number, text);
  }
  for (int member = 0; member < static_cast<int>(members_.size()); ++member) {
    if (member != except) {
      tell_member(member, kind, number, text);
    }
  }
}

void OtherNodes::tell_member(int member, LinkKind kind, int number, std::string_view text) {
  if (members_[static_cast<std::size_t>(member)] != nullptr) {
    members_[static_cast<std::size_t>(member)]->send(kind, number, text);
  }
}

void OtherNodes::leave(int status) {
  if (hub_ != nullptr) {
    hub_->send(LinkKind::over, status);
    hub_->finish();
    hub_.reset();
    expect_beat(0);
  }
}

}  // namespace meantime::launch
