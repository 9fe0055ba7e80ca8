#include <gtest/gtest.h>
#include <unistd.h>

#include "node/segment.h"

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

 private:
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

}  // namespace
}  // namespace meantime::node
