#include "wait/test_calls.h"

#include <utility>

#include "base/heuristics.h"
#include "deadlock/test_loop_note.h"
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
  Napping(Rank& rank, TestLoop& loop) : rank_(rank), loop_(loop) {
    rank_.area->napping.fetch_add(1, std::memory_order_seq_cst);
    loop_.napping = true;
  }
  ~Napping() {
    loop_.napping = false;
    rank_.area->napping.fetch_sub(1, std::memory_order_seq_cst);
  }
  Napping(const Napping&) = delete;
  Napping& operator=(const Napping&) = delete;

 private:
  Rank& rank_;
  TestLoop& loop_;
};

void nap(Rank& rank, TestLoop& loop, Awaited& what, std::uint64_t nanoseconds) {
  const ranks::Stopped clocks_stopped;
  Record record(rank, what, test_loop_since_ns(rank, loop.in_vain_so_far(), loop.since_ns()));
  Consultation consultation(rank, record);
  if (!record.policy().sleeps() ||
      (consultation.has_advisor() &&
       consultation.next(loop.in_vain_so_far(), Step::park) != Step::park)) {
    return;
  }
  const Napping napping(rank, loop);
  record.enter(ledger::Activity::sleep);
  ranks::suspends_with(ranks::Eagerness::sleeps);
  Napper napper(rank);
  park(rank, what, nanoseconds, napper);
  if (rank.area->mailbox.sleepers.load(std::memory_order_relaxed) != 0) {
    what.about_to_sleep();  // it may have been signalled for the others, and leaves MPI
  }
}

TestLoop& own_test_loop(Rank& rank) {
  return rank.test_loops.own(rank.lock.enabled());
}

/// Tests in vain after which the core is given away. Alone on its core a rank may test as often as
/// it likes; in a crowd every fruitless test keeps somebody from doing what it tests for.
constexpr std::uint32_t tests_a_turn = 1000;
constexpr std::uint32_t tests_a_turn_in_crowd = 4;
constexpr std::uint32_t tests_a_turn_of_thread_rank = 1;

void give_way_now_and_then(Rank& rank, std::uint32_t tests) {
  const std::uint32_t patience = !uses(Heuristic::test_yields) ? tests_a_turn
                                 : policy().crowded            ? tests_a_turn_in_crowd
                                 : rank.fiber != nullptr       ? tests_a_turn_of_thread_rank
                                                               : tests_a_turn;
  if (tests % patience == 0) {
    give_way(rank);
  }
}

}  // namespace

TestLoop* fruitless_test(std::uintptr_t about) {
  Rank& rank = self();
  TestLoop& loop = own_test_loop(rank);
  const std::uint32_t number = loop.in_vain();
  note_test_in_vain(rank, number);
  const bool long_series = loop.long_series(rank.policy) && rank.policy.sleeps();
  noted_entry.wanted = long_series ? NotedEntry::calls : 0;
  // Not of a call in a user's function that the nap of another one called.
  if (long_series && !loop.napping &&
      loop.goes_on(rank.policy, now_ns(), about, std::exchange(noted_entry.at_ns, 0))) {
    return &loop;
  }
  give_way_now_and_then(rank, number);
  if (long_series) {
    loop.ends(now_ns());
  }
  return nullptr;
}

void test_may_last(TestLoop& loop, Awaited& what, std::size_t things, bool changed) {
  Rank& rank = self();
  WatchedThings& watched = *loop.watched;
  const std::uint64_t time = loop.nap_ns(rank.policy, things, watched.size(), changed);
  if (time == 0 || watched.keeps_awake()) {
    give_way_now_and_then(rank, loop.in_vain_so_far());
    loop.ends(now_ns());
  } else if (watched.forget_what_is_there()) {
    loop.round_begins();
    loop.ends(now_ns());
  } else {
    const std::uint64_t began = now_ns();
    nap(rank, loop, what, time);
    const std::uint64_t now = now_ns();
    loop.ends(now, now - began);
    note_nap(rank, loop.in_vain_so_far(), now);
  }
}

void fruitful_test() {
  Rank& rank = self();
  TestLoop& loop = own_test_loop(rank);
  note_test_found(rank, loop.in_vain_so_far());
  loop.found();
  noted_entry = {};
}

void test_of_nothing() {
  Rank& rank = self();
  TestLoop& loop = own_test_loop(rank);
  if (loop.long_series(rank.policy) && rank.policy.sleeps()) {
    loop.goes_on(rank.policy, now_ns(), 0, std::exchange(noted_entry.at_ns, 0));
    loop.ends(now_ns());
  }
}

}  // namespace meantime::wait
