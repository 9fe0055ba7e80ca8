#include "settings/settings.h"

#include <gtest/gtest.h>

namespace meantime::settings {
namespace {

const Setting& of(std::string_view name) {
  return *find(name);
}

TEST(Settings, EachHasOneRowAndAPresetThatMakesSense) {
  for (const Setting& setting : all()) {
    EXPECT_EQ(find(setting.name), &setting);
    EXPECT_TRUE(setting.name.starts_with("MEANTIME_"));
    if (setting.kind == Kind::word) {
      EXPECT_EQ(problem(setting, setting.preset), "");
    }
  }
  EXPECT_EQ(find("MEANTIME_WAITING"), nullptr);
}

TEST(Settings, NumbersAreDecimalAndInRange) {
  const Setting& count = of("MEANTIME_TRIES_POLL");
  EXPECT_EQ(number(count, "0100"), 100U);
  EXPECT_EQ(number(count, "Infinity"), infinity);
  for (const char* text : {"", "-1", "0x10", "1 ", "1.5", "5K", "99999999999999999999"}) {
    EXPECT_FALSE(number(count, text)) << text;
  }
  EXPECT_FALSE(number(of("MEANTIME_COUNTDOWN"), "0"));
  EXPECT_FALSE(number(of("MEANTIME_COUNTDOWN"), "infinity"));
}

TEST(Settings, BytesTakeUnits) {
  const Setting& bytes = of("MEANTIME_EAGER_PAIR");
  EXPECT_EQ(number(bytes, "4M"), 4U << 20);
  EXPECT_TRUE(same(bytes, "4M", "4096k"));
  EXPECT_FALSE(same(bytes, "4M", "4G"));
  EXPECT_FALSE(number(bytes, "M"));
  EXPECT_FALSE(number(bytes, "18014398509481984K")) << "2^64 bytes are not 0";
}

TEST(Settings, ARefusalSaysWhatWouldDo) {
  EXPECT_EQ(problem(of("MEANTIME_CMA"), "yes"), "MEANTIME_CMA must be 0 or 1, not 'yes'");
  EXPECT_EQ(problem(of("MEANTIME_COUNTDOWN"), "5ms"),
            "MEANTIME_COUNTDOWN must be a number of microseconds from 1 to 1000000, not '5ms'; "
            "without a unit: 5000");
  EXPECT_EQ(problem(of("MEANTIME_WAKE_UP_COST"), "auto"), "");
}

}  // namespace
}  // namespace meantime::settings
