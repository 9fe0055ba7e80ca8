#include "match/transitions.h"

#include <gtest/gtest.h>

namespace meantime::match {
namespace {

TEST(Transitions, OfAReceive) {
  EXPECT_TRUE(may_become(posted, matched));
  EXPECT_TRUE(may_become(matched, copying));
  EXPECT_TRUE(may_become(copying, done));
  EXPECT_TRUE(may_become(posted, cancelled));
  for (const ReceiveState state : {posted, matched, copying, done, cancelled}) {
    EXPECT_FALSE(may_become(done, state));
    EXPECT_FALSE(may_become(cancelled, state));
    EXPECT_FALSE(may_become(state, posted));
  }
  EXPECT_FALSE(may_become(copying, matched));
  EXPECT_FALSE(may_become(matched, cancelled));
}

TEST(Transitions, OfATransfer) {
  EXPECT_TRUE(may_become(offered, moving));
  EXPECT_TRUE(may_become(offered, delivered));
  EXPECT_TRUE(may_become(moving, delivered));
  EXPECT_FALSE(may_become(moving, moving));
  EXPECT_FALSE(may_become(delivered, delivered));
}

}  // namespace
}  // namespace meantime::match
