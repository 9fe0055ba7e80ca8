#include <gtest/gtest.h>

#include <numeric>

#include "core/topology/topology.h"

namespace meantime::core {
namespace {

using Dims = std::vector<int>;

Dims made(int ranks, Dims dims) {
  EXPECT_EQ(make_dims(ranks, static_cast<int>(dims.size()), dims.data()), MPI_SUCCESS);
  return dims;
}

TEST(Dims, ExamplesOfTheStandard) {  // MPI 5.0 8.5.2
  EXPECT_EQ(made(6, {0, 0}), (Dims{3, 2}));
  EXPECT_EQ(made(7, {0, 0}), (Dims{7, 1}));
  EXPECT_EQ(made(6, {0, 3, 0}), (Dims{2, 3, 1}));
  Dims dims{0, 3, 0};
  EXPECT_EQ(make_dims(7, 3, dims.data()), MPI_ERR_DIMS);
}

TEST(Dims, AsCloseAsPossible) {
  EXPECT_EQ(made(12, {0, 0}), (Dims{4, 3}));
  EXPECT_EQ(made(36, {0, 0, 0}), (Dims{4, 3, 3}));
  EXPECT_EQ(made(60, {0, 0, 0}), (Dims{5, 4, 3}));
  EXPECT_EQ(made(1024, {0, 0, 0}), (Dims{16, 8, 8}));
  EXPECT_EQ(made(2 * 3 * 5 * 7 * 11, {0, 0, 0}), (Dims{15, 14, 11}));
  EXPECT_EQ(made(1 << 20, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
            Dims(20, 2));
  EXPECT_EQ(made(1, {0, 0}), (Dims{1, 1}));
  EXPECT_EQ(made(5040, {0, 0, 0}), (Dims{21, 16, 15}));  // not 20, 18, 14
  EXPECT_EQ(made(13104, {0, 0, 0, 0}), (Dims{14, 13, 9, 8}));
}

/// The best by trying all triples.
int best_spread(int ranks) {
  int best = ranks;
  for (int first = 1; first <= ranks; ++first) {
    for (int second = 1; ranks % first == 0 && second <= first; ++second) {
      const int third = ranks / first / second;
      if (first * second * third == ranks && third <= second) {
        best = std::min(best, first - third);
      }
    }
  }
  return best;
}

TEST(Dims, NoSpreadIsSmaller) {
  int worse = 0;
  for (int ranks = 1; ranks <= 300; ++ranks) {
    const Dims dims = made(ranks, {0, 0, 0});
    EXPECT_EQ(dims[0] * dims[1] * dims[2], ranks);
    EXPECT_TRUE(dims[0] >= dims[1] && dims[1] >= dims[2]);
    if (dims[0] - dims[2] > best_spread(ranks)) {
      ++worse;
      ADD_FAILURE() << ranks << ": " << dims[0] << " " << dims[1] << " " << dims[2];
    }
  }
  EXPECT_EQ(worse, 0);
}

TEST(Dims, LargeNumbersAreQuick) {
  EXPECT_EQ(made(2147483647, {0, 0}), (Dims{2147483647, 1}));
  EXPECT_EQ(made(46340 * 46340, {0, 0}), (Dims{46340, 46340}));
  EXPECT_EQ(made(735134400, {0, 0, 0, 0, 0}).size(), 5u);  // 1344 divisors
  EXPECT_EQ(made(9973 * 176400, {0, 0, 0, 0, 0, 0, 0, 0, 0}).front(), 9973);
  const Dims many = made(1 << 30, Dims(16, 0));
  EXPECT_EQ(std::accumulate(many.begin(), many.end(), 1L, std::multiplies<long>()), 1L << 30);
}

TEST(Dims, Wrong) {
  Dims dims{-1, 0};
  EXPECT_EQ(make_dims(4, 2, dims.data()), MPI_ERR_DIMS);
  dims = {2, 3};
  EXPECT_EQ(make_dims(4, 2, dims.data()), MPI_ERR_DIMS);
  dims = {0, 0};
  EXPECT_EQ(make_dims(0, 2, dims.data()), MPI_ERR_ARG);
}

// Only a number of ranks that is no multiple of what is given is wrong.
TEST(Dims, NothingIsLeftToChoose) {
  Dims dims{2, 2};
  EXPECT_EQ(make_dims(8, 2, dims.data()), MPI_SUCCESS);
  EXPECT_EQ(dims, (Dims{2, 2}));
  EXPECT_EQ(make_dims(6, 2, dims.data()), MPI_ERR_DIMS);
}

TEST(Grid, RanksAreRowMajorAndRingsWrap) {
  Grid grid;
  grid.dims = {2, 3};
  grid.periods = {0, 1};
  int place[2];
  grid.coordinates(5, 2, place);
  EXPECT_EQ(place[0], 1);
  EXPECT_EQ(place[1], 2);
  const int beyond[] = {1, -4};
  EXPECT_EQ(grid.rank(beyond), 5);
  const int outside[] = {2, 0};
  EXPECT_EQ(grid.rank(outside), -1);
  EXPECT_EQ(grid.neighbour(0, 0, 1), 3);
  EXPECT_EQ(grid.neighbour(0, 0, -1), MPI_PROC_NULL);
  EXPECT_EQ(grid.neighbour(0, 1, -1), 2);
  EXPECT_EQ(grid.neighbour(0, 1, 7), 1);
}

}  // namespace
}  // namespace meantime::core
