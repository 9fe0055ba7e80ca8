#include "ledger/prorate.h"

#include <gtest/gtest.h>

namespace meantime::ledger {
namespace {

WorkerFigures worker(std::uint64_t ran, std::uint64_t polled, std::uint64_t cpu,
                     std::uint64_t preempted) {
  WorkerFigures figures;
  figures.host = 77;
  figures.spent_ns = {ran, polled, 0, 0};
  figures.cpu_ns = cpu;
  figures.preempted_ns = preempted;
  return figures;
}

RankFigures rank(int home, int now, std::uint64_t wall, std::uint64_t waited) {
  RankFigures figures;
  figures.home = home;
  figures.worker = now;
  figures.wall_ns = wall;
  figures.wait_ns = waited;
  figures.spent_ns[static_cast<int>(Activity::sleep)] = waited;
  return figures;
}

TEST(Prorate, ByTheTimeThatEachRan) {
  Figures figures;
  figures.workers = {worker(1000, 0, 500, 500), worker(1000, 0, 1000, 0)};
  figures.ranks = {rank(0, 0, 1000, 400), rank(0, 0, 1000, 600), rank(1, 1, 1000, 0)};
  prorate(figures);
  EXPECT_EQ(figures.ranks[0].cpu_ns, 300u);
  EXPECT_EQ(figures.ranks[0].preempted_ns, 300u);
  EXPECT_EQ(figures.ranks[1].cpu_ns, 200u);
  EXPECT_EQ(figures.ranks[2].cpu_ns, 1000u);
  EXPECT_EQ(figures.ranks[2].preempted_ns, 0u);
}

TEST(Prorate, WhatTheWorkerPolledIsNoRanks) {
  Figures figures;
  figures.workers = {worker(600, 400, 800, 200)};
  figures.workers[0].held_up_ns = 150;  // so 250 of the CPU time were polled
  figures.ranks = {rank(0, 0, 600, 0)};
  prorate(figures);
  EXPECT_EQ(figures.ranks[0].cpu_ns, 550u);
  EXPECT_EQ(figures.ranks[0].preempted_ns, 50u);
}

TEST(Prorate, NoMoreThanThereWas) {
  Figures figures;
  figures.workers = {worker(1000, 0, 900, 5000)};              // ready to run also while it slept
  figures.ranks = {rank(0, 0, 1000, 0), rank(0, 0, 1000, 0)};  // their yields count as running
  prorate(figures);
  EXPECT_EQ(figures.ranks[0].cpu_ns, 450u);
  EXPECT_EQ(figures.ranks[0].preempted_ns, 50u);
}

TEST(Prorate, ARankThatOnlyWaitedIsKnownToHaveNeededNothing) {
  Figures figures;
  figures.workers = {worker(1000, 0, 500, 500)};
  figures.ranks = {rank(0, 0, 1000, 1200), rank(0, 0, 1000, 0)};  // sampled waits are estimates
  prorate(figures);
  EXPECT_EQ(figures.ranks[0].cpu_ns, 1u);  // 0: unknown
  EXPECT_EQ(figures.ranks[1].cpu_ns, 500u);
}

TEST(Prorate, WhatTheKernelHasNotTold) {
  Figures figures;
  figures.workers = {worker(1000, 0, 500, 500), worker(1000, 0, 500, 500)};
  figures.workers[1].preempted_ns.reset();
  figures.ranks = {rank(0, 0, 1000, 0), rank(1, 1, 1000, 0)};
  prorate(figures);
  EXPECT_EQ(figures.ranks[0].preempted_ns, 500u);
  EXPECT_EQ(figures.ranks[1].preempted_ns, std::nullopt);
  EXPECT_EQ(figures.ranks[1].cpu_ns, 500u);
}

TEST(Prorate, WhatARankNeededWhileOffloadedIsItsOwn) {
  Figures figures;
  figures.workers = {worker(1000, 0, 1000, 0)};
  figures.ranks = {rank(0, 0, 1000, 0), rank(0, 0, 1000, 0)};
  figures.ranks[0].offloaded_ns = 1000;
  figures.ranks[0].offloaded_cpu_ns = 700;
  prorate(figures);
  EXPECT_EQ(figures.ranks[0].cpu_ns, 700u);
  EXPECT_EQ(figures.ranks[1].cpu_ns, 1000u);
}

TEST(Prorate, WhereRanksMovedTheWorkersAreOne) {
  Figures figures;
  figures.workers = {worker(1000, 0, 500, 0), worker(1000, 0, 1000, 0)};
  figures.ranks = {rank(0, 1, 1000, 0), rank(1, 1, 1000, 0)};
  prorate(figures);
  EXPECT_EQ(figures.ranks[0].cpu_ns, 750u);
  EXPECT_EQ(figures.ranks[1].cpu_ns, 750u);
}

TEST(Prorate, WhatTheKernelHasNotSaidIsUnknown) {
  Figures figures;
  figures.workers = {worker(1000, 0, 0, 0)};
  figures.ranks = {rank(0, 0, 1000, 0), RankFigures()};
  figures.ranks[1].cpu_ns = 5;  // a process rank
  prorate(figures);
  EXPECT_EQ(figures.ranks[0].cpu_ns, 0u);
  EXPECT_EQ(figures.ranks[1].cpu_ns, 5u);
}

}  // namespace
}  // namespace meantime::ledger
