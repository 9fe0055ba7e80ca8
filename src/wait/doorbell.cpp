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

void sleep_until_rung_or(node::Waiter& waiter, long nanoseconds) {
  count_in(waiter.owner);
  std::uint32_t state = word(Sleep::arming);
  if (waiter.state.compare_exchange_strong(state, word(Sleep::on_futex))) {
    const timespec timeout{0, nanoseconds};
    futex(waiter.state, FUTEX_WAIT, word(Sleep::on_futex), &timeout);
    state = word(Sleep::on_futex);
    if (!waiter.state.compare_exchange_strong(state, word(Sleep::arming))) {
      return;  // whoever rang has counted it out
    }
  }
  count_out(waiter.owner);
}

node::Sleep end_sleep(node::Waiter& waiter) {
  return static_cast<Sleep>(waiter.state.exchange(word(Sleep::awake), std::memory_order_seq_cst));
}

namespace {

/// Changes the state of a waiter that sleeps, or is about to, to `to`. False if it is awake: then
/// it has been since before this call looked.
bool rouse(node::Waiter& waiter, Sleep to) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::uint32_t state = waiter.state.load(std::memory_order_relaxed);
  for (;;) {
    if (state == word(Sleep::awake)) {
      return false;
    }
    if (state >= word(to)) {
      return true;
    }
    if (waiter.state.compare_exchange_weak(state, word(to), std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
      if (state == word(Sleep::on_futex)) {
        count_out(waiter.owner);
        futex(waiter.state, FUTEX_WAKE, 1);
        if (node::RankArea* area = self().area; area != nullptr) {
          area->account.rings.fetch_add(1, std::memory_order_relaxed);
        }
      }
      return true;
    }
  }
}

}  // namespace

void ring(node::Waiter& waiter) {
  rouse(waiter, Sleep::rung);
}

void tell(node::Waiter& waiter) {
  rouse(waiter, Sleep::told);
}

// Whoever stops sleeping takes itself off the list first and is awake afterwards. So a waiter that
// is found awake is not the first of the list any more, and the next look finds another one.
void ring_rank(int world_rank) {
  node::Segment& segment = node::segment();
  const std::atomic<node::Link>& first = segment.area(world_rank).mailbox.sleeper;
  node::Link sleeper = 0;
  do {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    sleeper = first.load(std::memory_order_seq_cst);
  } while (sleeper != 0 && !rouse(*segment.at<node::Waiter>(sleeper), Sleep::rung));
}

void count_down(node::Waiter& waiter) {
  if (waiter.remaining.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    ring(waiter);
  }
}

}  // namespace meantime::wait
