#include "line.h"

#include <gtest/gtest.h>

#include <vector>

namespace meantime::tools {
namespace {

constexpr std::uint64_t delay = 1000;

std::vector<std::uint64_t> due(Line& line, const std::vector<std::uint64_t>& came,
                               std::size_t bytes) {
  std::vector<std::uint64_t> found;
  for (const std::uint64_t each : came) {
    found.push_back(line.due(each, bytes).value_or(0));
  }
  return found;
}

TEST(Line, DelaysEachByAsMuch) {
  Line line(delay, std::nullopt);
  EXPECT_EQ(due(line, {5, 5, 70, 4000}, 100), (std::vector<std::uint64_t>{1005, 1005, 1070, 5000}));
}

TEST(Line, KeepsTheOrderInWhichTheyWereTaken) {
  Line line(delay, std::nullopt);
  EXPECT_EQ(due(line, {70, 5}, 100), (std::vector<std::uint64_t>{1070, 1070}));
}

TEST(Line, LetsABurstThroughAndThenAsFastAsItIs) {
  Line line(delay, Line::Limit{0.5, 200, 1e6});  // 100 bytes take 200
  EXPECT_EQ(due(line, {0, 0, 0, 0}, 100), (std::vector<std::uint64_t>{1000, 1000, 1200, 1400}));
}

TEST(Line, WasIdleAndMayHaveABurstAgain) {
  Line line(delay, Line::Limit{0.5, 200, 1e6});
  due(line, {0, 0, 0, 0}, 100);
  EXPECT_EQ(due(line, {10000, 10000, 10000}, 100),
            (std::vector<std::uint64_t>{11000, 11000, 11200}));
}

TEST(Line, CarriesNoMoreThanItsRate) {
  Line line(delay, Line::Limit{0.125, 70'000, 1e9});  // 1 Gbit/s
  std::uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    last = line.due(0, 65'000).value();
  }
  const double beyond_burst = 65'000.0 * 1000 - 70'000;
  EXPECT_NEAR(static_cast<double>(last - delay), beyond_burst / 0.125, 1000);
}

TEST(Line, LosesWhatItsQueueHasNoRoomFor) {
  Line line(delay, Line::Limit{0.5, 100, 250});
  EXPECT_EQ(due(line, {0, 0, 0, 0, 0, 0}, 100),
            (std::vector<std::uint64_t>{1000, 1200, 1400, 1600, 0, 0}));
  EXPECT_EQ(due(line, {400}, 100), (std::vector<std::uint64_t>{1800}));
}

}  // namespace
}  // namespace meantime::tools
