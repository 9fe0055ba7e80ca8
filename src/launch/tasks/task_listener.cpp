#include "launch/tasks/task_listener.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "launch/supervise/control_channel.h"
#include "launch/supervise/ended_process.h"
#include "launch/tasks/ancestors.h"

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

TaskListener::~TaskListener() {
  for (const int descriptor : strangers_) {
    close(descriptor);
  }
  if (socket_ >= 0) {
    close(socket_);
  }
}

std::string TaskListener::open() {
  socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t length = sizeof name;
  // Without a name the kernel chooses one that nobody has.
  if (getrandom(&secret_, sizeof secret_, 0) != static_cast<ssize_t>(sizeof secret_) ||
      socket_ < 0 || bind(socket_, reinterpret_cast<sockaddr*>(&name), sizeof(sa_family_t)) != 0 ||
      getsockname(socket_, reinterpret_cast<sockaddr*>(&name), &length) != 0 ||
      listen(socket_, SOMAXCONN) != 0) {
    return fmt::format("no socket for the tasks of this node: {}", std::strerror(errno));
  }
  const std::size_t before = offsetof(sockaddr_un, sun_path) + 1;
  address_ = fmt::format("{}:{:x}:{:x}", std::string(name.sun_path + 1, length - before),
                         secret_[0], secret_[1]);
  return {};
}

std::string TaskListener::accept_one(std::size_t most) {
  const int descriptor = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (descriptor < 0) {
    return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED
               ? std::string()
               : fmt::format("cannot hear the tasks of this node: {}", std::strerror(errno));
  }
  if (credentials_of(descriptor).uid == geteuid() && strangers_.size() < most) {
    strangers_.push_back(descriptor);
  } else {
    close(descriptor);
  }
  return {};
}

/// Fills in the rank if it is one of the tasks.
TaskListener::Heard TaskListener::hear(Job& job, int descriptor) const {
  TaskHello hello;
  if (recv(descriptor, &hello, sizeof hello, MSG_DONTWAIT) != static_cast<ssize_t>(sizeof hello) ||
      hello.magic != task_magic || std::memcmp(hello.secret, secret_, sizeof secret_) != 0 ||
      hello.rank < 0 || hello.rank >= static_cast<int>(job.ranks.size())) {
    return Heard::stranger;
  }
  RankProcess& rank = job.ranks[static_cast<std::size_t>(hello.rank)];
  if (rank.control >= 0 || rank.elsewhere) {
    return Heard::stranger;
  }
  const pid_t pid = credentials_of(descriptor).pid;
  const int process = watch_process(pid);
  // A connection that is still there says that the pid has not become another process's meanwhile.
  pollfd hung_up{descriptor, POLLRDHUP, 0};
  if (process < 0 || poll(&hung_up, 1, 0) != 0) {
    return Heard::ended;
  }
  rank.pid = pid;
  rank.mpi_process = process;
  rank.control = descriptor;
  if (const pid_t root = started_by_launcher(pid); root != pid) {
    rank.script = watch_process(root);
  }
  ControlChannel::prepare(descriptor);
  return Heard::task;
}

std::string TaskListener::wait_for_all(Job& job, pid_t first_task) {
  const int first = watch_process(first_task);
  std::string wrong = first < 0 ? "the first task has ended before MPI_Init" : "";
  const auto all = static_cast<std::size_t>(job.ranks_here());
  for (std::size_t come = 0; wrong.empty() && come < all;) {
    std::vector<pollfd> news{{socket_, POLLIN, 0}, {first, POLLIN, 0}, {job.launcher, POLLIN, 0}};
    const std::size_t ahead = news.size();
    for (const RankProcess& rank : job.ranks) {
      if (!rank.elsewhere) {
        news.push_back({rank.mpi_process, POLLIN, 0});
      }
    }
    for (const int descriptor : strangers_) {
      news.push_back({descriptor, POLLIN, 0});
    }
    if (poll(news.data(), news.size(), -1) < 0) {
      wrong = errno == EINTR ? "" : fmt::format("cannot hear tasks: {}", std::strerror(errno));
      continue;
    }
    for (std::size_t index = 1; index < ahead + all; ++index) {
      if (news[index].revents != 0) {
        wrong = index == 2 ? "the launcher has ended"
                           : "a task has ended before all of the job's had called MPI_Init";
      }
    }
    std::vector<int> still_silent;
    for (std::size_t index = 0; index < strangers_.size(); ++index) {
      const int descriptor = strangers_[index];
      if (news[ahead + all + index].revents == 0) {
        still_silent.push_back(descriptor);
        continue;
      }
      const Heard heard = hear(job, descriptor);
      come += heard == Heard::task ? 1 : 0;
      if (heard != Heard::task) {
        close(descriptor);
      }
      if (heard == Heard::ended) {
        wrong = "a task has ended in MPI_Init";
      }
    }
    strangers_ = still_silent;
    if (news[0].revents != 0 && wrong.empty()) {
      wrong = accept_one(most_strangers + all);
    }
  }
  if (first >= 0) {
    close(first);
  }
  close(socket_);
  socket_ = -1;
  return wrong;
}

}  // namespace meantime::launch
