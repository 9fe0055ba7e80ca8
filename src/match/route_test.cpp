#include "match/route.h"

#include <gtest/gtest.h>

namespace meantime::match {
namespace {

/// Plays `messages` of `bytes` on a machine with these costs; how many went by two copies.
int play(Route& route, std::size_t bytes, int messages, std::uint64_t two, std::uint64_t one) {
  int by_two = 0;
  for (int message = 0; message < messages; ++message) {
    if (route.two_copies(bytes)) {
      ++by_two;
      route.two_copies_took(bytes, two);
    } else {
      route.one_copy_took(bytes, one);
    }
  }
  return by_two;
}

TEST(Route, TakesTheQuickerAndGoesOnTryingTheOther) {
  Route route;
  const int quick = play(route, 65536, 10'000, 1900, 4400);
  EXPECT_GT(quick, 9800);
  EXPECT_LT(quick, 10'000);
  Route far;
  const int slow = play(far, 65536, 10'000, 11'800, 5600);
  EXPECT_LT(slow, 200);
  EXPECT_GT(slow, 10);
}

TEST(Route, SaysWhatItExpectsOnceItKnowsBoth) {
  Route near;
  EXPECT_FALSE(near.expects_two_copies(65536));
  play(near, 65536, 100, 1900, 4400);
  EXPECT_TRUE(near.expects_two_copies(65536));
  EXPECT_FALSE(near.expects_two_copies(1 << 20));
  Route far;
  play(far, 65536, 100, 11'800, 5600);
  EXPECT_FALSE(far.expects_two_copies(65536));
}

TEST(Route, ASizeForItself) {
  Route route;
  play(route, 32768, 1000, 1000, 4000);
  EXPECT_LT(play(route, 1u << 20, 1000, 80'000, 40'000), 100);
  EXPECT_GT(play(route, 32768, 1000, 1000, 4000), 900);
}

TEST(Route, ChangesItsMindWhenTheMachineDoes) {
  Route route;
  play(route, 65536, 1000, 1900, 4400);
  play(route, 65536, 1000, 9000, 4400);
  EXPECT_LT(play(route, 65536, 1000, 9000, 4400), 100);
}

TEST(Route, OneLostCoreChangesNothing) {
  Route route;
  play(route, 65536, 1000, 1900, 4400);
  route.two_copies_took(65536, 4'000'000);
  EXPECT_GT(play(route, 65536, 1000, 1900, 4400), 900);
}

TEST(Route, AllSizes) {
  Route route;
  for (std::size_t bytes :
       {std::size_t{1}, std::size_t{2}, Route::medium_bytes, std::size_t{1} << 40}) {
    EXPECT_GT(play(route, bytes, 500, 100, 1'000'000), 400) << bytes;
  }
}

}  // namespace
}  // namespace meantime::match
