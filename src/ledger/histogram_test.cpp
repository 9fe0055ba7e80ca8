#include "ledger/histogram.h"

#include <gtest/gtest.h>

#include <array>

namespace meantime::ledger {
namespace {

TEST(Histogram, EachTimeIsInItsBucket) {
  for (int bucket = 0; bucket + 1 < histogram_buckets; ++bucket) {
    EXPECT_EQ(bucket_of(bucket_begin(bucket)), bucket);
    EXPECT_EQ(bucket_of(bucket_begin(bucket + 1) - 1), bucket);
  }
  EXPECT_EQ(bucket_of(0), 0);
  EXPECT_EQ(bucket_of(~std::uint64_t{0}), histogram_buckets - 1);
}

TEST(Histogram, QuantilesAreRightToAQuarterOctave) {
  std::array<std::uint32_t, histogram_buckets> counts{};
  EXPECT_EQ(quantile(counts, 0.5), 0u);
  for (std::uint64_t us = 1; us <= 1000; ++us) {
    ++counts[bucket_of(us * 1000)];
  }
  for (const double q : {0.1, 0.5, 0.9, 0.99, 1.0}) {
    EXPECT_NEAR(static_cast<double>(quantile(counts, q)), q * 1e6, 0.15 * q * 1e6) << q;
  }
}

}  // namespace
}  // namespace meantime::ledger
