#include "launch/supervise/early_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "launch/supervise/supervised_signals.h"

namespace meantime::launch {
namespace {

TEST(EarlySignals, WhatMakesTheSupervisorGoOnIsNone) {
  sigset_t signals = supervised_signals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &signals, &before);
  EarlySignals early;
  kill(getpid(), SIGCONT);
  kill(getpid(), SIGUSR1);
  early.look(2, getpid());
  EXPECT_EQ(early.untold(), SIGUSR1);
  EXPECT_FALSE(early.first_without(SIGCONT));
  EXPECT_EQ(early.first_without(SIGUSR1), 2);

  kill(getpid(), SIGCONT);
  early.look(1, getppid());
  EXPECT_EQ(early.first_without(SIGCONT), 1);
  EXPECT_EQ(early.untold(), 0);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace meantime::launch
