#include "launch/supervise/early_signals.h"

#include <ctime>

#include "launch/supervise/supervised_signals.h"

namespace meantime::launch {

void EarlySignals::look(int next, pid_t front) {
  sigset_t signals = supervised_signals();
  sigdelset(&signals, SIGCHLD);
  const timespec at_once{};
  siginfo_t info{};
  for (int signal = 0; (signal = sigtimedwait(&signals, &info, &at_once)) > 0;) {
    if (signal != SIGCONT || info.si_pid != front) {
      first_without_[static_cast<std::size_t>(signal)] = next;
    }
  }
}

std::optional<int> EarlySignals::first_without(int signal) {
  std::optional<int>& place = first_without_[static_cast<std::size_t>(signal)];
  const std::optional<int> first = place;
  place.reset();
  return first;
}

int EarlySignals::untold() const {
  for (int signal = 1; signal < _NSIG; ++signal) {
    if (first_without_[static_cast<std::size_t>(signal)]) {
      return signal;
    }
  }
  return 0;
}

}  // namespace meantime::launch
