#include "machine/small_file.h"

#include "machine/made_up_files.h"

namespace meantime::machine {
namespace {

TEST(NumbersIn, ListsOfTheKernel) {
  EXPECT_EQ(numbers_in("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(numbers_in("0 1 12"), (std::vector<int>{0, 1, 12}));
  EXPECT_EQ(numbers_in("1500"), std::vector<int>{1500});
  EXPECT_TRUE(numbers_in("").empty());
}

TEST(NumbersIn, WhatIsNoListHasNone) {
  for (const char* text : {"all", "0,x", "0-", "1;2", "-1"}) {
    EXPECT_TRUE(numbers_in(text).empty()) << text;
  }
}

TEST(CpusIn, AreThoseThatFitIntoASet) {
  const cpu_set_t cpus = cpus_in("1,3,5000");
  EXPECT_EQ(CPU_COUNT(&cpus), 2);
  EXPECT_TRUE(CPU_ISSET(1, &cpus) && CPU_ISSET(3, &cpus));
}

using SmallFile = MadeUpFiles;

TEST_F(SmallFile, FirstLineAndNumber) {
  write("/line", "a line \nand another");
  write("/number", "42");
  EXPECT_EQ(first_line(root_ + "/line"), "a line");
  EXPECT_EQ(number_in(root_ + "/number"), 42u);
  EXPECT_EQ(number_in(root_ + "/line"), std::nullopt);
  EXPECT_EQ(first_line(root_ + "/none"), "");
}

}  // namespace
}  // namespace meantime::machine
