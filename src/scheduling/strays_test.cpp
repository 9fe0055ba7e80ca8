// Ranks that were stolen while a rank of their worker computed go home once all take turns again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

#include "base/clock.h"
#include "rank/rank.h"
#include "scheduling/two_workers.h"
#include "scheduling/worker.h"

namespace meantime::ranks {
namespace {

constexpr int fibers = 8;
constexpr int can_be_stolen = 3;  // of the four of worker 0: rank 0 runs all the while
constexpr std::uint64_t most_ns = 20'000'000'000;
constexpr std::uint64_t hold_ns = 20'000'000;  // far less than what is handed over for

std::atomic<bool> began{false};
std::atomic<int> stolen{0};
std::atomic<int> at_home{0};

bool is_stray() {
  return worker_number(self()) != home_number(self());
}

/// Rank 0 keeps its worker to itself again and again, and the other worker has nothing to run.
void get_stolen(int index, std::uint64_t deadline) {
  if (index == 0) {
    stay(true);
    began.store(true);
  }
  while (!began.load() && home_number(self()) != 0) {
    yield();  // whoever begins earlier would steal rank 0
  }
  while (index != 0 && home_number(self()) == 0 && !is_stray() && now_ns() < deadline) {
    yield();
  }
  if (is_stray()) {
    stolen.fetch_add(1);
  }
  if (index == 0) {
    std::uint64_t since = now_ns();
    while (stolen.load() < can_be_stolen && now_ns() < deadline) {
      if (now_ns() - since > hold_ns) {
        yield();
        since = now_ns();
      }
    }
    return;
  }
  const Offloaded as_around_a_system_call;
  while (stolen.load() < can_be_stolen && now_ns() < deadline) {
    usleep(100);
  }
}

void rank_life(int index) {
  const std::uint64_t deadline = now_ns() + most_ns;
  get_stolen(index, deadline);
  bool counted = false;
  while (at_home.load() < fibers && now_ns() < deadline) {
    yield();
    if (!counted && !is_stray()) {
      counted = true;
      at_home.fetch_add(1);
    }
  }
}

TEST(Strays, GoHome) {
  run_on_two_workers(fibers, rank_life);
  EXPECT_EQ(stolen.load(), can_be_stolen);
  EXPECT_EQ(at_home.load(), fibers);
}

}  // namespace
}  // namespace meantime::ranks
