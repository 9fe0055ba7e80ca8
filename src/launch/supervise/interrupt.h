// How a program that stands for another one ends of Ctrl-C in a terminal.
#pragma once

#include <csignal>

namespace meantime::launch {

/// As one that does not catch it would, so that a shell's loop around this ends, too.
inline void die_of_interrupt() {
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  std::signal(SIGINT, SIG_DFL);
  raise(SIGINT);
  sigprocmask(SIG_UNBLOCK, &interrupt, nullptr);
}

}  // namespace meantime::launch
