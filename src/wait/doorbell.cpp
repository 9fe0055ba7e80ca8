#include "wait/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "node/segment.h"
#include "rank/rank.h"
#include "wait/deadlock.h"
#include "wait/wait.h"

namespace meantime::wait {
namespace {

using node::Sleep;

constexpr std::uint32_t word(Sleep state) {
  return static_cast<std::uint32_t>(state);
}

// The segment is shared between processes, so these are never the private operations.
long futex(std::atomic<std::uint32_t>& place, int operation, std::uint32_t value,
           const timespec* timeout = nullptr) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&place), operation, value, timeout,
                 nullptr, 0);
}

void count_in(std::uint32_t world_rank) {
  node::Segment& segment = node::segment();
  node::RankArea& area = segment.area(static_cast<int>(world_rank));
  area.sleeps.fetch_add(1, std::memory_order_relaxed);
  if (area.asleep.fetch_add(1, std::memory_order_seq_cst) == 0) {
    segment.header().asleep.fetch_add(1, std::memory_order_seq_cst);
  }
}

void count_out(std::uint32_t world_rank) {
  node::Segment& segment = node::segment();
  if (segment.area(static_cast<int>(world_rank)).asleep.fetch_sub(1, std::memory_order_seq_cst) ==
      1) {
    segment.header().asleep.fetch_sub(1, std::memory_order_seq_cst);
  }
}

}  // namespace

void begin_sleep(node::Waiter& waiter) {
  waiter.state.store(word(Sleep::arming), std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void sleep_until_rung(node::Waiter& waiter) {
  count_in(waiter.owner);
  std::uint32_t expected = word(Sleep::arming);
  if (!waiter.state.compare_exchange_strong(expected, word(Sleep::on_futex),
                                            std::memory_order_seq_cst)) {
    count_out(waiter.owner);
    return;
  }
  const Verdict verdict = look_for_deadlock(Look::hasty);
  if (verdict == Verdict::deadlock) {
    report_deadlock();
  }
  constexpr timespec look_again{1, 0};
  const timespec* timeout = verdict == Verdict::doubt ? &look_again : nullptr;
  while (waiter.state.load(std::memory_order_acquire) == word(Sleep::on_futex)) {
    futex(waiter.state, FUTEX_WAIT, word(Sleep::on_futex), timeout);
    if (timeout != nullptr && waiter.state.load() == word(Sleep::on_futex) &&
        look_for_deadlock(Look::thorough) == Verdict::deadlock) {
      report_deadlock();
      timeout = nullptr;
    }
  }
}

bool end_sleep(node::Waiter& waiter) {
  return waiter.state.exchange(word(Sleep::awake), std::memory_order_acq_rel) == word(Sleep::rung);
}

void ring(node::Waiter& waiter) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::uint32_t state = waiter.state.load(std::memory_order_relaxed);
  while (state == word(Sleep::arming) || state == word(Sleep::on_futex)) {
    if (waiter.state.compare_exchange_weak(state, word(Sleep::rung), std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
      if (state == word(Sleep::on_futex)) {
        count_out(waiter.owner);
        futex(waiter.state, FUTEX_WAKE, 1);
        if (node::RankArea* area = self().area; area != nullptr) {
          area->account.rings.fetch_add(1, std::memory_order_relaxed);
        }
      }
      return;
    }
  }
}

void ring_rank(int world_rank) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  node::Segment& segment = node::segment();
  const node::Link sleeper =
      segment.area(world_rank).mailbox.sleeper.load(std::memory_order_acquire);
  if (sleeper != 0) {
    ring(*segment.at<node::Waiter>(sleeper));
  }
}

void count_down(node::Waiter& waiter) {
  if (waiter.remaining.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    ring(waiter);
  }
}

}  // namespace meantime::wait
