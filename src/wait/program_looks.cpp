#include "wait/program_looks.h"

#include <utility>

#include "base/heuristics.h"
#include "deadlock/asking.h"
#include "rank/clocks.h"
#include "rank/rank.h"
#include "scheduling/worker.h"
#include "wait/advisor.h"
#include "wait/give_way.h"
#include "wait/park.h"
#include "wait/record.h"

namespace meantime::wait {

constinit thread_local NotedEntry noted_entry;

namespace {

// A napping rank is no sleeper for the search for deadlocks: nobody knows what its program will do
// next. `napping` is set before it counts itself in; if it is reset while a ringer has not counted
// it out yet, that ringer is awake. (A user's operator may end the thread in its nap.)
class Napping {
 public:
  Napping(Rank& rank, Looks& looks) : rank_(rank), looks_(looks) {
    rank_.area->napping.fetch_add(1, std::memory_order_seq_cst);
    looks_.napping = true;
  }
  ~Napping() {
    end_of_starvation(rank_);  // (if it was one, it naps again only when that is over)
    looks_.napping = false;
    rank_.area->napping.fetch_sub(1, std::memory_order_seq_cst);
  }
  Napping(const Napping&) = delete;
  Napping& operator=(const Napping&) = delete;

 private:
  Rank& rank_;
  Looks& looks_;
};

void nap(Rank& rank, Looks& looks, Awaited& what, std::uint64_t nanoseconds) {
  const ranks::Stopped clocks_stopped;
  Record record(rank, what, asking_since_ns(rank, looks.in_vain_so_far(), looks.asking_since_ns()));
  Consultation consultation(rank, record);
  if (!record.policy().sleeps() ||
      (consultation.has_advisor() &&
       consultation.next(looks.in_vain_so_far(), Step::park) != Step::park)) {
    return;
  }
  const Napping napping(rank, looks);
  record.enter(ledger::Activity::sleep);
  ranks::suspends_with(ranks::Eagerness::sleeps);
  park(rank, what, nanoseconds);
  if (rank.area->mailbox.sleepers.load(std::memory_order_relaxed) != 0) {
    what.about_to_sleep();  // it may have been rung for the others, and leaves MPI
  }
}

Looks& own_looks(Rank& rank) {
  return rank.looks.own(rank.lock.enabled());
}

/// Looks in vain after which the core is given away. Alone on its core a rank may look as often as
/// it likes; in a crowd every fruitless look keeps somebody from doing what it looks for.
constexpr std::uint32_t looks_a_turn = 1000;
constexpr std::uint32_t looks_a_turn_in_crowd = 4;
constexpr std::uint32_t looks_a_turn_of_thread_rank = 1;

void give_way_now_and_then(Rank& rank, std::uint32_t looks) {
  const std::uint32_t patience = !uses(Heuristic::look_yields) ? looks_a_turn
                                 : policy().crowded            ? looks_a_turn_in_crowd
                                 : rank.fiber != nullptr       ? looks_a_turn_of_thread_rank
                                                               : looks_a_turn;
  if (looks % patience == 0) {
    give_way(rank);
  }
}

}  // namespace

Looks* fruitless_look(std::uintptr_t about) {
  Rank& rank = self();
  Looks& looks = own_looks(rank);
  const std::uint32_t number = looks.in_vain();
  note_look_in_vain(rank, number);
  const bool long_series = looks.long_series(rank.policy) && rank.policy.sleeps();
  noted_entry.wanted = long_series ? NotedEntry::calls : 0;
  // Not of a call in a user's function that the nap of another one called.
  if (long_series && !looks.napping &&
      looks.goes_on(rank.policy, now_ns(), about, std::exchange(noted_entry.at_ns, 0))) {
    return &looks;
  }
  give_way_now_and_then(rank, number);
  if (long_series) {
    looks.ends(now_ns());
  }
  return nullptr;
}

void look_may_last(Looks& looks, Awaited& what, std::size_t things, bool changed) {
  Rank& rank = self();
  SoughtThings& sought = *looks.sought;
  const std::uint64_t time = looks.nap_ns(rank.policy, things, sought.size(), changed);
  if (time == 0 || sought.keeps_awake()) {
    give_way_now_and_then(rank, looks.in_vain_so_far());
    looks.ends(now_ns());
  } else if (sought.forget_what_is_there()) {
    looks.round_begins();
    looks.ends(now_ns());
  } else {
    const std::uint64_t began = now_ns();
    nap(rank, looks, what, time);
    const std::uint64_t now = now_ns();
    looks.ends(now, now - began);
    note_nap(rank, looks.in_vain_so_far(), now);
  }
}

void fruitful_look() {
  Rank& rank = self();
  Looks& looks = own_looks(rank);
  note_look_found(rank, looks.in_vain_so_far());
  looks.found();
  noted_entry = {};
}

void look_for_nothing() {
  Rank& rank = self();
  Looks& looks = own_looks(rank);
  if (looks.long_series(rank.policy) && rank.policy.sleeps()) {
    looks.goes_on(rank.policy, now_ns(), 0, std::exchange(noted_entry.at_ns, 0));
    looks.ends(now_ns());
  }
}

}  // namespace meantime::wait
