#include "launch/report/node_report.h"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace meantime;
using namespace meantime::launch;

/// Of two ranks one is here.
struct Node {
  Node(int rank, const std::string& name) {
    job.node_name = name;
    job.notes = {"note of " + name};
    job.cpus.workers = 1;
    job.ranks.resize(2);
    job.ranks[static_cast<std::size_t>(1 - rank)].be_elsewhere();
    figures.ledger.ranks.resize(2);
    times.wall_seconds = 1 + rank;
    times.cpu_seconds = 0.5;
    times.allocated_seconds = 1;
    times.joules = 10;
    ledger::RankFigures& own = figures.ledger.ranks[static_cast<std::size_t>(rank)];
    own.in_mpi = true;
    own.wait_ns = 77;
    own.preempted_ns = 5;
    own.changes.push_back({ledger::ChangedBy::handler, "what", "value"});
    ledger::SiteFigures site;
    site.file = "program";
    site.offset = 256;
    site.waits = 3;
    site.histogram[7] = 3;
    own.sites.push_back(site);
    figures.names[{"program", 256}] = {"main", "program.c:1", "main (program.c:1)"};
  }
  Job job;
  JobFigures figures;
  JobTimes times;
};

TEST(NodeReport, ComesTogether) {
  Node first(0, "one");
  Node second(1, "two");
  second.figures.names[{"program", 512}] = {"there", "", "there"};
  EXPECT_EQ(missing_ranks(first.job), std::vector<std::size_t>{1});
  const std::string packed = packed_report(second.job, second.figures, second.times);
  ASSERT_TRUE(add_report(packed, first.job, first.figures, first.times));
  EXPECT_TRUE(missing_ranks(first.job).empty());
  EXPECT_EQ(first.job.ranks[1].host_name, "two");
  EXPECT_EQ(first.job.cpus.workers, 2);
  EXPECT_EQ(first.job.notes.size(), 2U);
  EXPECT_EQ(first.times.wall_seconds, 2);
  EXPECT_EQ(first.times.cpu_seconds, 1);
  EXPECT_EQ(first.times.allocated_seconds, 2);
  EXPECT_EQ(first.times.joules, 20);
  EXPECT_EQ(first.figures.names.size(), 2U);
  const ledger::RankFigures& told = first.figures.ledger.ranks[1];
  EXPECT_EQ(told.wait_ns, 77U);
  EXPECT_EQ(told.preempted_ns, 5U);
  ASSERT_EQ(told.sites.size(), 1U);
  EXPECT_EQ(told.sites[0].histogram[7], 3U);
  EXPECT_EQ(told.sites[0].file, "program");
  ASSERT_EQ(told.changes.size(), 1U);
  EXPECT_EQ(told.changes[0].what, "what");
  EXPECT_FALSE(add_report(packed, first.job, first.figures, first.times)) << "a second time";
}

TEST(NodeReport, EnergyOfSomeNodesIsNone) {
  Node first(0, "one");
  Node second(1, "two");
  second.times.joules = -1;
  second.times.energy_source = "no counters";
  ASSERT_TRUE(add_report(packed_report(second.job, second.figures, second.times), first.job,
                         first.figures, first.times));
  EXPECT_EQ(first.times.joules, -1);
  EXPECT_EQ(first.times.energy_source, "two: no counters");
}

TEST(NodeReport, WhatIsNoneChangesNothing) {
  Node first(0, "one");
  Node second(1, "two");
  std::string packed = packed_report(second.job, second.figures, second.times);
  EXPECT_FALSE(add_report("", first.job, first.figures, first.times));
  EXPECT_FALSE(add_report(std::string(100, '\xff'), first.job, first.figures, first.times));
  packed.pop_back();
  EXPECT_FALSE(add_report(packed, first.job, first.figures, first.times));
  EXPECT_EQ(missing_ranks(first.job), std::vector<std::size_t>{1});
  EXPECT_EQ(first.job.cpus.workers, 1);
}

}  // namespace
