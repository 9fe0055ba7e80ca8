// Fibers that move at every wait, and leave their worker now and then, for ThreadSanitizer: a token
// goes round, and whoever has it touches what all touch without a lock. So a switch, a wake-up or a
// move that orders less than it should is a race, and one that is lost hangs.
#include "scheduling/fiber.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "rank/rank.h"
#include "scheduling/two_workers.h"
#include "sleep/doorbell.h"

namespace meantime::ranks {
namespace {

constexpr int fibers = 6;
constexpr int rounds = 2000;

std::vector<node::Waiter*> waiters(fibers);
std::atomic<int> ready{0};
std::atomic<int> turn{0};
long count = 0;  // whoever has the token
int moves = 0;
thread_local long own_count = 0;
std::atomic<long> own_counts{0};

/// As a wait in MPI does it: a look, an arming, a look again, a sleep.
void until_it_is_the_turn_of(int index, node::Waiter& waiter) {
  for (int look = 0; turn.load(std::memory_order_seq_cst) != index; ++look) {
    if (look % 2 == 0 && yield()) {
      continue;
    }
    waiter.worker = worker_of(self());
    wait::begin_sleep(waiter);
    if (turn.load(std::memory_order_seq_cst) != index) {
      wait::sleep_until_signalled(waiter);
    }
    wait::end_sleep(waiter);
  }
}

void rank_life(int index) {
  Rank& rank = self();
  EXPECT_EQ(rank.world_rank, index);
  node::Waiter& waiter = *rank.sleepers.take(rank.world_rank);
  waiters[static_cast<std::size_t>(index)] = &waiter;
  ready.fetch_add(1);
  while (ready.load() != fibers) {
    yield();
  }
  int last_worker = worker_number(rank);
  for (int round = 0; round < rounds; ++round) {
    if (round % 50 == index) {
      const Offloaded as_around_a_system_call;
      ++own_count;
      --own_count;
    }
    until_it_is_the_turn_of(index, waiter);
    ++count;
    ++own_count;
    moves += worker_number(rank) != last_worker ? 1 : 0;
    last_worker = worker_number(rank);
    const int next = (index + 1) % fibers;
    turn.store(next, std::memory_order_seq_cst);
    wait::ring(*waiters[static_cast<std::size_t>(next)]);
  }
  own_counts.fetch_add(own_count);
}

TEST(Fibers, MoveAtEveryWaitAndLoseNothing) {
  run_on_two_workers(fibers, rank_life, true);
  EXPECT_EQ(count, long{fibers} * rounds);
  EXPECT_EQ(own_counts.load(), long{fibers} * rounds);
  EXPECT_GT(moves, 0);
}

}  // namespace
}  // namespace meantime::ranks
