#include "ledger/reader.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "ledger/accounts.h"
#include "ledger/layout.h"
#include "node/segment.h"
#include "node/words.h"

namespace meantime::ledger {
namespace {

class Reader : public testing::Test {
 protected:
  void SetUp() override {
    descriptor_ = node::create_segment(2, 2);
    ASSERT_GE(descriptor_, 0);
    ASSERT_EQ(segment.map(descriptor_), 0);
  }
  void TearDown() override {
    segment.unmap();
    close(descriptor_);
  }
  node::Link new_worker(std::uint32_t number) {
    const node::Link link = segment.grow(sizeof(node::WorkerPlace));
    auto* place = segment.at<node::WorkerPlace>(link);
    place->account.number = number;
    place->account.began_ns = 1;
    return link;
  }
  void put(int rank, node::Link home, node::Link worker) {
    segment.area(rank).home = home;
    segment.area(rank).worker = worker;
    segment.area(rank).host = 77;
  }

  node::Segment segment;
  int descriptor_ = -1;
};

/// All began on the first (--place), one was stolen; the third never had one.
TEST_F(Reader, AllWorkersOfTheHostByNumber) {
  const node::Link one = new_worker(1);
  const node::Link two = new_worker(2);
  const node::Link three = new_worker(0);
  segment.at<node::WorkerPlace>(one)->bell.next_prober = two;
  segment.at<node::WorkerPlace>(two)->bell.next_prober = three;
  segment.at<node::WorkerPlace>(three)->bell.next_prober = one;
  put(0, one, one);
  put(1, one, two);
  const Figures figures = read(segment);
  ASSERT_EQ(figures.workers.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(figures.workers[static_cast<std::size_t>(i)].number, i);
    EXPECT_EQ(figures.workers[static_cast<std::size_t>(i)].host, 77);
  }
  EXPECT_EQ(figures.ranks[0].worker, 1);
  EXPECT_EQ(figures.ranks[1].home, 1);
  EXPECT_EQ(figures.ranks[1].worker, 2);
}

TEST_F(Reader, AHostKilledWhileItBegan) {
  const node::Link one = new_worker(0);
  put(0, one, 0);
  put(1, 0, 0);
  const Figures figures = read(segment);
  ASSERT_EQ(figures.workers.size(), 1u);
  EXPECT_EQ(figures.ranks[0].worker, 0);
  EXPECT_EQ(figures.ranks[1].worker, -1);
}

TEST_F(Reader, WhatAProgramHasTrampledOn) {
  const node::Link one = new_worker(0);
  segment.at<node::WorkerPlace>(one)->account.doing = 1u << 30;
  put(0, one, one);
  EXPECT_EQ(read(segment).workers[0].spent_ns, (std::array<std::uint64_t, doings>{}));
}

/// Then the address's is charged, and the place may have one later.
TEST_F(Reader, APlaceThatHasNoRoomForItsNameHasNoAccount) {
  ASSERT_EQ(node::segment().map(descriptor_), 0);
  node::RankArea& area = node::segment().area(0);
  ASSERT_NE(open_account(area, nullptr, 5), nullptr);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{node::segment().header().heap_end, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  EXPECT_EQ(account_of_location(area, "solve (script.py:12)", 5), nullptr);
  setrlimit(RLIMIT_FSIZE, &before);
  SiteAccount* const site = account_of_location(area, "solve (script.py:12)", 5);
  EXPECT_NE(site, nullptr);
  EXPECT_EQ(account_of_location(area, "solve (script.py:12)", 5), site);
  node::segment().unmap();
}

/// Of an interpreter's program, longer than the report has room for.
TEST_F(Reader, TheLastWaitIsOfTheAccountOfItsPlace) {
  const std::string place = "a_function_with_a_long_name (/a/folder/with/a/long/name/script.py:1";
  node::RankArea& area = segment.area(0);
  const node::Link link = segment.grow(SitePage::bytes);
  auto& page = *segment.at<SitePage>(link);
  for (const char* end : {"2)", "3)"}) {
    SiteAccount& site = page.site[page.used++];
    const std::string whole = place + end;
    site.file = segment.grow(whole.size() + 1);
    std::memcpy(segment.at<char>(site.file), whole.c_str(), whole.size() + 1);
    site.named = 1;
    site.call = 5;
    site.waits = 1;
  }
  area.ledger = link;
  area.account.began_ns = 1;
  area.report.state = static_cast<std::uint32_t>(node::RankState::waiting);
  area.report.since_ns = 1;
  area.report.call = 5;
  node::write_words(area.report.location, place + "2)");
  const RankFigures rank = read(segment).ranks[0];
  ASSERT_EQ(rank.sites.size(), 2u);
  EXPECT_EQ(rank.sites[0].location, place + "2)");
  EXPECT_EQ(rank.sites[0].waits, 2u);
  EXPECT_EQ(rank.sites[1].waits, 1u);
}

}  // namespace
}  // namespace meantime::ledger
