#include "copy/copy.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <thread>
#include <vector>

namespace meantime::copy {
namespace {

struct Made : Copy {
  Made(std::uint64_t of_bytes, std::uint64_t about_bytes) : Copy{} {
    bytes = of_bytes;
    divide(about_bytes);
  }
};

TEST(Copy, IsDividedIntoWholePages) {
  const Made copy(100'000, 40'000);
  EXPECT_EQ(copy.fragment_bytes(), 40'960u);
  ASSERT_EQ(copy.fragments(), 3u);
  EXPECT_EQ(copy.fragment(2).begin, 81'920u);
  EXPECT_EQ(copy.fragment(2).bytes, 18'080u);
}

TEST(Copy, HasNoMoreFragmentsThanAWordHasBits) {
  for (const std::uint64_t bytes : {64 * page_bytes, 64 * page_bytes + 1, std::uint64_t{1} << 40}) {
    const Made copy(bytes, 1);
    EXPECT_LE(copy.fragments(), most_fragments);
    const Stretch last = copy.fragment(copy.fragments() - 1);
    EXPECT_EQ(last.begin + last.bytes, bytes);
  }
}

TEST(Copy, IsClaimedFromBothEnds) {
  Made copy(4 * page_bytes, page_bytes);
  EXPECT_EQ(copy.claim(Order::from_front), 0u);
  EXPECT_EQ(copy.claim(Order::from_back), 3u);
  EXPECT_EQ(copy.claim(Order::from_back), 2u);
  EXPECT_EQ(copy.claim(Order::from_front), 1u);
  EXPECT_EQ(copy.claim(Order::from_front), std::nullopt);
  EXPECT_EQ(copy.claim(Order::from_back), std::nullopt);
}

TEST(Copy, TheLastOneToSettleKnows) {
  Made copy(3 * page_bytes, page_bytes);
  EXPECT_FALSE(copy.settle(2, 0));
  EXPECT_FALSE(copy.settle(0, 0));
  EXPECT_TRUE(copy.settle(1, 0));
  EXPECT_EQ(copy.rest_bytes(), 0u);
}

TEST(Copy, WhatCouldNotBeMovedIsTheRest) {
  Made copy(5 * page_bytes + 100, page_bytes);
  for (const std::uint32_t number : {0u, 2u, 3u}) {
    copy.settle(number, 0);
  }
  copy.settle(1, EFAULT);
  copy.settle(4, EPERM);
  EXPECT_TRUE(copy.settle(5, EPERM));
  EXPECT_EQ(copy.error.load(), EFAULT);
  EXPECT_EQ(copy.rest_bytes(), 2 * page_bytes + 100);
  std::vector<std::uint64_t> begins;
  for (std::uint64_t offset = 0; offset < copy.rest_bytes();) {
    const Stretch next = copy.rest_at(offset);
    ASSERT_GT(next.bytes, 0u);
    begins.push_back(next.begin);
    offset += next.bytes;
  }
  EXPECT_EQ(begins, (std::vector<std::uint64_t>{page_bytes, 4 * page_bytes, 5 * page_bytes}));
  EXPECT_EQ(copy.rest_at(page_bytes + 10).begin, 4 * page_bytes + 10);
}

// Of one that goes another way from the start, and is not divided.
TEST(Copy, AllOfItIsTheRestBeforeAnybodyMoves) {
  Copy copy{};
  copy.bytes = 1000;
  EXPECT_EQ(copy.rest_bytes(), 1000u);
  EXPECT_EQ(copy.rest_at(300).begin, 300u);
  EXPECT_EQ(copy.rest_at(300).bytes, 700u);
}

TEST(Copy, ManyMoveItAndEachFragmentOnce) {
  for (int turn = 0; turn < 200; ++turn) {
    Made copy(most_fragments * page_bytes, page_bytes);
    std::vector<std::uint8_t> moved(most_fragments);  // by nobody else, or TSan says so
    std::atomic<int> last{0};
    const auto move = [&](Order order) {
      while (const auto number = copy.claim(order)) {
        ++moved[*number];
        if (copy.settle(*number, 0)) {
          ++last;
          EXPECT_EQ(moved, std::vector<std::uint8_t>(most_fragments, 1));
        }
      }
    };
    std::thread front(move, Order::from_front);
    std::thread back(move, Order::from_back);
    move(Order::from_front);
    front.join();
    back.join();
    EXPECT_EQ(last.load(), 1);
  }
}

}  // namespace
}  // namespace meantime::copy
