// What a terminal's key does while the ranks are being started. Until they all are, the supervisor
// is in mpiexec's process group, as the ranks are, for they must inherit it: what is sent to the
// group reaches it too, and that is how it knows which ranks have it and which came too late. What
// is to be done about it the front tells later, as always. What was sent to the supervisor alone
// the front cannot tell of; so it is asked, once the group has been left (Relayed). Main thread
// only.
#pragma once

#include <sys/types.h>
#include <array>

#include <csignal>
#include <optional>

namespace meantime::launch {

class EarlySignals {
 public:
  /// Before rank `next` is started, and once more when the group has been left: what has come up to
  /// now the ranks from `next` on do not have. All of `supervised_signals` but SIGCHLD is blocked,
  /// and taken away here. SIGCONT from `front` is no such signal: it has made this process go on,
  /// to hear of another.
  void look(int next, pid_t front);

  /// The front tells of this signal: the first rank that lacks it, if it came while they were
  /// started. Only once: a later one is another signal.
  std::optional<int> first_without(int signal);

  /// A signal of which the front has not told yet, 0 if there is none. Stays until it is taken by
  /// `first_without`.
  [[nodiscard]] int untold() const;

 private:
  std::array<std::optional<int>, _NSIG> first_without_;
};

}  // namespace meantime::launch
