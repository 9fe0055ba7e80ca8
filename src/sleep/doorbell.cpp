#include "sleep/doorbell.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "base/clock.h"
#include "deadlock/deadlock.h"
#include "node/segment.h"
#include "rank/rank.h"
#include "scheduling/worker.h"
#include "sleep/ear.h"
#include "sleep/idle_work.h"

namespace meantime::wait {
namespace {

using node::Sleep;

// The word: a Sleep, and above it the number of the sleep.
constexpr std::uint32_t one_sleep = 1u << node::sleep_bits;

constexpr Sleep state_in(std::uint32_t word) {
  return static_cast<Sleep>(word % one_sleep);
}
constexpr std::uint32_t with_state(std::uint32_t word, Sleep state) {
  return word / one_sleep * one_sleep + static_cast<std::uint32_t>(state);
}
/// As much of the number as a SleepLink has room for.
constexpr std::uint16_t number_in(std::uint32_t word) {
  return static_cast<std::uint16_t>(word / one_sleep);
}
constexpr std::uint16_t number_in(node::SleepLink sleep) {
  return static_cast<std::uint16_t>(sleep >> node::sleep_number_shift);
}

/// By the sleeper, from `from` to `to`; false if somebody rang. The number is his own, so it does
/// not change meanwhile.
bool change(node::Waiter& waiter, Sleep from, Sleep to) {
  const std::uint32_t word = waiter.state.load(std::memory_order_relaxed);
  std::uint32_t expected = with_state(word, from);
  return waiter.state.compare_exchange_strong(expected, with_state(word, to),
                                              std::memory_order_seq_cst);
}

// The segment is shared between processes, so these are never the private operations.
long futex(std::atomic<std::uint32_t>& place, int operation, std::uint32_t value,
           const timespec* timeout = nullptr) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&place), operation, value, timeout,
                 nullptr, 0);
}

/// For a scope the calling thread's timers are as exact as the kernel can: else a futex's is up to
/// 50 us late, to save wake-ups. Around the sleep alone, for what the program does later, and its
/// children inherit, is its own.
class ExactTimers {
 public:
  ExactTimers() : slack_ns_(prctl(PR_GET_TIMERSLACK)) { prctl(PR_SET_TIMERSLACK, 1); }
  ~ExactTimers() {
    if (slack_ns_ > 0) {  // 0 would ask for the thread's first one
      prctl(PR_SET_TIMERSLACK, slack_ns_);
    }
  }
  ExactTimers(const ExactTimers&) = delete;
  ExactTimers& operator=(const ExactTimers&) = delete;

 private:
  const int slack_ns_;
};

/// By CLOCK_MONOTONIC.
long futex_until(std::atomic<std::uint32_t>& place, std::uint32_t value, const timespec& until) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&place), FUTEX_WAIT_BITSET, value,
                 &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

/// A worker falls asleep with all of its ranks that wait; they do not count themselves.
node::WorkerPlace& worker_of(node::Waiter& bell) {
  return *node::segment().at<node::WorkerPlace>(bell.worker);
}

void count_in_sleep(node::Waiter& waiter) {
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

constexpr bool is_asleep(Sleep state) {
  return state == Sleep::on_futex || state == Sleep::hearing;
}

}  // namespace

constinit IdleWork* detail::host_idle_work = nullptr;

node::Waiter& waiter_of(node::SleepLink sleep) {
  constexpr node::SleepLink link = (node::SleepLink{1} << node::sleep_number_shift) - 1;
  return *node::segment().at<node::Waiter>(sleep & link & ~node::for_the_rank);
}

node::SleepLink sleep_of(const node::Waiter& waiter) {
  const std::uint32_t word = waiter.state.load(std::memory_order_relaxed);
  return node::segment().link(&waiter) | node::SleepLink{number_in(word)}
                                             << node::sleep_number_shift;
}

