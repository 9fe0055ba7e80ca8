#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <thread>
#include <vector>

#include "node/pool.h"

namespace meantime::node {
namespace {

constexpr std::size_t megabyte = 1024 * 1024;

class PoolOfSegment : public testing::Test {
 protected:
  void SetUp() override {
    descriptor_ = create_segment(1, 1);
    ASSERT_GE(descriptor_, 0);
    ASSERT_EQ(segment().map(descriptor_), 0);
  }
  void TearDown() override {
    segment().unmap();
    close(descriptor_);
  }
  static std::uint64_t heap_end() { return segment().header().heap_end; }

  Pool pool_;
  int descriptor_ = -1;
};

TEST_F(PoolOfSegment, LargePiecesTakeNoMoreThanWholePages) {
  const std::uint64_t before = heap_end();
  EXPECT_NE(pool_.allocate(5 * megabyte + 1), 0u);
  EXPECT_EQ(heap_end() - before, 5 * megabyte + 4096);
}

TEST_F(PoolOfSegment, LargePiecesAreCutAndJoined) {
  const Link all = pool_.allocate(8 * megabyte);
  ASSERT_NE(all, 0u);
  pool_.release(all, 8 * megabyte);
  const std::uint64_t end = heap_end();
  const Link one = pool_.allocate(3 * megabyte);
  const Link two = pool_.allocate(1 * megabyte + 5);
  const Link three = pool_.allocate(2 * megabyte);
  pool_.release(two, 1 * megabyte + 5);
  pool_.release(one, 3 * megabyte);
  pool_.release(three, 2 * megabyte);
  EXPECT_EQ(pool_.allocate(8 * megabyte), all);
  EXPECT_EQ(heap_end(), end);
}

TEST_F(PoolOfSegment, MoreThanThereIsIsRefused) {
  EXPECT_EQ(pool_.allocate(segment().header().limit + 1), 0u);
  EXPECT_EQ(pool_.allocate(static_cast<std::size_t>(-5)), 0u);
}

/// `ulimit -f` from here on: the segment may grow by so much.
class Limit {
 public:
  explicit Limit(std::uint64_t more) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{segment().header().heap_end + more, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~Limit() { setrlimit(RLIMIT_FSIZE, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  rlimit before_{};
};

/// All that there is, in pieces of so many bytes.
std::set<Link> take_all(Pool& pool, std::size_t bytes) {
  std::set<Link> pieces;
  while (const Link place = pool.allocate(bytes)) {
    EXPECT_TRUE(pieces.insert(place).second);
  }
  return pieces;
}

TEST_F(PoolOfSegment, TheLastPageIsOfUse) {
  const Limit limit(300 * 1024);
  EXPECT_EQ(take_all(pool_, 128).size(), 300u * 1024 / 128);
  EXPECT_EQ(segment().header().full_because, static_cast<std::uint32_t>(EFBIG));
}

TEST_F(PoolOfSegment, WhatCouldNotBeHadGoesBack) {
  const Limit limit(8192);
  const std::uint64_t before = heap_end();
  EXPECT_EQ(pool_.allocate(1 * megabyte), 0u);
  EXPECT_EQ(pool_.allocate(32 * 1024), 0u);
  EXPECT_EQ(heap_end(), before);
  EXPECT_NE(segment().grow(8192), 0u);
}

/// The same segment in a file for which the kernel has no more pages than it has now.
int full_copy(int descriptor) {
  const off_t bytes = lseek(descriptor, 0, SEEK_END);
  std::vector<char> contents(static_cast<std::size_t>(bytes));
  const int copy = memfd_create("full", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (pread(descriptor, contents.data(), contents.size(), 0) != bytes ||
      pwrite(copy, contents.data(), contents.size(), 0) != bytes ||
      fcntl(copy, F_ADD_SEALS, F_SEAL_GROW) != 0) {
    ADD_FAILURE() << errno;
  }
  return copy;
}

TEST_F(PoolOfSegment, ManyThatAskInVainDoNotUseUpTheAddresses) {
  const int full = full_copy(descriptor_);
  segment().unmap();
  ASSERT_EQ(segment().map(full), 0);
  const std::uint64_t before = heap_end();
  std::vector<std::thread> starving;
  for (int one = 0; one < 4; ++one) {
    starving.emplace_back([one] {
      for (int time = 0; time < 5000; ++time) {
        EXPECT_EQ(segment().grow(4096 * (one + 1)), 0u);
      }
    });
  }
  for (std::thread& one : starving) {
    one.join();
  }
  EXPECT_EQ(heap_end(), before);
  EXPECT_EQ(segment().header().full_because, static_cast<std::uint32_t>(EPERM));
  close(full);
}

TEST_F(PoolOfSegment, WhatManyGrowAtOnceIsEachOnesOwn) {
  const std::uint64_t before = heap_end();
  std::vector<std::set<Link>> pieces(4);
  std::vector<std::thread> ranks;
  for (std::set<Link>& own : pieces) {
    ranks.emplace_back([&own] {
      for (int time = 0; time < 300; ++time) {
        const Link place = segment().grow(8192);
        *segment().at<char>(place + 8191) = 1;
        own.insert(place);
      }
    });
  }
  for (std::thread& rank : ranks) {
    rank.join();
  }
  std::set<Link> all;
  for (const std::set<Link>& own : pieces) {
    all.insert(own.begin(), own.end());
  }
  EXPECT_EQ(all.size(), 4u * 300);
  EXPECT_EQ(heap_end(), before + std::uint64_t{4} * 300 * 8192);
}

TEST_F(PoolOfSegment, WhereTheSegmentIsFullALargerPieceIsCut) {
  const Limit limit(256 * 1024);
  for (const std::size_t bytes : {std::size_t{64 * 1024}, std::size_t{256 * 1024}}) {
    for (const Link place : take_all(pool_, bytes)) {
      pool_.release(place, bytes);
    }
    const std::set<Link> small = take_all(pool_, 128);
    EXPECT_EQ(small.size(), 256u * 1024 / 128);
    for (const Link place : small) {
      pool_.release(place, 128);
    }
    EXPECT_TRUE(pool_.join());
    EXPECT_FALSE(pool_.join());  // nothing was released since
  }
}

TEST_F(PoolOfSegment, JoinedPiecesAreOfUseForEverything) {
  const Limit limit(1 * megabyte);
  for (const std::size_t bytes : {64, 120, 4096, 64 * 1024, 100 * 1024, 1024 * 1024}) {
    const std::set<Link> pieces = take_all(pool_, bytes);
    EXPECT_GE(pieces.size(), 1 * megabyte / bytes * 9 / 10) << bytes;
    for (const Link place : pieces) {
      pool_.release(place, bytes);
    }
    EXPECT_TRUE(pool_.join());
  }
}

TEST_F(PoolOfSegment, WhatIsInUseIsNotJoined) {
  const Limit limit(64 * 1024);
  const std::set<Link> all = take_all(pool_, 128);
  const Link kept = *std::next(all.begin(), 5);
  for (const Link place : all) {
    if (place != kept) {
      pool_.release(place, 128);
    }
  }
  EXPECT_TRUE(pool_.join());
  for (const Link place : take_all(pool_, 512)) {
    EXPECT_TRUE(place + 512 <= kept || place >= kept + 128);
  }
}

}  // namespace
}  // namespace meantime::node
