#include "node/control_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>

#include "base/clock.h"
#include "protocol/control.h"

namespace meantime::node {

using launch::control_text_limit;
using launch::ControlKind;
using launch::ControlMessage;

ControlClient::ControlClient(int descriptor, int rank) : rank_(rank) {
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    return;
  }
  if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0) {
    descriptor_ = descriptor;
    device_ = status.st_dev;
    socket_ = status.st_ino;
  }
}

bool ControlClient::hello(std::string_view library_version, std::string_view way_to_wait,
                          std::string_view energy_policy) {
  std::string text(library_version);
  ((text += '\n') += way_to_wait) += '\n';
  text += energy_policy;
  return send(static_cast<unsigned>(ControlKind::hello), 0, text);
}

bool ControlClient::address_posted() {
  return send(static_cast<unsigned>(ControlKind::address), 0, {});
}

bool ControlClient::finalized() {
  return send(static_cast<unsigned>(ControlKind::finalized), 0, {});
}

void ControlClient::wait_to_leave() const {
  char packet = 0;
  while (is_still_ours() && recv(descriptor_, &packet, sizeof packet, 0) < 0 && errno == EINTR) {
  }
}

bool ControlClient::back() {
  return send(static_cast<unsigned>(ControlKind::back), 0, {});
}

bool ControlClient::sessions_only(bool only) {
  return send(static_cast<unsigned>(ControlKind::sessions), only ? 1 : 0, {});
}

bool ControlClient::abort(int code, std::string_view text) {
  return send(static_cast<unsigned>(ControlKind::abort), code, text.substr(0, control_text_limit));
}

bool ControlClient::remark(std::string_view topic, std::string_view line) {
  std::string text(topic);
  (text += '\n') += line.substr(0, control_text_limit / 2);
  return send(static_cast<unsigned>(ControlKind::remark), 0, text);
}

bool ControlClient::deadlock(std::string_view what, std::string_view hint, bool for_ever) {
  std::string text(what.substr(0, control_text_limit / 2));
  (text += '\n') += hint.substr(0, control_text_limit / 2 - 1);
  return send(static_cast<unsigned>(ControlKind::deadlock), for_ever ? 0 : 1, text);
}

bool ControlClient::still() {
  return send(static_cast<unsigned>(ControlKind::still), 0, {});
}

bool ControlClient::unreachable(int world_rank, std::string_view problem) {
  return send(static_cast<unsigned>(ControlKind::unreachable), world_rank,
              problem.substr(0, control_text_limit));
}

bool ControlClient::wait_to_be_ended() const {
  constexpr std::uint64_t patience_ms = 2000;
  const std::uint64_t began = now_ns() / 1'000'000;
  for (std::uint64_t passed = 0; passed < patience_ms; passed = now_ns() / 1'000'000 - began) {
    pollfd hung_up{descriptor_, POLLRDHUP, 0};
    if (poll(&hung_up, 1, static_cast<int>(patience_ms - passed)) > 0) {
      return true;
    }
  }
  return false;
}

bool ControlClient::ended(int code) {
  return send(static_cast<unsigned>(ControlKind::ended), code, {});
}

bool ControlClient::killed(int signal, std::string_view text) {
  return send(static_cast<unsigned>(ControlKind::killed), signal,
              text.substr(0, control_text_limit));
}

bool ControlClient::crashed(int signal, std::string_view text) {
  return send(static_cast<unsigned>(ControlKind::crashed), signal,
              text.substr(0, control_text_limit), MSG_DONTWAIT);
}

bool ControlClient::frequency(bool low, int worker) {
  return send(static_cast<unsigned>(ControlKind::frequency), low ? 1 : 0, {},
              low ? MSG_DONTWAIT : 0, worker);
}

bool ControlClient::is_still_ours() const {
  struct stat status {};
  return descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && status.st_dev == device_ &&
         status.st_ino == socket_;
}

bool ControlClient::send(unsigned kind, int code, std::string_view text, int flags, int worker) {
  if (!is_still_ours()) {
    return false;
  }
  ControlMessage message;
  message.kind = static_cast<ControlKind>(kind);
  message.rank = rank_;
  message.pid = getpid();
  message.code = code;
  message.worker = worker;
  message.text_bytes = static_cast<std::uint32_t>(text.size());
  iovec parts[2] = {{&message, sizeof message}, {const_cast<char*>(text.data()), text.size()}};
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = text.empty() ? 1 : 2;
  ssize_t sent = 0;
  do {
    sent = sendmsg(descriptor_, &header, MSG_NOSIGNAL | flags);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

namespace {

struct HeldLifeline {
  int descriptor = -1;
  struct stat status {};  ///< the program may close it and get the number for one of its own
};
HeldLifeline held;

void end_if_cut(int /*signal*/) {
  const int before = errno;
  struct stat status {};
  pollfd look{held.descriptor, POLLIN, 0};
  if (fstat(held.descriptor, &status) == 0 && status.st_dev == held.status.st_dev &&
      status.st_ino == held.status.st_ino && poll(&look, 1, 0) != 0) {
    _exit(128 + SIGKILL);
  }
  errno = before;
}

/// The first process of a PID namespace: SIGKILL from inside its namespace, as which the kernel
/// takes the one for a lifeline, is not for it; what it has a handler for is. Best SIGCONT, which
/// makes a stopped process go on. The handler looks at the pipe, not at who sent the signal: the
/// kernel drops one that comes while the same signal from somebody else is pending.
int signal_with_handler() {
  for (const int signal : {SIGCONT, SIGIO}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) {
      continue;  // the program's own
    }
    action.sa_flags = SA_RESTART;
    action.sa_handler = end_if_cut;
    if (sigaction(signal, &action, nullptr) == 0) {
      return signal;
    }
  }
  return SIGKILL;
}

}  // namespace

// Why no death of mpiexec is missed: the kernel sends the signal when the last write end closes,
// if that happens after F_SETFL; if it happened before, the poll after F_SETFL sees the hang-up.
// The registration belongs to the open file description, which this process alone owns.
Lifeline hold_lifeline(int descriptor) {
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0 || !S_ISFIFO(status.st_mode) ||
      fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) {
    return Lifeline::absent;
  }
  held = {descriptor, status};
  const int signal = getpid() == 1 ? signal_with_handler() : SIGKILL;
  int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fcntl(descriptor, F_SETSIG, signal) != 0 ||
      fcntl(descriptor, F_SETOWN, getpid()) != 0 ||
      fcntl(descriptor, F_SETFL, flags | O_ASYNC | O_NONBLOCK) != 0) {
    return Lifeline::absent;
  }
  pollfd look{descriptor, POLLIN, 0};
  return poll(&look, 1, 0) == 0 ? Lifeline::held : Lifeline::cut;
}

}  // namespace meantime::node
