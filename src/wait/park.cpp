#include "wait/park.h"

#include <algorithm>

#include "base/clock.h"
#include "deadlock/deadlock.h"
#include "node/segment.h"
#include "rank/rank.h"
#include "scheduling/worker.h"
#include "sleep/doorbell.h"
#include "wait/others_turn.h"

namespace meantime::wait {
namespace {

/// A Waiter of the rank for the time of one sleep, known to its mailbox as "may be signalled".
class SleepingPlace {
 public:
  SleepingPlace(Rank& rank, Awaited& what) : rank_(rank), box_(rank.area->mailbox), what_(what) {
    waiter_ = rank.sleepers.take(rank.world_rank);
    waiter_->worker = ranks::worker_of(rank);
    begin_sleep(*waiter_);
    waiter_->next_sleeping = box_.sleeper.load(std::memory_order_relaxed);
    box_.sleeper.store(sleep_of(*waiter_), std::memory_order_relaxed);
    // Seen by whoever pushes on the inbox: from now on senders match for this rank.
    box_.sleepers.fetch_add(1, std::memory_order_seq_cst);
  }
  ~SleepingPlace() {
    // A user's operator ends the thread. What it was signalled for another one looks at.
    if (!left_) [[unlikely]] {
      leave();
      ring_rank(rank_.world_rank);
    }
    rank_.sleepers.give_back(waiter_);
  }
  SleepingPlace(const SleepingPlace&) = delete;
  SleepingPlace& operator=(const SleepingPlace&) = delete;

  node::Waiter& waiter() { return *waiter_; }

  void arm() {
    what_.arm(*waiter_);
    armed_ = true;
  }
  /// First off the list, then awake: see ring_rank. Then disarms. Returns the state it was in.
  node::Sleep leave() {
    left_ = true;
    unlist();
    const node::Sleep was = end_sleep(*waiter_);
    box_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    if (armed_) {
      what_.disarm(*waiter_);
    }
    return was;
  }

 private:
  /// The list is short (sleeping threads of one rank). Only the rank's threads change it, under its
  /// lock; others read the first.
  void unlist() {
    const node::SleepLink mine = sleep_of(*waiter_);
    node::SleepLink place = box_.sleeper.load(std::memory_order_relaxed);
    if (place == mine) {
      box_.sleeper.store(waiter_->next_sleeping, std::memory_order_seq_cst);
      return;
    }
    while (place != 0) {
      node::Waiter& other = waiter_of(place);
      if (other.next_sleeping == mine) {
        other.next_sleeping = waiter_->next_sleeping;
        return;
      }
      place = other.next_sleeping;
    }
  }

  Rank& rank_;
  node::Mailbox& box_;
  Awaited& what_;
  node::Waiter* waiter_;
  bool armed_ = false;
  bool left_ = false;
};

/// A sleep that ends by itself, because memory that becomes free rings nobody. (A rank gets here
/// when its short messages lie unread, a million others do, or the segment is full.)
void sleep_for_memory(Rank& rank, Awaited& what, node::Waiter& waiter, std::uint64_t nanoseconds) {
  // Not all of one length: ranks that lack memory would wake together each time, and none would
  // find that nobody else is awake.
  constexpr std::uint64_t spread = 0x9e3779b97f4a7c15u;
  const std::uint64_t longest_ns = rank.nap_ns + (now_ns() * spread >> 32) % (rank.nap_ns / 2);
  const std::uint64_t nap_ns = nanoseconds == 0 ? longest_ns : std::min(nanoseconds, longest_ns);
  {
    OthersTurn turn(rank);
    sleep_until_signalled_or(waiter, nap_ns);
  }
  if (state_of(waiter) == node::Sleep::signalled) {
    return;
  }
  Starvation& starvation = rank.starvation;
  const std::uint64_t sum = sleeps_of_others(rank.world_rank);
  const std::uint64_t now = now_ns();
  if (rank.area->wants_memory.load(std::memory_order_relaxed) == 0) {
    starvation.lacks_ns = 0;
  } else if (starvation.lacks_ns == 0) {
    starvation.lacks_ns = now;
  }
  if (sum == 0 || sum != starvation.sum) {
    starvation.naps = 0;
    starvation.since_ns = now;
    starvation.sum = sum;
    if (starvation.lacks_ns != 0 && now - starvation.lacks_ns >= still_ns && lack_hook != nullptr) {
      lack_hook(rank.world_rank);
    }
  } else if (++starvation.naps >= starved_naps_for_ever &&
             now - starvation.since_ns >= starved_ns_for_ever) {
    const Verdict verdict = look_beside(rank.world_rank, starvation.threads);
    starvation.naps = 0;
    if (verdict == Verdict::quiet) {
      if (now - starvation.since_ns >= still_ns) {
        report_stillness(rank.world_rank);
      }
      return;  // it is as long ago as it was
    }
    if (verdict == Verdict::deadlock && !what.goes_without()) {
      report_deadlock();
    }
    starvation.since_ns = now - starved_ns_for_ever / 2;
  }
}

}  // namespace

// Its `starving` is 0 only when none of its threads naps: else who looks for a deadlock would take
// a nap for a sleep that nothing ends.
void Napper::begins() {
  if (!naps_) {
    naps_ = true;
    rank_.area->nappers.fetch_add(1, std::memory_order_seq_cst);
    if (rank_.area->starving.load(std::memory_order_relaxed) == 0) {
      rank_.area->starving.store(++rank_.starvation.count, std::memory_order_seq_cst);
    }
  }
}

void Napper::ends() {
  if (naps_) {
    naps_ = false;
    rank_.area->nappers.fetch_sub(1, std::memory_order_seq_cst);
    end_of_starvation(rank_);
  }
}

void end_of_starvation(Rank& rank) {
  if (rank.area->starving.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    const bool others_nap = rank.area->nappers.load(std::memory_order_relaxed) != 0;
    rank.area->starving.store(others_nap ? ++rank.starvation.count : 0, std::memory_order_seq_cst);
    rank.starvation.sum = 0;
    rank.starvation.lacks_ns = 0;
  }
}

Woken park(Rank& rank, Awaited& what, std::uint64_t nanoseconds, Napper& napper) {
  node::Mailbox& box = rank.area->mailbox;
  node::Sleep was;
  Woken woken;
  {
    SleepingPlace place(rank, what);
    place.arm();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (what.progress()) {
      end_of_starvation(rank);
    }
    if (!what.ready()) {
      what.about_to_sleep();
      node::Account& account = rank.area->account;
      account.parks.store(account.parks.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
      if (rank.starving) [[unlikely]] {
        napper.begins();
        sleep_for_memory(rank, what, place.waiter(), nanoseconds);
      } else {
        napper.ends();
        OthersTurn turn(rank);
        if (nanoseconds == 0) {
          sleep_until_signalled(place.waiter());
        } else {
          sleep_until_signalled_or(place.waiter(), nanoseconds);
        }
      }
    }
    was = place.leave();
    woken.signalled_at = place.waiter().signalled_at.load(std::memory_order_relaxed);
  }
  woken.signalled = was == node::Sleep::signalled;
  // Whoever rings for any work rings the first of the list: what was pushed there is moved by us,
  // even if what we wait for is here, and those it completes are signalled. What goes on in the
  // background is handed over before we sleep again or leave MPI (coll/schedule/progress.h).
  if (box.sleepers.load(std::memory_order_relaxed) != 0 ||
      (woken.signalled && rank.has_background())) {
    woken.moved = what.progress();
  }
  return woken;
}

}  // namespace meantime::wait
