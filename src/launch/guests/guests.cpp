#include "launch/guests/guests.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "guest/environment.h"
#include "launch/messages.h"
#include "launch/start/installation.h"
#include "machine/cpu_seconds.h"

namespace meantime::launch {
namespace {

/// Beyond what guests may take for their end: for the keeper, on a busy machine.
constexpr double keeper_seconds = 8;

}  // namespace

std::string Guests::start_keeper() {
  if (!job_.guests) {
    return {};
  }
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return fmt::format("cannot start the guests: {}", std::strerror(errno));
  }
  guest::Plan plan = *job_.guests;
  plan.control = sockets[1];
  spawn_.path = guest_keeper();
  spawn_.texts = plan.words();
  const std::size_t words = spawn_.texts.size();
  for (std::string& variable : guest::environment()) {
    spawn_.texts.push_back(std::move(variable));
  }
  for (std::size_t text = 0; text < spawn_.texts.size(); ++text) {
    (text < words ? spawn_.arguments : spawn_.environment).push_back(spawn_.texts[text].data());
  }
  spawn_.arguments.push_back(nullptr);
  spawn_.environment.push_back(nullptr);
  spawn_.descriptors = {{sockets[1], sockets[1]}};
  pid_ = spawn(spawn_);
  close(sockets[1]);
  if (pid_ < 0) {
    close(sockets[0]);
    return fmt::format("cannot start the guests: {}", std::strerror(-pid_));
  }
  control_ = sockets[0];
  running_ = true;
  return {};
}

void Guests::tell(guest::Order order) const {
  if (control_ >= 0) {
    const char letter = static_cast<char>(order);
    send(control_, &letter, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

void Guests::let_run(std::size_t guests) {
  if (may_run_ != guests && control_ >= 0) {
    may_run_ = guests;
    const std::string order = fmt::format("{}{}{}", static_cast<char>(guest::Order::number), guests,
                                          static_cast<char>(guest::Order::these));
    send(control_, order.data(), order.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

void Guests::end() {
  if (control_ >= 0 && !std::exchange(told_to_end_, true)) {
    tell(guest::Order::end);
    late_.set(2 * job_.guests->grace_seconds + keeper_seconds);
  }
}

void Guests::hear() {
  char text[4096];
  ssize_t bytes = 0;
  while (control_ >= 0 && (bytes = recv(control_, text, sizeof text, MSG_DONTWAIT)) != 0) {
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (bytes < 0) {
      break;
    }
    listener_.hear({text, static_cast<std::size_t>(bytes)},
                   [](const std::string& line) { mention(line); });
  }
  if (control_ >= 0) {
    close(std::exchange(control_, -1));
    late_.set(0);
    if (listener_.account().guests.empty() && told_to_begin_) {
      mention("what guests had is not known: their keeper did not live to tell");
    }
  }
}

void Guests::note_end(pid_t pid, const rusage& used) {
  if (pid == pid_) {
    running_ = false;
    cpu_seconds_ = machine::cpu_seconds(used);
  }
}

}  // namespace meantime::launch
