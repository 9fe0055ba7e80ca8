#include "guest/log.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

namespace meantime::guest {
namespace {

void say(const Log& log, const std::string& text) {
  ASSERT_EQ(write(log.descriptor(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(Log, HasTheLastLineOfWhatBeganLast) {
  char folder[] = "/tmp/meantime-log-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  for (const std::string& where : {std::string(), std::string(folder)}) {
    Log log(where, 0);
    log.begins();
    EXPECT_EQ(log.last_line(), "");
    say(log, "one\ntwo\n\n");
    EXPECT_EQ(log.last_line(), "two");
    log.begins();
    EXPECT_EQ(log.last_line(), "");
    say(log, "three");
    EXPECT_EQ(log.last_line(), "three");
  }
  unlink((std::string(folder) + "/guest-0.log").c_str());
  rmdir(folder);
}

TEST(Log, OfAPipeHasTheEndOfWhatIsMuch) {
  Log log("", 0);
  log.begins();
  for (int i = 0; i < 40; ++i) {
    say(log, std::string(50'000, 'x'));
    EXPECT_EQ(log.take(), 50'000u);
  }
  say(log, "\nunits 3\n");
  EXPECT_EQ(log.last_line(), "units 3");
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
