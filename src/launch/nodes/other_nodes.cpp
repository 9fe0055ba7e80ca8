#include "launch/nodes/other_nodes.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "launch/nodes/meeting.h"

namespace meantime::launch {
namespace {

constexpr double joining_seconds = 20;
constexpr std::size_t most_strangers = 1024;

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

void OtherNodes::expect(std::string_view meeting, int socket, int members,
                        double most_silent_seconds) {
  secret_ = secret_of(meeting);
  socket_ = socket;
  most_silent_seconds_ = most_silent_seconds;
  members_.resize(static_cast<std::size_t>(members));
  watch(socket_);
}

void OtherNodes::expect_nobody() {
  if (socket_ >= 0) {
    epoll_ctl(events_, EPOLL_CTL_DEL, socket_,
              nullptr);  // of which another process may have a copy
    close(std::exchange(socket_, -1));
    strangers_.clear();
  }
}

bool OtherNodes::join(const std::string& meeting, int member, double most_silent_seconds) {
  const int connection = connection_to_meeting(meeting, joining_seconds);
  if (connection < 0) {
    return false;
  }
  bound_silence(connection, most_silent_seconds);
  hub_ = std::make_unique<Link>(connection);
  hub_->trust();
  watch(connection);
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
    strangers_.push_back(std::make_unique<Link>(connection));
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
    }
    stranger.reset();
  }
  std::erase(strangers_, nullptr);
}

bool OtherNodes::hear(News& news) {
  if (hub_ != nullptr && hub_->receive(news.message)) {
    news.member = -1;
    if (news.message.kind == LinkKind::lost) {
      hub_.reset();
    }
    return true;
  }
  if (socket_ >= 0) {
    accept_some();
    hear_strangers();
  }
  for (std::unique_ptr<Link>& member : members_) {
    if (member != nullptr && member->receive(news.message)) {
      news.member = static_cast<int>(&member - members_.data());
      if (news.message.kind == LinkKind::lost) {
        member.reset();
      }
      return true;
    }
  }
  return false;
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
  }
}

}  // namespace meantime::launch
