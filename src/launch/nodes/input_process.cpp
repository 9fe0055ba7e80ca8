#include "launch/nodes/input_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "launch/messages.h"

namespace meantime::launch {
namespace {

/// What there is to read. A terminal's is for who is in its foreground: elsewhere SIGTTIN, which is
/// blocked, becomes EIO.
ssize_t read_when_allowed(int source, char* part, std::size_t most) {
  for (;;) {
    // Who is asleep in read(2) on a terminal has it also once it is in the background.
    pollfd ready{source, POLLIN, 0};
    poll(&ready, 1, -1);
    const ssize_t bytes = read(source, part, most);
    if (bytes >= 0 || (errno != EINTR && errno != EAGAIN && errno != EIO)) {
      return bytes;
    }
    if (errno == EIO && isatty(source) == 0) {
      return -1;
    }
    constexpr timespec pause{0, 100'000'000};
    nanosleep(&pause, nullptr);
  }
}

[[noreturn]] void pass_on(int order, int to, pid_t parent) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);  // the terminal's keys reach it, and are not for it
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Whatever else mpiexec has open others wait for the end of.
  dup2(to, STDOUT_FILENO);
  dup2(order, STDERR_FILENO);
  syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
  char part[65536];
  for (const int source : {STDERR_FILENO, STDIN_FILENO}) {
    ssize_t bytes = 0;
    while (getppid() == parent && (bytes = read_when_allowed(source, part, sizeof part)) > 0) {
      if (!write_all(STDOUT_FILENO, {part, static_cast<std::size_t>(bytes)})) {
        _exit(0);
      }
    }
  }
  _exit(0);
}

}  // namespace

InputProcess input_behind(int order) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return {};
  }
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    pass_on(order, ends[1], parent);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return {};
  }
  return {child, ends[0]};
}

}  // namespace meantime::launch
