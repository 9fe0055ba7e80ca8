#include "symbolize/backtrace.h"

#include <gtest/gtest.h>

namespace meantime::ranks {
namespace {

TEST(CrashText, NoNameBeginsALine) {
  CrashText text;
  text.add("\n  #0 ");
  text.add_place("/a/b\nc", 16);
  text.add_function("f\n\x1b[31m", 1);
  EXPECT_STREQ(text.text(), "\n  #0 /a/b?c+0x10 (f??[31m+0x1)");
}

}  // namespace
}  // namespace meantime::ranks
