#include "guest/plan.h"

#include <gtest/gtest.h>

namespace meantime::guest {
namespace {

std::optional<Plan> read(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  return Plan::of(static_cast<int>(pointers.size()), pointers.data());
}

Plan plan() {
  Plan plan;
  plan.command = {"/bin/sh", "sh", "-c", "a = b; -- c", ""};
  plan.cpus = {{0, 2}, {1}};
  plan.memory_bytes = 1ull << 40;
  plan.processes = 3;
  plan.file_bytes = 7;
  plan.grace_seconds = 0.25;
  plan.again = true;
  plan.log_folder = "/a folder/x=y";
  plan.control = 9;
  return plan;
}

TEST(Plan, ComesOutOfItsWordsAsItWas) {
  const std::optional<Plan> read_back = read(plan().words());
  ASSERT_TRUE(read_back);
  EXPECT_EQ(read_back->words(), plan().words());
  EXPECT_EQ(read_back->command, plan().command);
  EXPECT_EQ(read_back->cpus, plan().cpus);
  EXPECT_EQ(read_back->log_folder, plan().log_folder);
}

TEST(Plan, IsNoneOfOtherWords) {
  EXPECT_FALSE(read({"meantime-guests"}));
  EXPECT_FALSE(read({"meantime-guests", "--", "/bin/true", "true"}));  // nowhere
  std::vector<std::string> words = plan().words();
  words.resize(words.size() - plan().command.size());
  EXPECT_FALSE(read(words));  // nothing to run
  for (const char* wrong : {"cpus=", "cpus=a", "cpus=0,b", "memory=-1", "sideways=1", "control"}) {
    words = plan().words();
    words.insert(words.begin() + 1, wrong);
    EXPECT_FALSE(read(words)) << wrong;
  }
}

}  // namespace
}  // namespace meantime::guest
