#include "launch/tasks/gathering.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "launch/messages.h"
#include "launch/supervise/control_channel.h"
#include "launch/supervise/ended_process.h"

namespace meantime::launch {
namespace {

/// Connections of whoever has not said hello, beyond those of the tasks themselves.
constexpr std::size_t most_strangers = 64;

ucred credentials_of(int socket) {
  ucred who{};
  socklen_t length = sizeof who;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0
             ? who
             : ucred{0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
}

}  // namespace

Gathering::~Gathering() {
  for (const int descriptor : strangers_) {
    close(descriptor);
  }
  if (socket_ >= 0) {
    close(socket_);
  }
}

std::string Gathering::open() {
  const auto problem = [] {
    return fmt::format("no socket for the tasks of this node: {}", std::strerror(errno));
  };
  if (getrandom(&secret_, sizeof secret_, 0) != static_cast<ssize_t>(sizeof secret_)) {
    return problem();
  }
  socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t length = sizeof name;
  // Without a name the kernel chooses one that nobody has.
  if (socket_ < 0 || bind(socket_, reinterpret_cast<sockaddr*>(&name), sizeof(sa_family_t)) != 0 ||
      getsockname(socket_, reinterpret_cast<sockaddr*>(&name), &length) != 0 ||
      listen(socket_, SOMAXCONN) != 0) {
    return problem();
  }
  const std::size_t before = offsetof(sockaddr_un, sun_path) + 1;
  address_ = fmt::format("{}:{:x}:{:x}", std::string(name.sun_path + 1, length - before),
                         secret_[0], secret_[1]);
  return {};
}

void Gathering::accept_one() {
  const int descriptor = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (descriptor < 0) {
    return;
  }
  if (credentials_of(descriptor).uid != geteuid() || strangers_.size() >= most_strangers) {
    close(descriptor);
    return;
  }
  strangers_.push_back(descriptor);
}

/// True if it is one of the tasks, which is then known.
bool Gathering::hear(Job& job, int descriptor) {
  TaskHello hello;
  if (recv(descriptor, &hello, sizeof hello, MSG_DONTWAIT) != static_cast<ssize_t>(sizeof hello) ||
      hello.magic != task_magic || std::memcmp(hello.secret, secret_, sizeof secret_) != 0 ||
      hello.rank < 0 || hello.rank >= static_cast<int>(job.ranks.size())) {
    return false;
  }
  RankProcess& rank = job.ranks[static_cast<std::size_t>(hello.rank)];
  const pid_t pid = credentials_of(descriptor).pid;
  if (rank.control >= 0 || pid <= 0) {
    return false;
  }
  rank.pid = pid;
  rank.mpi_process = watch_process(pid);
  rank.control = descriptor;
  ControlChannel::prepare(descriptor);
  return rank.mpi_process >= 0;
}

bool Gathering::wait_for_all(Job& job, pid_t first_task) {
  const int first = watch_process(first_task);
  while (come_ < static_cast<int>(job.ranks.size())) {
    std::vector<pollfd> news{{socket_, POLLIN, 0}, {come_ == 0 ? first : -1, POLLIN, 0}};
    for (const int descriptor : strangers_) {
      news.push_back({descriptor, POLLIN, 0});
    }
    for (const RankProcess& rank : job.ranks) {
      news.push_back({rank.mpi_process, POLLIN, 0});
    }
    if (poll(news.data(), news.size(), -1) < 0) {
      continue;
    }
    if (news[1].revents != 0) {
      return false;
    }
    const std::size_t strangers = strangers_.size();
    for (std::size_t index = 0; index < job.ranks.size(); ++index) {
      if (news[2 + strangers + index].revents != 0) {
        return false;
      }
    }
    for (std::size_t index = strangers; index-- > 0;) {
      if (news[2 + index].revents != 0) {
        const int descriptor = strangers_[index];
        strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(index));
        if (hear(job, descriptor)) {
          ++come_;
        } else {
          close(descriptor);
        }
      }
    }
    if (news[0].revents != 0) {
      accept_one();
    }
  }
  close(first);
  return true;
}

}  // namespace meantime::launch
