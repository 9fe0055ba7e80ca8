// Passing signals on to the ranks: to the program that a rank is, even if a script has started it.
#pragma once

#include <csignal>

#include "launch/job.h"
#include "launch/supervise/supervised_signals.h"

namespace meantime::launch {

class Relay {
 public:
  explicit Relay(const Job& job);

  /// The first SIGINT or SIGTERM is a request, which ranks may take their time for; the second an
  /// order: then nothing is passed on, and the result is false. The first `ranks_with_it` ranks
  /// have the signal from the terminal.
  bool pass_on(int signal, int ranks_with_it);
  /// Whether ranks got this signal, from us or from the terminal.
  [[nodiscard]] bool passed_on(int signal) const;

 private:
  void pass_on_to(const RankProcess& rank, int signal);

  const Job& job_;
  double interrupted_ = 0;
  sigset_t passed_on_{};
};

/// A request to end: what a process does not hear while it is stopped.
inline bool ends_a_process(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

/// Two SIGINT closer than this are one: `timeout` and some shells signal process and group.
inline constexpr double same_signal_seconds = 0.1;

}  // namespace meantime::launch
