#include "scheduling/worker_times.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

#include "base/clock.h"
#include "ledger/accounts.h"
#include "ledger/kernel_account.h"

namespace meantime::ranks {
namespace {

using ledger::Doing;

std::uint64_t spent(const node::WorkerAccount& account, Doing doing) {
  return account.spent_ns[static_cast<int>(doing)].load();
}

TEST(WorkerTimes, OneActivityAfterTheOther) {
  node::WorkerAccount account{};
  WorkerTimes times(account);
  times.picked_up(gettid(), 3, 1000);
  times.change_to(Doing::poll, 11'000);
  times.polled(14'000);
  times.yields();
  times.polled(16'000);
  times.change_to(Doing::sleep, 17'000);
  times.change_to(Doing::run, 117'000);
  times.ends(120'000);
  EXPECT_EQ(account.number.load(), 3u);
  EXPECT_EQ(spent(account, Doing::run), 13'000u);
  EXPECT_EQ(spent(account, Doing::poll), 4'000u);
  EXPECT_EQ(spent(account, Doing::yield), 2'000u);
  EXPECT_EQ(spent(account, Doing::sleep), 100'000u);
  EXPECT_EQ(account.ended_ns.load() - account.began_ns.load(), 119'000u);
  EXPECT_EQ(account.held_up_ns.load(), 0u);
}

TEST(WorkerTimes, AGapIsSomebodyElses) {
  node::WorkerAccount account{};
  WorkerTimes times(account);
  times.picked_up(gettid(), 0, 0);
  times.change_to(Doing::poll, 1'000);
  times.polled(1'000 + ledger::gone_ns);
  EXPECT_EQ(account.held_up_ns.load(), 0u);
  times.polled(4'001'000 + ledger::gone_ns);
  EXPECT_EQ(account.held_up_ns.load(), 4'000'000u);
  for (int yield = 0; yield < 64; ++yield) {
    times.yields();
  }
  times.polled(4'101'000 + ledger::gone_ns);  // 64 yields take their time
  EXPECT_EQ(account.held_up_ns.load(), 4'000'000u);
}

/// Each carrier's CPU time while it has the worker, not before and not after.
TEST(WorkerTimes, OneCarrierAfterTheOther) {
  const auto compute = [](std::uint64_t ns) {
    const std::uint64_t until = thread_cpu_ns() + ns;
    while (thread_cpu_ns() < until) {
    }
  };
  node::WorkerAccount account{};
  WorkerTimes times(account);
  const auto carry = [&] {
    compute(20'000'000);
    times.picked_up(gettid(), 0, now_ns());
    compute(10'000'000);
    const std::uint64_t handed_over = thread_cpu_ns();
    compute(10'000'000);  // before that is told
    times.put_down(handed_over);
    compute(20'000'000);
    times.refresh();
  };
  std::thread(carry).join();
  EXPECT_NEAR(static_cast<double>(account.cpu_ns.load()), 10e6, 2e6);
  std::thread(carry).join();
  EXPECT_NEAR(static_cast<double>(account.cpu_ns.load()), 20e6, 4e6);
}

/// While the program has all descriptors the kernel cannot be asked: no figure is not zero.
TEST(WorkerTimes, WhatTheKernelDoesNotTell) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto may_open = [&](bool may) {
    const rlimit limit{may ? before.rlim_cur : 0, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
  };
  const auto give_away_the_core = [] {
    for (int i = 0; i < 1000; ++i) {
      std::this_thread::yield();
    }
  };
  if (!ledger::ready_ns_of(gettid())) {
    GTEST_SKIP() << "no schedstat here";
  }
  node::WorkerAccount account{};
  WorkerTimes times(account);
  may_open(false);
  times.picked_up(gettid(), 0, 1000);
  times.refresh();
  EXPECT_EQ(ledger::told(account.preempted_ns), std::nullopt);
  may_open(true);
  give_away_the_core();
  times.refresh();
  const auto told = ledger::told(account.preempted_ns);
  ASSERT_TRUE(told.has_value());
  EXPECT_LT(*told, 60'000'000'000u);
  may_open(false);
  give_away_the_core();
  times.refresh();
  EXPECT_EQ(ledger::told(account.preempted_ns), told);
  times.put_down(thread_cpu_ns());
  times.picked_up(gettid(), 0, 2000);  // another carrier's account goes on from there
  may_open(true);
  times.refresh();
  EXPECT_EQ(ledger::told(account.preempted_ns), told);
}

}  // namespace
}  // namespace meantime::ranks
