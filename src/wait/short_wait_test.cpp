#include "wait/short_wait.h"

#include <gtest/gtest.h>

namespace meantime::wait {
namespace {

using ledger::Activity;

TEST(ShortWait, AFewLooksThatTookLongDidNotHaveTheCore) {
  EXPECT_EQ(held_up_ns(Activity::poll, 500, 8), 0U);
  EXPECT_EQ(held_up_ns(Activity::poll, 9'000'000, 8), 9'000'000U);
  EXPECT_EQ(held_up_ns(Activity::poll, 9'000'000, 8 << 20), 0U) << "a copy";
  EXPECT_EQ(held_up_ns(Activity::help, 9'000'000, 8), 0U) << "other ranks' turns";
}

}  // namespace
}  // namespace meantime::wait
