#include "protocol/wire_up.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace meantime::launch {

WireUp::~WireUp() {
  for (const int descriptor : {to_, from_}) {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::string WireUp::start(const std::string& program, const char* use) {
  int input[2];  // a socket: what is said to one that has ended raises no signal
  int output[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) != 0 ||
      pipe2(output, O_CLOEXEC) != 0) {
    return std::strerror(errno);
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output[1], STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string name = program;
  std::string word = use != nullptr ? use : "";
  char* arguments[] = {name.data(), use != nullptr ? word.data() : nullptr, nullptr};
  const int error = posix_spawn(&pid_, program.c_str(), &files, &attributes, arguments, __environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  close(input[0]);
  close(output[1]);
  to_ = input[1];
  from_ = output[0];
  pid_ = error == 0 ? pid_ : -1;
  return error != 0 ? std::strerror(error) : "";
}

void WireUp::say(const std::string& line) const {
  const std::string text = line + '\n';
  [[maybe_unused]] const auto sent = send(to_, text.data(), text.size(), MSG_NOSIGNAL);
}

std::string WireUp::hear_line() {
  char part[4096];
  std::size_t end = std::string::npos;
  while ((end = heard_.find('\n')) == std::string::npos) {
    const ssize_t bytes = read(from_, part, sizeof part);
    if (bytes > 0) {
      heard_.append(part, static_cast<std::size_t>(bytes));
    } else if (bytes == 0 || errno != EINTR) {
      return {};
    }
  }
  std::string line = heard_.substr(0, end);
  heard_.erase(0, end + 1);
  return line;
}

}  // namespace meantime::launch
