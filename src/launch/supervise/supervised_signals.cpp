#include "launch/supervise/supervised_signals.h"

#include <initializer_list>

namespace meantime::launch {

sigset_t supervised_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGQUIT, SIGCHLD}) {
    sigaddset(&signals, signal);
  }
  return signals;
}

int front_is_gone_signal() {
  return SIGCONT;
}

int relayed_signal() {
  return SIGRTMIN;
}

int value_of(Relayed relayed) {
  return relayed.signal << 1 | (relayed.ranks_have_it ? 1 : 0);
}

Relayed relayed_from(int value) {
  return {value >> 1, (value & 1) != 0};
}

}  // namespace meantime::launch
