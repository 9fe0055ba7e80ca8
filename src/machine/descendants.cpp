#include "machine/descendants.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <set>

#include "machine/process_stat.h"

namespace meantime::machine {

std::vector<pid_t> descendants() {
  std::vector<pid_t> found;
  for (const ProcessTree::Process& process : ProcessTree().below(getpid())) {
    found.push_back(process.pid);
  }
  return found;
}

void signal_descendants(std::initializer_list<int> signals) {
  for (pid_t pid : descendants()) {
    for (int signal : signals) {
      kill(pid, signal);
    }
  }
}

void stop_descendants() {
  // Fork gives up if a signal has come, so what a process (of one thread) has made is there by the
  // time that it has its signal: nothing new in a round means that all are stopped.
  std::set<pid_t> stopped;
  for (bool any_new = true; any_new;) {
    any_new = false;
    for (const pid_t pid : descendants()) {
      if (stopped.insert(pid).second) {
        kill(pid, SIGSTOP);
        any_new = true;
      }
    }
  }
}

int kill_descendants(double patience_seconds,
                     const std::function<void(pid_t, const rusage&)>& ended) {
  // A process that forks while we look may be missed by one round, never by all: each round ends
  // its parents, and what they leave comes to us.
  constexpr timespec pause{0, 5'000'000};
  int rounds = static_cast<int>(patience_seconds / 5e-3);
  for (int round = 0; round < rounds; ++round) {
    signal_descendants({SIGKILL});
    pid_t reaped = 0;
    rusage used{};
    while ((reaped = wait4(-1, nullptr, WNOHANG, &used)) > 0) {
      if (ended) {
        ended(reaped, used);
      }
    }
    if (reaped < 0 && errno == ECHILD) {
      return 0;
    }
    nanosleep(&pause, nullptr);
  }
  return static_cast<int>(descendants().size());
}

}  // namespace meantime::machine
