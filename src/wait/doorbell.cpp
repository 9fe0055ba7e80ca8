#include "wait/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "node/segment.h"
#include "rank/rank.h"
#include "rank/worker.h"
#include "wait/clock.h"
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

/// A worker falls asleep with all of its ranks that wait; they do not count themselves.
node::WorkerPlace& worker_of(node::Waiter& bell) {
  return *node::segment().at<node::WorkerPlace>(bell.worker);
}

void count_in(node::Waiter& waiter) {
  node::Segment& segment = node::segment();
  if (waiter.owner == node::no_owner) {
    node::WorkerPlace& worker = worker_of(waiter);
    worker.sleeps.fetch_add(1, std::memory_order_relaxed);
    worker.asleep.store(1, std::memory_order_seq_cst);
    segment.header().asleep.fetch_add(worker.suspended.load(std::memory_order_relaxed),
                                      std::memory_order_seq_cst);
    return;
  }
  node::RankArea& area = segment.area(static_cast<int>(waiter.owner));
  area.sleeps.fetch_add(1, std::memory_order_relaxed);
  if (area.asleep.fetch_add(1, std::memory_order_seq_cst) == 0) {
    segment.header().asleep.fetch_add(1, std::memory_order_seq_cst);
  }
}

void count_out(node::Waiter& waiter) {
  node::Segment& segment = node::segment();
  if (waiter.owner == node::no_owner) {
    node::WorkerPlace& worker = worker_of(waiter);
    segment.header().asleep.fetch_sub(worker.suspended.load(std::memory_order_relaxed),
                                      std::memory_order_seq_cst);
    worker.asleep.store(0, std::memory_order_seq_cst);
    return;
  }
  if (segment.area(static_cast<int>(waiter.owner)).asleep.fetch_sub(1, std::memory_order_seq_cst) ==
      1) {
    segment.header().asleep.fetch_sub(1, std::memory_order_seq_cst);
  }
}

bool is_thread_rank(const node::Waiter& waiter) {
  return waiter.worker != 0 && waiter.owner != node::no_owner;
}

}  // namespace

void begin_sleep(node::Waiter& waiter) {
  waiter.state.store(word(Sleep::arming), std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

namespace {

constexpr std::uint64_t no_time = ~std::uint64_t{0};

/// A thread rank leaves its worker, unless it has been rung; until then at most.
void suspend(node::Waiter& waiter, std::uint64_t until_ns) {
  ranks::hold_worker();
  waiter.worker = ranks::worker_of(self());
  std::uint32_t expected = word(Sleep::arming);
  if (!waiter.state.compare_exchange_strong(expected, word(Sleep::on_futex),
                                            std::memory_order_seq_cst)) {
    ranks::let_go_of_worker();
  } else if (until_ns == no_time) {
    ranks::suspend();
  } else {
    ranks::suspend_until(waiter, until_ns);
  }
}

}  // namespace

void sleep_until_rung(node::Waiter& waiter) {
  if (is_thread_rank(waiter)) {
    suspend(waiter, no_time);
    return;
  }
  count_in(waiter);
  std::uint32_t expected = word(Sleep::arming);
  if (!waiter.state.compare_exchange_strong(expected, word(Sleep::on_futex),
                                            std::memory_order_seq_cst)) {
    count_out(waiter);
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

namespace {

timespec timespec_of(std::uint64_t nanoseconds) {
  return {static_cast<time_t>(nanoseconds / 1'000'000'000u),
          static_cast<long>(nanoseconds % 1'000'000'000u)};
}

}  // namespace

bool time_is_over(node::Waiter& waiter) {
  std::uint32_t expected = word(Sleep::on_futex);
  return waiter.state.compare_exchange_strong(expected, word(Sleep::arming),
                                              std::memory_order_seq_cst);
}

void sleep_until_rung_or(node::Waiter& waiter, std::uint64_t nanoseconds) {
  if (is_thread_rank(waiter)) {
    suspend(waiter, now_ns() + nanoseconds);
    return;
  }
  const timespec time = timespec_of(nanoseconds);
  count_in(waiter);
  std::uint32_t arming = word(Sleep::arming);
  if (waiter.state.compare_exchange_strong(arming, word(Sleep::on_futex))) {
    futex(waiter.state, FUTEX_WAIT, word(Sleep::on_futex), &time);
    if (!time_is_over(waiter)) {
      return;  // whoever rang has counted it out
    }
  }
  count_out(waiter);
}

node::Sleep end_sleep(node::Waiter& waiter) {
  return static_cast<Sleep>(waiter.state.exchange(word(Sleep::awake), std::memory_order_seq_cst));
}

namespace {

bool rouse(node::Waiter& waiter, Sleep to);

// Why no wake-up is lost: the worker is the sleeper of doorbell.h with "its list is not empty" as
// the condition; the push is sequentially consistent, and `rouse` begins with a fence. It is pushed
// once a sleep, by whose compare-and-swap made it rung, so `next_woken` has one writer. If the rank
// has not left its worker's core yet, that does not matter: it holds the worker from before it
// could be rung until it has left, and only who holds the worker takes from the list.
node::WorkerPlace& put_on_list(node::Waiter& waiter) {
  node::Segment& segment = node::segment();
  auto& worker = *segment.at<node::WorkerPlace>(waiter.worker);
  const node::Link link = segment.link(&waiter);
  node::Link head = worker.woken.load(std::memory_order_relaxed);
  do {
    waiter.next_woken.store(head, std::memory_order_relaxed);
  } while (!worker.woken.compare_exchange_weak(head, link, std::memory_order_seq_cst,
                                               std::memory_order_relaxed));
  return worker;
}

}  // namespace

void make_runnable(node::Waiter& waiter) {
  node::WorkerPlace& worker = put_on_list(waiter);
  if (!ranks::runs_on(worker)) {  // a worker that runs the ringer is awake
    rouse(worker.bell, Sleep::rung);
  }
}

void make_runnable_again(node::Waiter& waiter) {
  rouse(put_on_list(waiter).bell, Sleep::rung);
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
        if (is_thread_rank(waiter)) {
          make_runnable(waiter);
          return true;
        }
        count_out(waiter);
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
