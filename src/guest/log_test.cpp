#include "guest/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace meantime::guest {
namespace {

void say(const Log& log, const std::string& text) {
  ASSERT_EQ(write(log.descriptor(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(Log, HasTheLastLineOfWhatBeganAtAMark) {
  const Log log("", 0);
  EXPECT_EQ(log.last_line(0), "");
  say(log, "one\ntwo\n\n");
  EXPECT_EQ(log.last_line(0), "two");
  const std::uint64_t mark = log.length();
  EXPECT_EQ(log.last_line(mark), "");
  say(log, "three");
  EXPECT_EQ(log.last_line(mark), "three");
}

TEST(Log, InMemoryHoldsAMebibyteAndNoMore) {
  const Log log("", 0);
  const std::string much(3 << 20, 'x');
  EXPECT_LE(write(log.descriptor(), much.data(), much.size()), 1 << 20);
  EXPECT_LE(write(log.descriptor(), much.data(), much.size()), 0);
  EXPECT_NE(ftruncate(log.descriptor(), 0), 0);
  EXPECT_EQ(log.last_line(0).substr(0, 3), "xxx");
}

TEST(Log, UnitsAreANumberAloneInItsLine) {
  EXPECT_EQ(units_in("units 12"), 12u);
  for (const char* none : {"units", "units ", "units x", "units 1 2", "units 99999999999999999999",
                           "my units 3", "units -1"}) {
    EXPECT_FALSE(units_in(none)) << none;
  }
}

}  // namespace
}  // namespace meantime::guest
