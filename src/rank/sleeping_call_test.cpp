#include "rank/sleeping_call.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace meantime::ranks {
namespace {

TEST(SleepingCall, MemoryIsNoCallToTellOf) {
  EXPECT_TRUE(is_about_memory(SYS_munmap));
  EXPECT_TRUE(is_about_memory(SYS_fallocate));
  EXPECT_FALSE(is_about_memory(SYS_read));
  EXPECT_FALSE(is_about_memory(-1));
}

TEST(SleepingCall, OfAThreadThatReads) {
  if (access("/proc/self/syscall", R_OK) != 0) {
    GTEST_SKIP() << "this kernel does not tell";
  }
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::atomic<int> id{0};
  std::thread reader([&] {
    id = static_cast<int>(syscall(SYS_gettid));
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
  });
  while (id == 0 || sleeping_call(id) != "read") {
    std::this_thread::yield();
  }
  EXPECT_FALSE(waits_for_memory(id));
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  reader.join();
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace meantime::ranks
