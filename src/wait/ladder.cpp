#include "wait/ladder.h"

#include <sched.h>

#include <algorithm>
#include <type_traits>

#include "base/clock.h"
#include "base/heuristics.h"
#include "base/pause.h"
#include "policy/policy.h"
#include "rank/clocks.h"
#include "scheduling/worker.h"
#include "wait/give_way.h"
#include "wait/others_turn.h"

namespace meantime::wait {
namespace {

// --- How often. (The policy has the rest: presets.h, policy.h.)

/// Looks before a wait is worth a clock: half a microsecond to two, by what a pause takes.
constexpr int quick_looks = 32;
/// … where ranks share cores: the sooner this core does something else, the better. (Two ranks on
/// one, 8 bytes: 0.98 us, with 4 looks 1.18: a pause takes as long as a small message.)
constexpr int quick_looks_in_crowd = 1;
/// After each look of a thread rank all others of its worker that can run have a turn, and most of
/// them look, too: so many together, but a few rounds. (64 of them on 2 CPUs, CPU time of 8000
/// barriers: 0.28 s with one round, 0.08 with 3, 4, 6 and 32. 4 nodes of 16, where each wait is
/// longer: 35 us a barrier and node with 4, 55 with 6, 105 with 32.)
constexpr int fewest_rounds = 4;
/// Between two looks at the clock; and a rank's other threads come into MPI as often.
constexpr std::uint32_t turns_a_look = 64;
/// Less is left to sleep than a sleep takes.
constexpr std::uint64_t shortest_timer_ns = 5'000;

}  // namespace

// --- The quick rungs

bool Look::is_due(Wait& wait) {
  return wait.looks_left != 0;
}

void Look::step(Wait& wait) {
  --wait.looks_left;
  if (wait.rank.fiber != nullptr) {
    if (!ranks::yield()) {
      pause();
    }
  } else if (wait.turns != 0) {
    pause();
  }
}

namespace {

static_assert(std::extent_v<decltype(Rank::yielding)> == kinds);

/// Where ranks share cores, by their number or as it turned out; unless somebody wants to be asked
/// about that, too.
bool begins_with_yields(const Rank& rank, Kind kind) {
  if (!uses(Heuristic::yields)) {
    return false;
  }
  if (rank.advisor != nullptr && !rank.advisor->leaves_shared_cores_alone()) [[unlikely]] {
    return false;
  }
  return rank.policy.gives_way || (kind == Kind::gate && rank.policy.gives_way_at_gates) ||
         (rank.policy.prediction == Prediction::patience && rank.experience->contention.shared());
}

void let_any_thread_run(Rank& rank) {
  OthersTurn turn(rank);
  sched_yield();
}

}  // namespace

bool GiveWay::is_due(Wait& wait) {
  const Kind kind = wait.what.kind();
  return begins_with_yields(wait.rank, kind) &&
         wait.yields.another(wait.rank.yielding[static_cast<int>(kind)]);
}

void GiveWay::step(Wait& wait) {
  let_any_thread_run(wait.rank);
}

// --- The rungs of a long wait

bool Threads::is_due(LongWait& wait) {
  return wait.rank.lock.enabled() && wait.turns % turns_a_look == 0 && wait.turns != 0;
}

void Threads::step(LongWait& wait) {
  let_any_thread_run(wait.rank);
}

bool Neighbours::is_due(LongWait& wait) {
  return wait.neighbours && wait.named != Step::park;
}

void Neighbours::step(LongWait& wait) {
  if (ranks::yield() && wait.turns % Record::turns_a_sample == 0) {
    wait.record.turn_begins();
  }
}

bool Timer::is_due(LongWait& wait) {
  return wait.named == Step::park && !wait.neighbours && !wait.consultation.is_advised() &&
         (wait.timer || wait.record.plan().second.sleep_until_ns != 0);
}

namespace {

/// The sooner of two ends of a sleep; 0: it has none.
std::uint64_t sooner(std::uint64_t one, std::uint64_t other) {
  return one == 0 ? other : other == 0 ? one : std::min(one, other);
}

}  // namespace

void Timer::step(LongWait& wait) {
  Record& record = wait.record;
  if (!wait.timer) {
    record.expects_it_later();
  }
  const std::uint64_t until = record.plan().sleep_until_ns;
  const std::uint64_t waited = record.waited_ns();
  wait.timer = false;
  if (waited + shortest_timer_ns >= until) {
    wait.begins_anew();
    return;
  }
  const std::uint64_t longest = sooner(until - waited, wait.consultation.longest_sleep_ns());
  wait.timer = longest < until - waited;  // the advisor is asked, then it sleeps for the rest
  const Woken woken = wait.sleep(longest);
  record.outcome.woke_ns = wait.waited_ns;
  // The timers that are latest are overtaken by the message.
  const bool was_due = !woken.signalled || record.outcome.came_ns > until;
  if (wait.rank.fiber == nullptr && !wait.timer && was_due && wait.waited_ns > until) {
    wait.rank.experience->lateness.learn(wait.waited_ns - until);
  }
}

bool Poll::is_due(LongWait& wait) {
  return wait.named == Step::poll;
}

void Poll::step(LongWait& wait) {
  if (wait.turns != 0 && (wait.rank.fiber == nullptr || !ranks::yield())) {
    pause();
  }
}

bool Yield::is_due(LongWait& wait) {
  return wait.named == Step::yield;
}

void Yield::step(LongWait& wait) {
  give_core_away(wait.rank);
}

namespace {

/// Until when a program's interpreter is to be asked where this wait is.
std::uint64_t until_place_ns(Record& record, std::uint64_t waited_ns) {
  if (!record.has_no_location()) {
    return 0;
  }
  if (waited_ns < location_after_ns) {
    return location_after_ns;
  }
  record.note_place();
  return 0;
}

}  // namespace

void Park::step(LongWait& wait) {
  Record& record = wait.record;
  const Policy& policy = record.policy();
  const std::uint64_t waited = record.waited_ns();
  record.outcome.in_vain = !wait.neighbours && record.plan().poll_until_ns != 0;
  const bool ends_by_itself = policy.timed && waited < longest_without_sleep_ns;
  std::uint64_t longest = ends_by_itself ? policy.knobs.timeout_us * 1000 : 0;
  longest = sooner(longest, wait.consultation.longest_sleep_ns());
  wait.sleep(sooner(longest, until_place_ns(record, waited)));
}

// --- A wait

int quick_turns() {
  return policy().crowded && uses(Heuristic::crowd_looks) ? quick_looks_in_crowd : quick_looks;
}

namespace {

int looks_of(const Rank& rank, const Awaited& what) {
  return rank.fiber != nullptr
             ? std::max(fewest_rounds, quick_looks / (ranks::runnable() * what.cost_of_look()))
             : std::max(1, quick_turns() / what.cost_of_look());
}

/// Its stack is its own, so that of ranks that take turns in short waits stays in the cache.
[[gnu::noinline]] void go_on(Rank& rank, Awaited& what, Progressing& progressing) {
  LongWait wait(rank, what, progressing);
  climb<Threads, Neighbours, Timer, Poll, Yield, Park>(wait);
}

}  // namespace

void until(Awaited& what) {
  if (what.ready()) {
    return;
  }
  Rank& rank = self();
  node::Mailbox& box = rank.area->mailbox;
  const ranks::Stopped clocks_stopped;
  box.pollers.store(1, std::memory_order_relaxed);
  Progressing progressing(rank);
  if (Wait wait(rank, what, looks_of(rank, what)); climb<Look, GiveWay>(wait)) {
    wait.was_short();
  } else {
    go_on(rank, what, progressing);
  }
  progressing.go();
  if (box.sleepers.load(std::memory_order_relaxed) != 0) {
    what.progress();
    what.about_to_sleep();  // the others were not signalled: this one was here
  }
  box.pollers.store(0, std::memory_order_relaxed);
}

bool is_over_soon(Awaited& what) {
  Wait wait(self(), what, looks_of(self(), what));
  if (!climb<Look>(wait)) {
    return false;
  }
  wait.was_short();
  return true;
}

Wait::Wait(Rank& rank, Awaited& what, int looks)
    : rank(rank), what(what), looks_left(looks), short_wait_(rank, &what) {}

void Wait::was_short() {
  using ledger::Activity;
  if (!yields.have_ended_it()) {
    short_wait_.over(rank.fiber != nullptr ? Activity::help : Activity::poll);
    return;
  }
  ledger::Wait wait;
  wait.ns = yields.end();
  wait.spent_ns[static_cast<int>(Activity::yield)] = wait.ns;
  wait.held_up_ns = wait.ns > ledger::lone_yield_ns ? wait.ns - ledger::lone_yield_ns : 0;
  ledger::charge(*rank.area, rank.experience->here(rank).account, wait);
}

LongWait::LongWait(Rank& rank, Awaited& what, Progressing& progressing)
    : rank(rank),
      what(what),
      record(rank, what),
      consultation(rank, record),
      timer(record.plan().sleep_until_ns != 0),
      progressing_(progressing),
      napper_(rank) {
  ask();
}

LongWait::~LongWait() {
  end_of_starvation(rank);
}

bool LongWait::is_over() {
  if (what.ready()) {
    return true;
  }
  if (what.progress()) {
    moved();
    return what.ready();
  }
  was_in_vain();
  return false;
}

void LongWait::moved() {
  end_of_starvation(rank);
  waited_ns = record.moved();
  signalled_ = false;
  turns = 0;
  named = Step::poll;
}

void LongWait::was_in_vain() {
  if (signalled_) [[unlikely]] {
    signalled_ = false;
    ledger::add(rank.area->account.signalled_in_vain, std::uint64_t{1});
  }
  if (++turns % turns_a_look == 0) {
    waited_ns = record.look();
    record.outcome.signalled = false;  // whatever rang did not bring what we wait for
  }
  record.turn_ends();
  ask();
}

/// What the policy names for the next turn, or whoever is asked in its place. While others of the
/// worker can run, whom the policy lets sleep at all sleeps, rather than to keep them from the
/// core.
void LongWait::ask() {
  neighbours = ranks::others_runnable();
  const Policy& policy = record.policy();
  const Plan& plan = record.plan();
  const bool parks = neighbours ? policy.sleeps() : timer && turns >= policy.tries_poll(plan);
  const std::uint64_t waited = plan.sleep_until_ns == 0 ? record.lull_ns(waited_ns) : waited_ns;
  named = parks ? Step::park : policy.next(turns, waited, plan);
  if (consultation.has_advisor()) {
    named = consultation.next(turns, named);
  }
}

namespace {

/// What a worker with nothing to run does for a rank that sleeps by this policy.
ranks::Eagerness eagerness_of(const Policy& policy, bool is_advised, std::uint64_t waited_ns) {
  if (is_advised || waited_ns > longest_without_sleep_ns) {
    return ranks::Eagerness::sleeps;
  }
  return policy.learns_patience() ? ranks::Eagerness::learns : ranks::Eagerness::looks;
}

}  // namespace

Woken LongWait::sleep(std::uint64_t nanoseconds) {
  ranks::suspends_with(eagerness_of(record.policy(), consultation.is_advised(), waited_ns));
  progressing_.go();
  const Woken woken = park(rank, what, nanoseconds, napper_);  // which looks before it sleeps
  progressing_.come();
  record.woken(woken.signalled, woken.signalled_at);
  signalled_ = woken.signalled && !woken.moved;
  begins_anew();
  return woken;
}

void LongWait::begins_anew() {
  consultation.slept();
  waited_ns = record.waited_ns();
  turns = 0;
}

}  // namespace meantime::wait
