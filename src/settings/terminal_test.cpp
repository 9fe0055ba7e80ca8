#include "settings/terminal.h"

#include <gtest/gtest.h>

#include "settings/shown.h"

namespace meantime::settings {
namespace {

TEST(Shown, WhatIsNoCharacterIsAQuestionMark) {
  for (const char* none : {"\xff", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xed\xbf\xbf",
                           "\xf4\x90\x80\x80", "\xf7\xbf\xbf\xbf"}) {
    EXPECT_EQ(utf8_length(none), 0u) << none;
    EXPECT_EQ(shown(none).front(), '?');
  }
  EXPECT_EQ(shown("\xed\x9f\xbf\xf4\x8f\xbf\xbf"), "\xed\x9f\xbf\xf4\x8f\xbf\xbf");
}

TEST(Page, WithoutATerminalLinesAreAsTheyAre) {
  const std::string text(200, 'x');
  EXPECT_EQ(laid_out(text + "\n", Page{}), text + "\n");
  EXPECT_EQ(laid_out("one\n\n  two", Page{}), "one\n\n  two");
}

TEST(Page, LongLinesGoOnToTheRight) {
  EXPECT_EQ(laid_out("  rank 3 waits in MPI_Recv for rank 4, tag 5\nshort\n", {30, false}),
            "  rank 3 waits in MPI_Recv for\n      rank 4, tag 5\nshort\n");
  EXPECT_EQ(laid_out("aaaaaaaaaaaaaaaa bbbb", {8, false}),
            "aaaaaaaa\n    aaaa\n    aaaa\n    bbbb");
  EXPECT_EQ(laid_out("äöüäöüäö äöü", {8, false}), "äöüäöüäö\n    äöü");
  EXPECT_EQ(laid_out("12345678  ", {8, false}), "12345678");
}

TEST(Page, ANumberKeepsItsPercentSign) {
  EXPECT_EQ(laid_out("waited for 91 % of it", {13, false}), "waited for\n    91 % of\n    it");
}

TEST(Page, HelpIsFilledAnew) {
  const std::string help =
      "Usage: run [options]\n       program\n\nWhere it\nruns\n"
      "  -n N      that many of\n            them\n  --a-long-name X\n            what it is\n";
  EXPECT_EQ(help_laid_out(help, 12, Page{}), help);
  EXPECT_EQ(help_laid_out(help, 12, {80, false}),
            "Usage: run [options] program\n\nWhere it runs\n  -n N      that many of them\n"
            "  --a-long-name X\n            what it is\n");
  EXPECT_EQ(help_laid_out("  -n N      that many of them all, and more\n", 12, {40, false}),
            "  -n N\n      that many of them all, and more\n");
  EXPECT_EQ(
      help_laid_out("Usage: run\n\nWhere\n  -n N      one\n\nMore\n", 12, {80, true}),
      "\033[1mUsage:\033[0m run\n\n\033[1mWhere\033[0m\n  \033[36m-n N\033[0m      one\n\nMore\n");
}

TEST(Page, NothingOfTheTextMovesTheCursor) {
  EXPECT_EQ(laid_out("a\033[2Jb", {80, true}), "a?[2Jb");
}

TEST(Page, ColourIsForWhoAndWhere) {
  EXPECT_EQ(
      laid_out("  rank 3 (pid 7) waits in MPI_Recv on MPI_COMM_WORLD, in main (a.c:7), x",
               {80, true}),
      "\033[1m  rank 3 \033[0m(pid 7) waits in \033[36mMPI_Recv\033[0m on MPI_COMM_WORLD, in main "
      "\033[32m(a.c:7)\033[0m, x");
  EXPECT_EQ(laid_out("mpiexec: no", {80, true}), "\033[1mmpiexec:\033[0m no");
}

}  // namespace
}  // namespace meantime::settings
