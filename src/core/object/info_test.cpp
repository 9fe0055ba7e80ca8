#include "core/object/info.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>

#include "core/object/tables.h"

namespace meantime::core {
namespace {

TEST(Info, KeepsTheOrderOfFirstSetting) {
  Info info;
  info.set("b", "1");
  info.set("a", "2");
  info.set("b", "3");
  ASSERT_EQ(info.entries.size(), 2u);
  EXPECT_EQ(info.entries[0].first, "b");
  EXPECT_EQ(*info.find("b"), "3");
  EXPECT_TRUE(info.remove("b"));
  EXPECT_FALSE(info.remove("b"));
  EXPECT_EQ(info.find("b"), nullptr);
  EXPECT_EQ(info.entries[0].first, "a");
}

TEST(Info, CopiesAreTheirOwn) {
  Info info;
  info.set("key", "value");
  Info* copy = duplicate(&info);
  info.set("key", "other");
  EXPECT_EQ(*copy->find("key"), "value");
  drop(copy);
}

TEST(Info, EnvironmentTellsHowTheProgramWasStarted) {
  const Info* info = resolve(MPI_INFO_ENV);
  ASSERT_NE(info, nullptr);
  EXPECT_TRUE(info->read_only);
  ASSERT_NE(info->find("command"), nullptr);
  EXPECT_NE(info->find("command")->find("unit.core.object.info"), std::string::npos);
  char directory[PATH_MAX];
  ASSERT_NE(getcwd(directory, sizeof directory), nullptr);
  EXPECT_EQ(*info->find("wd"), directory);
  EXPECT_EQ(*info->find("maxprocs"), "1");
  EXPECT_EQ(info->find("thread_level"), nullptr);  // nobody asked for one before the start

  Info* made = make_environment_info({"program", "one", "two"});
  EXPECT_EQ(*made->find("command"), "program");
  EXPECT_EQ(*made->find("argv"), "one two");
  drop(made);
}

}  // namespace
}  // namespace meantime::core
