#include <sched.h>

#include <ctime>

#include "node/segment.h"
#include "rank/rank.h"
#include "wait/doorbell.h"
#include "wait/pause.h"
#include "wait/policy.h"
#include "wait/wait.h"

namespace meantime::wait {
namespace {

std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

/// Lets other threads of this rank into MPI for a moment.
class Unlocked {
 public:
  explicit Unlocked(RankLock& lock) : lock_(lock), levels_(lock.release_all()) {}
  ~Unlocked() { lock_.reacquire(levels_); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  RankLock& lock_;
  int levels_;
};

/// A Waiter of the rank for the time of one sleep, known to its mailbox as "may be rung".
class SleepingPlace {
 public:
  explicit SleepingPlace(Rank& rank) : rank_(rank), box_(rank.area->mailbox) {
    waiter_ = rank.sleepers.take(rank.world_rank);
    begin_sleep(*waiter_);
    waiter_->next_sleeping = box_.sleeper.load(std::memory_order_relaxed);
    box_.sleeper.store(node::segment().link(waiter_), std::memory_order_relaxed);
    // Seen by whoever pushes on the inbox: from now on senders match for this rank.
    box_.sleepers.fetch_add(1, std::memory_order_seq_cst);
  }
  ~SleepingPlace() {
    unlist();
    box_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    rank_.sleepers.give_back(waiter_);
  }
  SleepingPlace(const SleepingPlace&) = delete;
  SleepingPlace& operator=(const SleepingPlace&) = delete;

  node::Waiter& waiter() { return *waiter_; }

 private:
  /// The list is short (sleeping threads of one rank) and private to the rank, under its lock.
  void unlist() {
    node::Segment& segment = node::segment();
    const node::Link mine = segment.link(waiter_);
    node::Link place = box_.sleeper.load(std::memory_order_relaxed);
    if (place == mine) {
      box_.sleeper.store(waiter_->next_sleeping, std::memory_order_seq_cst);
      return;
    }
    while (place != 0) {
      auto* other = segment.at<node::Waiter>(place);
      if (other->next_sleeping == mine) {
        other->next_sleeping = waiter_->next_sleeping;
        return;
      }
      place = other->next_sleeping;
    }
  }

  Rank& rank_;
  node::Mailbox& box_;
  node::Waiter* waiter_;
};

/// One wait's entry in the rank's report and account; begins when the wait turns out not to be
/// over at once, so short waits cost no clock.
class Record {
 public:
  Record(Rank& rank, const Awaited& what) : rank_(rank) {
    Situation situation;
    situation.call = rank.call.load(std::memory_order_relaxed);
    situation.call_site = rank.call_site.load(std::memory_order_relaxed);
    what.describe(situation);
    node::Report& report = rank.area->report;
    began_ = now_ns();
    report.call.store(situation.call, std::memory_order_relaxed);
    report.call_site.store(reinterpret_cast<std::uint64_t>(situation.call_site),
                           std::memory_order_relaxed);
    report.context.store(situation.context, std::memory_order_relaxed);
    report.peer.store(situation.peer, std::memory_order_relaxed);
    report.tag.store(situation.tag, std::memory_order_relaxed);
    report.requests.store(situation.requests, std::memory_order_relaxed);
    report.since_ns.store(began_, std::memory_order_relaxed);
    report.state.store(static_cast<std::uint32_t>(node::RankState::waiting),
                       std::memory_order_release);
  }
  ~Record() {
    node::Account& account = rank_.area->account;
    rank_.area->report.state.store(static_cast<std::uint32_t>(node::RankState::running),
                                   std::memory_order_relaxed);
    account.waits.store(account.waits.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
    account.wait_ns.store(account.wait_ns.load(std::memory_order_relaxed) + now_ns() - began_,
                          std::memory_order_relaxed);
  }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  std::uint64_t waited_ns() const { return now_ns() - began_; }

 private:
  Rank& rank_;
  std::uint64_t began_;
};

void park(Rank& rank, Awaited& what) {
  {
    SleepingPlace place(rank);
    what.arm(place.waiter());
    std::atomic_thread_fence(std::memory_order_seq_cst);
    what.progress();
    if (!what.ready()) {
      node::Account& account = rank.area->account;
      account.parks.store(account.parks.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
      Unlocked unlocked(rank.lock);
      sleep_until_rung(place.waiter());
    }
    end_sleep(place.waiter());
    what.disarm(place.waiter());
  }
  // Whoever rang for any work may have chosen this waiter although the work was another thread's.
  // Now that new rings go to the others, what was there before is moved by us; they sleep on.
  if (rank.area->mailbox.sleepers.load(std::memory_order_relaxed) != 0) {
    what.progress();
  }
}

void climb(Rank& rank, Awaited& what) {
  const Policy& policy = wait::policy();
  Record record(rank, what);
  std::uint32_t turns = 0;
  std::uint64_t waited = 0;
  do {
    if (what.progress()) {
      turns = 0;
      continue;
    }
    if ((++turns & 63) == 0) {
      waited = record.waited_ns();
      if (rank.lock.enabled()) {
        // Another thread of this rank may be the one that is waited for.
        Unlocked unlocked(rank.lock);
        sched_yield();
      }
    }
    switch (policy.next(turns, waited, rank.poll_patience_ns)) {
      case Rung::poll:
        pause();
        break;
      case Rung::yield: {
        Unlocked unlocked(rank.lock);
        sched_yield();
        break;
      }
      case Rung::park:
        park(rank, what);
        turns = 0;
        break;
    }
  } while (!what.ready());
  rank.poll_patience_ns = policy.patience_after(record.waited_ns(), rank.poll_patience_ns);
}

bool ready_after_yielding(Rank& rank, Awaited& what) {
  return rank.yielding[static_cast<int>(what.kind())].until(rank.lock, [&what] {
    what.progress();
    return what.ready();
  });
}

}  // namespace

int quick_turns() {
  return policy().crowded ? 4 : 32;
}

void until(Awaited& what) {
  Rank& rank = self();
  node::Mailbox& box = rank.area->mailbox;
  if (what.ready()) {
    return;
  }
  box.pollers.store(1, std::memory_order_relaxed);
  const bool crowded = policy().crowded;
  // A gate is opened by the last of many: the sooner this core does something else, the better.
  const int turns = crowded && what.kind() == Kind::gate ? 1 : quick_turns();
  for (int turn = 0; turn < turns; ++turn) {
    if (what.progress() && what.ready()) {
      box.pollers.store(0, std::memory_order_relaxed);
      return;
    }
    if (what.ready()) {
      box.pollers.store(0, std::memory_order_relaxed);
      return;
    }
    pause();
  }
  if (!crowded || policy().mode != Mode::adaptive || !ready_after_yielding(rank, what)) {
    climb(rank, what);
  }
  box.pollers.store(0, std::memory_order_relaxed);
}

void fruitless_look() {
  Rank& rank = self();
  // Alone on its core a rank may look as often as it likes; in a crowd every fruitless look keeps
  // somebody from doing what it looks for.
  const std::uint32_t patience = policy().crowded ? 4 : 1000;
  if (++rank.fruitless_looks >= patience) {
    rank.fruitless_looks = 0;
    Unlocked unlocked(rank.lock);
    sched_yield();
  }
}

void fruitful_look() {
  self().fruitless_looks = 0;
}

}  // namespace meantime::wait
