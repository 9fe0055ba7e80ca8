#include "launch/supervise/early_signals.h"

#include <ctime>

#include "launch/supervise/supervised_signals.h"

namespace meantime::launch {

void EarlySignals::look(int next) {
  sigset_t signals = supervised_signals();
  sigdelset(&signals, SIGCHLD);
  const timespec at_once{};
  for (int signal = 0; (signal = sigtimedwait(&signals, nullptr, &at_once)) > 0;) {
    first_without_[static_cast<std::size_t>(signal)] = next;
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
