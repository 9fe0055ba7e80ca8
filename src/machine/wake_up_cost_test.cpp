#include "machine/wake_up_cost.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "machine/made_up_files.h"
#include "machine/wake_up_cache.h"

namespace meantime::machine {
namespace {

namespace fs = std::filesystem;

class Cache : public MadeUpFiles {
 protected:
  void put(const std::string& text) const { std::ofstream(cache().path()) << text; }
  WakeUpCache cache(const std::string& key = "a machine\n") const { return {root_, key}; }
};

TEST(WakeUpCost, IsWithinItsBoundsOrUnknown) {
  const auto cost = measure_wake_up_ns();  // a busy machine need not give one
  if (cost) {
    EXPECT_GE(*cost, least_wake_up_ns);
    EXPECT_LE(*cost, most_wake_up_ns);
  }
}

TEST_F(Cache, KeepsWhatItIsGivenForOneKindOfMachine) {
  EXPECT_EQ(cache().read(), 0u);
  ASSERT_TRUE(cache().write(23'456));
  EXPECT_EQ(cache().read(), 23'456u);
  EXPECT_EQ(cache("another machine\n").read(), 0u);
  ASSERT_TRUE(cache("another machine\n").write(50'000));
  ASSERT_TRUE(cache().write(34'567));
  EXPECT_EQ(cache().read(), 34'567u);
  EXPECT_EQ(cache("another machine\n").read(), 50'000u);
  struct stat status {};
  ASSERT_EQ(stat((root_ + "/meantime").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(cache().path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(Cache, IgnoresWhatIsOdd) {
  ASSERT_TRUE(cache().write(23'456));
  for (const char* text :
       {"", "\n", "a machine\n", "a machine\nnanoseconds \n", "a machine\nnanoseconds 23456",
        "a machine\nnanoseconds 23456 \n", "a machine\nnanoseconds -5\n",
        "a machine\nnanoseconds 1\n", "a machine\nnanoseconds 100001\n",
        "a machine\nnanoseconds 99999999999999999999999\n", "b machine\nnanoseconds 23456\n"}) {
    put(text);
    EXPECT_EQ(cache().read(), 0u) << text;
  }
  put(std::string(100'000, 'a'));
  EXPECT_EQ(cache().read(), 0u);
  put("a machine\nnanoseconds 23456\n");
  EXPECT_EQ(cache().read(), 23'456u);
}

TEST_F(Cache, IgnoresWhatOthersCouldHaveWritten) {
  ASSERT_TRUE(cache().write(23'456));
  ASSERT_EQ(chmod(cache().path().c_str(), 0620), 0);
  EXPECT_EQ(cache().read(), 0u);
  ASSERT_EQ(chmod(cache().path().c_str(), 0600), 0);
  EXPECT_EQ(cache().read(), 23'456u);
  ASSERT_EQ(chmod((root_ + "/meantime").c_str(), 0770), 0);
  EXPECT_EQ(cache().read(), 0u);
  EXPECT_FALSE(cache().write(34'567));
  if (geteuid() == 0) {
    ASSERT_EQ(chmod((root_ + "/meantime").c_str(), 0700), 0);
    ASSERT_EQ(chown((root_ + "/meantime").c_str(), 12345, 12345), 0);
    EXPECT_EQ(cache().read(), 0u);
    EXPECT_FALSE(cache().write(34'567));
  }
}

TEST_F(Cache, MakesItsFolders) {
  for (const char* name : {"/new", "/with-a-slash/"}) {
    const WakeUpCache cache(root_ + name, "a machine\n");
    ASSERT_TRUE(cache.write(23'456)) << name;
    EXPECT_EQ(cache.read(), 23'456u);
  }
}

TEST_F(Cache, MakesNoFolderInAnothersFolder) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root has another's HOME to write in";
  }
  const std::string other = root_ + "/home";
  ASSERT_EQ(mkdir(other.c_str(), 0700), 0);
  ASSERT_EQ(chown(other.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(WakeUpCache(other + "/.cache", "a machine\n").write(23'456));
  EXPECT_FALSE(fs::exists(other + "/.cache"));
}

TEST_F(Cache, FollowsNoLinks) {
  ASSERT_TRUE(cache().write(23'456));
  fs::rename(cache().path(), root_ + "/elsewhere");
  fs::create_symlink(root_ + "/elsewhere", cache().path());
  EXPECT_EQ(cache().read(), 0u);
  ASSERT_TRUE(cache().write(34'567));  // in place of the link
  EXPECT_FALSE(fs::is_symlink(cache().path()));
  EXPECT_EQ(cache().read(), 34'567u);
  fs::rename(root_ + "/meantime", root_ + "/folder");
  fs::create_directory_symlink(root_ + "/folder", root_ + "/meantime");
  EXPECT_EQ(cache().read(), 0u);
  EXPECT_FALSE(cache().write(23'456));
}

TEST_F(Cache, IsNotThereWhereItCannotBe) {
  const WakeUpCache nowhere("", "a machine\n");
  EXPECT_EQ(nowhere.read(), 0u);
  EXPECT_FALSE(nowhere.write(23'456));
  EXPECT_EQ(nowhere.path(), "");
  const WakeUpCache below_a_file("/dev/null", "a machine\n");
  EXPECT_EQ(below_a_file.read(), 0u);
  EXPECT_FALSE(below_a_file.write(23'456));
  fs::create_directories(cache().path());  // a folder where the file should be
  chmod((root_ + "/meantime").c_str(), 0700);
  EXPECT_EQ(cache().read(), 0u);
  EXPECT_FALSE(cache().write(23'456));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ + "/meantime"), {}), 1);
}

TEST_F(Cache, OldFiguresAreMeasuredAnew) {
  ASSERT_TRUE(cache().write(23'456));
  fs::last_write_time(cache().path(),
                      fs::file_time_type::clock::now() - std::chrono::hours(24 * 8));
  EXPECT_EQ(cache().read(), 0u);
}

TEST(MachineKey, NamesKernelAndProcessor) {
  EXPECT_NE(machine_key().find("kernel "), std::string::npos);
  EXPECT_EQ(machine_key(), machine_key());
}

}  // namespace
}  // namespace meantime::machine