// Nobody but the sleeper changes the word of an awake waiter, so no compare-and-swap.
void begin_sleep(node::Waiter& waiter) {
  const std::uint32_t word = waiter.state.load(std::memory_order_relaxed);
  waiter.signalled_at.store(0, std::memory_order_relaxed);
  waiter.state.store(with_state(word + one_sleep, Sleep::arming), std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

namespace {

// Waiter::remaining: the count in the lower half, the number of its sleep in the upper one. The
// halves do not carry into each other.
std::uint64_t counting(std::uint16_t number, std::int32_t count) {
  return std::uint64_t{number} << 32 | static_cast<std::uint32_t>(count);
}
std::int32_t count_in(std::uint64_t remaining) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(remaining));
}

/// Adds to the count of that sleep; *left: what it is then. False: it is another sleep's.
bool add(node::Waiter& waiter, std::uint16_t number, std::int32_t more, std::int32_t* left) {
  std::uint64_t seen = waiter.remaining.load(std::memory_order_relaxed);
  do {
    if (static_cast<std::uint16_t>(seen >> 32) != number) {
      return false;
    }
    *left = count_in(seen) + more;
  } while (!waiter.remaining.compare_exchange_weak(
      seen, counting(number, *left), std::memory_order_acq_rel, std::memory_order_relaxed));
  return true;
}

std::uint16_t number_of(const node::Waiter& waiter) {
  return number_in(waiter.state.load(std::memory_order_relaxed));
}

}  // namespace

void expect(node::Waiter& waiter, std::int32_t completions) {
  waiter.remaining.store(counting(number_of(waiter), completions), std::memory_order_relaxed);
}

std::int32_t expect_more(node::Waiter& waiter, std::int32_t more) {
  std::int32_t left = 0;
  add(waiter, number_of(waiter), more, &left);
  return left;
}

bool expect_instead(node::Waiter& waiter, std::int32_t expected, std::int32_t instead) {
  std::uint64_t untouched = counting(number_of(waiter), expected);
  return waiter.remaining.compare_exchange_strong(untouched, counting(number_of(waiter), instead),
                                                  std::memory_order_acq_rel);
}

