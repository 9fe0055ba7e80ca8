#include "launch/report/equal_ranks.h"

#include <gtest/gtest.h>

namespace meantime::launch {
namespace {

TEST(EqualRanks, AreOneLineWhereTheFirstOfThemWas) {
  EXPECT_EQ(with_equal_ranks_together(
                "Meantime: deadlock:\n"
                "  rank 0 (pid 11) waits in MPI_Barrier on MPI_COMM_WORLD, for 1.0 s\n"
                "  rank 1 (pid 12) waits in MPI_Recv for rank 0, tag 3, for 0.9 s\n"
                "  rank 2 (pid 1 in its own namespace) waits in MPI_Barrier on MPI_COMM_WORLD, for "
                "0.8 s\n"
                "  rank 3 waits in MPI_Barrier on MPI_COMM_WORLD, for 1.2 s\n"
                "mpiexec: the job goes on\n"),
            "Meantime: deadlock:\n"
            "  ranks 0, 2-3: each waits in MPI_Barrier on MPI_COMM_WORLD, for 0.8 to 1.2 s\n"
            "  rank 1 (pid 12) waits in MPI_Recv for rank 0, tag 3, for 0.9 s\n"
            "mpiexec: the job goes on\n");
}

TEST(EqualRanks, DifferInMoreThanTheirTimes) {
  const std::string text =
      "  rank 0 (pid 11) waits in MPI_Recv for rank 1, tag 3, for 1.0 s\n"
      "  rank 1 (pid 12) waits in MPI_Recv for rank 0, tag 3, for 1.0 s";
  EXPECT_EQ(with_equal_ranks_together(text), text);
}

TEST(EqualRanks, MayHaveTwoTimesOrNone) {
  EXPECT_EQ(
      with_equal_ranks_together("  rank 0 (pid 1) computes, asks: MPI_Test, for 2.0 s, for 3 "
                                "s\n  rank 1 (pid 2) computes, asks: MPI_Test, for 2.0 s, for "
                                "4 s\n  rank 2 (pid 3) has ended\n  rank 3 (pid 4) has ended"),
      "  ranks 0-1: each computes, asks: MPI_Test, for 2.0 s, for 3.0 to 4.0 s\n"
      "  ranks 2-3: each has ended");
}

TEST(EqualRanks, ALongListIsCut) {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < 40; rank += 2) {
    ranks.push_back(rank);
  }
  EXPECT_EQ(list_of_ranks(ranks), "0, 2, 4, 6, 8, 10, 12, 14 and 12 more");
  EXPECT_EQ(list_of_ranks({3, 4, 5, 9}), "3-5, 9");
}

}  // namespace
}  // namespace meantime::launch
