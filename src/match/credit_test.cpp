#include "match/credit.h"

#include <gtest/gtest.h>

namespace meantime::match {
namespace {

struct Flow : testing::Test {
  Flow() {
    limits.eager = 1000;
    limits.pair_credit = 4096;
    limits.rank_credit = 6144;
    limits.most_credit = 16384;
    limits.pair_offers = 2;
  }
  Limits limits;
  Credit credit{limits};
  Credit::Account one;
  Credit::Account other;
};

TEST_F(Flow, EachPairAndAllTogetherHaveABound) {
  credit.count_in(one, 4000);
  EXPECT_FALSE(credit.allows(one, 97));
  EXPECT_TRUE(credit.allows(one, 96));
  EXPECT_TRUE(credit.allows(other, 1000));
  credit.count_in(other, 2100);
  EXPECT_FALSE(credit.allows(other, 45));
  credit.count_out(one, 1);
  EXPECT_TRUE(credit.allows(other, 45));
}

TEST_F(Flow, MediumMessagesLeaveHalf) {
  EXPECT_TRUE(credit.allows(one, 2048));
  credit.count_in(one, 1);
  EXPECT_FALSE(credit.allows(one, 2048));
  credit.count_in(one, 3000);
  EXPECT_TRUE(credit.allows(one, 1000));
}

TEST_F(Flow, OffersAreBounded) {
  EXPECT_TRUE(credit.allows_offer(one));
  one.offers = 2;
  EXPECT_FALSE(credit.allows_offer(one));
  EXPECT_TRUE(credit.allows_offer(other));
}

TEST_F(Flow, WhatIsFromBeforeANewBeginningCountsNothing) {
  credit.count_in(one, 3000);
  one.bytes = 0;
  credit.begin_anew();
  credit.count_in(other, 100);
  credit.count_out(one, 3000);
  EXPECT_EQ(one.bytes, 0u);
  EXPECT_TRUE(credit.allows(one, 1000));
}

TEST_F(Flow, CreditGrowsToTwiceWhatLiesThere) {
  credit.count_in(one, 5000);
  EXPECT_FALSE(credit.is_within_credit(one));
  credit.grow(one);
  EXPECT_TRUE(credit.is_within_credit(one));
  credit.count_in(one, 1144);  // in all there was enough, and it has not grown
  EXPECT_TRUE(credit.is_within_credit(one));
  credit.count_in(one, 1);
  EXPECT_FALSE(credit.is_within_credit(one));
  credit.grow(one);
  EXPECT_TRUE(credit.allows(one, 1000));
  EXPECT_TRUE(credit.is_within_credit(other));
}

TEST_F(Flow, GrowthHasAnEnd) {
  EXPECT_TRUE(credit.may_overflow(1000));
  credit.count_in(one, 16000);
  EXPECT_FALSE(credit.may_overflow(1000));
  credit.count_in(one, 1000);
  credit.grow(one);
  EXPECT_FALSE(credit.is_within_credit(one)) << "no more than most_credit";
}

TEST_F(Flow, ACheckTellsWhetherAnythingWasRead) {
  credit.count_in(one, 500);
  EXPECT_EQ(credit.unread_since(one, 10), 0u);
  credit.count_in(one, 500);
  EXPECT_EQ(credit.unread_since(one, 20), 0u);
  credit.count_out(one, 100);
  EXPECT_EQ(credit.unread_since(one, 30), 30u);
  EXPECT_EQ(credit.unread_since(one, 40), 30u);
}

}  // namespace
}  // namespace meantime::match
