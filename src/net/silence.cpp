#include "net/silence.h"

#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/clock.h"

namespace meantime::net {
namespace {

/// In the time of the bound: the first one sees that something is silent, and half of the bound
/// later it is shut.
constexpr int looks = 4;

bool is_epoll_set(int descriptor) {
  char target[64] = {};
  return readlink(fmt::format("/proc/self/fd/{}", descriptor).c_str(), target, sizeof target - 1) >
             0 &&
         std::strcmp(target, "anon_inode:[eventpoll]") == 0;
}

/// As the kernel lists them ("tfd:       14 events: ...").
std::vector<int> descriptors_in(int set) {
  std::vector<int> all;
  std::FILE* const file = std::fopen(fmt::format("/proc/self/fdinfo/{}", set).c_str(), "re");
  char line[128];
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    int descriptor = -1;
    if (std::sscanf(line, "tfd: %d", &descriptor) == 1) {
      all.push_back(descriptor);
    }
  }
  if (file != nullptr) {
    std::fclose(file);
  }
  return all;
}

}  // namespace

void Silence::watch_sets_among(const std::set<int>& descriptors) {
  for (const int descriptor : descriptors) {
    if (is_epoll_set(descriptor)) {
      sets_.push_back(descriptor);
    }
  }
}

void Silence::bound(double seconds) {
  bound_ = seconds;
}

double Silence::between_looks() const {
  return bound_ / looks;
}

void Silence::wait_begins() {
  if (bound_ > 0 && due_ == 0) {
    due_ = now_seconds() + between_looks();
    will_look_.store(true, std::memory_order_relaxed);
    timer_.set(between_looks());
  }
}

// The timer may have been put off by `look_later` just after somebody else's look, which had
// switched it off: then nothing is due, and it would stay readable.
void Silence::look_if_due() {
  const double now = now_seconds();
  if (due_ == 0) {
    timer_.set(0);
  } else if (now >= due_) {
    look(now);
  }
}

bool Silence::is_all_answered(int socket, double now) {
  int protocol = 0;
  socklen_t bytes = sizeof protocol;
  if (getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &bytes) != 0 ||
      protocol != IPPROTO_TCP) {
    return true;
  }
  tcp_info info{};
  bytes = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) {
    return true;
  }
  if (info.tcpi_retransmits == 0 && info.tcpi_probes == 0) {
    silent_since_.erase(socket);
    return info.tcpi_unacked == 0 && info.tcpi_notsent_bytes == 0;
  }
  double& since = silent_since_.try_emplace(socket, now).first->second;
  if (info.tcpi_last_ack_recv < (now - since) * 1000) {
    since = now;  // it has answered meanwhile
  }
  if (now - since >= bound_ / 2) {
    shutdown(socket, SHUT_RDWR);
    silent_since_.erase(socket);
    return true;
  }
  return false;
}

void Silence::look(double now) {
  bool again = false;
  for (const int set : sets_) {
    for (const int socket : descriptors_in(set)) {
      again = !is_all_answered(socket, now) || again;
    }
  }
  due_ = 0;
  will_look_.store(false, std::memory_order_relaxed);
  timer_.set(0);
  if (again) {
    wait_begins();
  }
}

}  // namespace meantime::net
