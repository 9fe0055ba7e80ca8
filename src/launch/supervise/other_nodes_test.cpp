#include "launch/supervise/other_nodes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace meantime::launch;

constexpr double long_enough = 30;

class OtherNodes : public ::testing::Test {
 protected:
  ~OtherNodes() override { close(socket_); }

  /// Until so many have come.
  std::vector<std::string> hear(std::size_t texts, double seconds) {
    std::vector<std::string> heard;
    hear_meeting(
        meeting_, socket_, seconds,
        [&](std::string_view text) {
          heard.emplace_back(text);
          return text != "refused";
        },
        [&] { return heard.size() == texts; });
    std::sort(heard.begin(), heard.end());
    return heard;
  }

  int socket_ = -1;
  const std::string meeting_ = open_meeting(socket_);
};

TEST_F(OtherNodes, TextsComeWhole) {
  const std::string large(std::size_t{1} << 22, 'x');
  std::thread one([&] { EXPECT_TRUE(bring_to_meeting(meeting_, large, long_enough)); });
  std::thread other([&] { EXPECT_TRUE(bring_to_meeting(meeting_, "short", long_enough)); });
  EXPECT_EQ(hear(2, long_enough), (std::vector<std::string>{"short", large}));
  one.join();
  other.join();
}

TEST_F(OtherNodes, WhoIsNotThereIsNotWaitedForLong) {
  EXPECT_TRUE(hear(1, 0.01).empty());
  EXPECT_FALSE(bring_to_meeting(meeting_, "nobody hears it", 0.01));
  close(socket_);
  EXPECT_FALSE(bring_to_meeting(meeting_, "nobody listens", long_enough));
  EXPECT_FALSE(bring_to_meeting("", "there is none", long_enough));
}

TEST_F(OtherNodes, StrangersAreNotHeard) {
  std::string other_secret = meeting_;
  other_secret[0] = other_secret[0] == '0' ? '1' : '0';
  std::thread stranger([&] {
    EXPECT_FALSE(bring_to_meeting(other_secret, "wrong", long_enough));
    EXPECT_FALSE(bring_to_meeting(meeting_, "refused", long_enough));
    EXPECT_TRUE(bring_to_meeting(meeting_, "right", long_enough));
  });
  EXPECT_EQ(hear(2, long_enough), (std::vector<std::string>{"refused", "right"}));
  stranger.join();
}

}  // namespace