namespace {

/// What the word would be in that state of this sleep.
std::uint32_t word_if(const node::Waiter& waiter, Sleep state) {
  return with_state(waiter.state.load(std::memory_order_relaxed), state);
}

constexpr std::uint64_t no_time = ~std::uint64_t{0};

/// A thread rank leaves its worker, unless it has been signalled; until then at most.
void suspend(node::Waiter& waiter, std::uint64_t until_ns) {
  ranks::hold_worker();
  waiter.worker = ranks::worker_of(self());
  if (!change(waiter, Sleep::arming, Sleep::on_futex)) {
    ranks::let_go_of_worker();
  } else if (until_ns == no_time) {
    ranks::suspend();
  } else {
    ranks::suspend_until(waiter, until_ns);
  }
}

timespec timespec_of(std::uint64_t nanoseconds) {
  return {static_cast<time_t>(nanoseconds / 1'000'000'000u),
          static_cast<long>(nanoseconds % 1'000'000'000u)};
}

constexpr std::uint64_t doubt_ns = 500'000'000;

/// 0.5 to 1.5 s: two carriers of a host that doubt at the same time must not find each other
/// looking for ever.
std::uint64_t time_to_look_again() {
  constexpr std::uint64_t spread = 0x9e3779b97f4a7c15u;
  return doubt_ns + (now_ns() * spread >> 32) % (2 * doubt_ns);
}

/// Until then, or until somebody changes the word, or for no reason. What wakes it early (a signal,
/// a FUTEX_WAKE for an earlier sleep that comes late) does not count: the caller looks. Who rings
/// one that works changes the word, at which work looks after each slice, and FUTEX_WAIT before it
/// sleeps: so that work ends and a sleep begins loses no ring.
void sleep_or_work(node::Waiter& waiter, std::uint64_t until_ns) {
  if (state_of(waiter) == Sleep::hearing) {
    if (ear()->hear(until_ns) && change(waiter, Sleep::hearing, Sleep::signalled)) {
      count_out(waiter);
    }
    return;
  }
  const std::uint32_t asleep = word_if(waiter, Sleep::on_futex);
  if (IdleWork* const work = idle_work(); work != nullptr) [[unlikely]] {
    node::GuestWork& account =
        waiter.owner == node::no_owner
            ? worker_of(waiter).account.guest_work
            : node::segment().area(static_cast<int>(waiter.owner)).account.guest_work;
    const std::uint64_t again_ns = work->run(waiter.state, asleep, until_ns, account);
    if (again_ns == 0) {
      return;
    }
    until_ns = std::min(until_ns, again_ns);
  }
  if (until_ns == no_time) {
    futex(waiter.state, FUTEX_WAIT, asleep);
  } else {
    futex_until(waiter.state, asleep, timespec_of(until_ns));
  }
}

/// As which it falls asleep.
Sleep sleep_of_process_rank(const node::Waiter& waiter) {
  return waiter.owner != node::no_owner && hears_for_itself() ? Sleep::hearing : Sleep::on_futex;
}

/// Whoever works sleeps until the next look for a deadlock is over.
void have_all_rest() {
  if (idle_work() != nullptr) {
    node::segment().header().rest_until_ns.store(now_ns() + 4 * doubt_ns,
                                                 std::memory_order_relaxed);
  }
}

}  // namespace

void sleep_until_signalled(node::Waiter& waiter) {
  if (is_thread_rank(waiter)) {
    suspend(waiter, no_time);
    return;
  }
  count_in_sleep(waiter);
  if (!change(waiter, Sleep::arming, sleep_of_process_rank(waiter))) {
    count_out(waiter);
    return;
  }
  const Verdict verdict = look_for_deadlock(Look::hasty);
  if (verdict == Verdict::deadlock) {
    report_deadlock();
  }
  bool looks_again = verdict == Verdict::doubt || verdict == Verdict::quiet;
  Stillness stillness;
  std::uint64_t until_ns = no_time;
  while (is_asleep(state_of(waiter))) {
    if (looks_again && until_ns == no_time) {
      until_ns = now_ns() + time_to_look_again();
      have_all_rest();
    }
    sleep_or_work(waiter, until_ns);
    if (until_ns != no_time && now_ns() >= until_ns && is_asleep(state_of(waiter))) {
      until_ns = no_time;
      const Verdict now = look_for_deadlock(Look::thorough);
      if (now == Verdict::deadlock) {
        report_deadlock();
        looks_again = false;
      } else if (stillness.lasts(now)) {
        report_stillness();
      }
    }
  }
}

bool time_is_over(node::Waiter& waiter) {
  return change(waiter, state_of(waiter) == Sleep::hearing ? Sleep::hearing : Sleep::on_futex,
                Sleep::arming);
}

void sleep_until_signalled_or(node::Waiter& waiter, std::uint64_t nanoseconds) {
  const std::uint64_t until_ns = now_ns() + nanoseconds;
  if (is_thread_rank(waiter)) {
    suspend(waiter, until_ns);
    return;
  }
  count_in_sleep(waiter);
  if (change(waiter, Sleep::arming, sleep_of_process_rank(waiter))) {
    const ExactTimers exact;
    while (is_asleep(state_of(waiter)) && now_ns() < until_ns) {
      sleep_or_work(waiter, until_ns);
    }
    if (!time_is_over(waiter)) {
      return;  // whoever rang has counted it out
    }
  }
  count_out(waiter);
}

node::Sleep end_sleep(node::Waiter& waiter) {
  const std::uint32_t word = waiter.state.load(std::memory_order_relaxed);
  return state_in(waiter.state.exchange(with_state(word, Sleep::awake), std::memory_order_seq_cst));
}

namespace {

bool rouse(node::Waiter& waiter, std::optional<std::uint16_t> number = std::nullopt);

// Why no wake-up is lost: the worker is the sleeper of doorbell.h with "its list is not empty" as
// the condition; the push is sequentially consistent, and `rouse` begins with a fence. It is pushed
// once a sleep, by whose compare-and-swap made it signalled, so `next_woken` has one writer. If the
// rank has not left its worker's core yet, that does not matter: it holds the worker from before it
// could be signalled until it has left, and only who holds the worker takes from the list. All of
// this lies in the segment, and the bell is a futex of the segment: the ringer may be of another
// process.
node::WorkerPlace& put_on_list(node::Waiter& waiter) {
  node::Segment& segment = node::segment();
  auto& worker = *segment.at<node::WorkerPlace>(waiter.worker);
  worker.woken.push(segment.link(&waiter), waiter.next_woken);
  return worker;
}

}  // namespace

void make_runnable(node::Waiter& waiter) {
  node::WorkerPlace& worker = put_on_list(waiter);
  if (!ranks::runs_on(worker)) {  // a worker that runs the ringer is awake
    rouse(worker.bell);
  }
}

void make_runnable_again(node::Waiter& waiter) {
  rouse(put_on_list(waiter).bell);
}

namespace {

// For the sleeper's prediction only: of a ringer that loses its core before it gets here the time
// is missing, or stands in a later sleep that nobody else has ended either.
void note_time(node::Waiter& waiter) {
  waiter.signalled_at.store(static_cast<std::uint32_t>(now_ns()), std::memory_order_relaxed);
}

/// Of a thread rank: before it is on the list of a worker whose core is to be woken.
void note_time_if_asleep(node::Waiter& waiter) {
  auto& worker = *node::segment().at<node::WorkerPlace>(waiter.worker);
  if (!ranks::runs_on(worker) && worker.asleep.load(std::memory_order_relaxed) != 0) {
    note_time(waiter);
  }
}

/// Makes a waiter that sleeps, or is about to, `signalled`; if `number` says so, only in that
/// sleep. False if it is awake, or that sleep is over: then it has been since before this call
/// looked.
bool rouse(node::Waiter& waiter, std::optional<std::uint16_t> number) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::uint32_t word = waiter.state.load(std::memory_order_relaxed);
  for (;;) {
    const Sleep state = state_in(word);
    if (state == Sleep::awake || number.value_or(number_in(word)) != number_in(word)) {
      return false;
    }
    if (state == Sleep::signalled) {
      return true;
    }
    if (waiter.state.compare_exchange_weak(word, with_state(word, Sleep::signalled),
                                           std::memory_order_acq_rel, std::memory_order_relaxed)) {
      if (is_asleep(state)) {
        if (is_thread_rank(waiter)) {
          note_time_if_asleep(waiter);
          make_runnable(waiter);
          return true;
        }
        count_out(waiter);
        note_time(waiter);
        if (state == Sleep::hearing) {
          ear()->ring(static_cast<int>(waiter.owner));
        } else {
          futex(waiter.state, FUTEX_WAKE, 1);
        }
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
  rouse(waiter);
}

void ring(node::SleepLink sleep) {
  rouse(waiter_of(sleep), number_in(sleep));
}

namespace {

/// Of a rank one of whose threads will look before it sleeps or leaves MPI. What it will find is
/// there: see progressing.h.
bool progresses_by_itself(int world_rank) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return node::segment().area(world_rank).mailbox.progressing.load(std::memory_order_seq_cst) != 0;
}

}  // namespace

// Whoever stops sleeping takes itself off the list first and is awake afterwards. So a waiter that
// is found awake, or in another sleep, is not the first of the list any more as it was read here,
// and the next look finds another one.
void ring_rank(int world_rank) {
  if (progresses_by_itself(world_rank)) {
    return;
  }
  node::Segment& segment = node::segment();
  const std::atomic<node::SleepLink>& first = segment.area(world_rank).mailbox.sleeper;
  node::SleepLink sleeper = 0;
  do {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    sleeper = first.load(std::memory_order_seq_cst);
  } while (sleeper != 0 && !rouse(waiter_of(sleeper), number_in(sleeper)));
}

void count_down(node::SleepLink sleep) {
  node::Waiter& waiter = waiter_of(sleep);
  if ((sleep & node::for_the_rank) != 0 && progresses_by_itself(static_cast<int>(waiter.owner))) {
    return;
  }
  std::int32_t left = 0;
  if (add(waiter, number_in(sleep), -1, &left) && left == 0) {
    ring(sleep);
  }
}

}  // namespace meantime::wait
