#include <sched.h>

#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "base/pause.h"
#include "rank/clocks.h"
#include "rank/rank.h"
#include "scheduling/worker.h"
#include "sleep/lookers.h"
#include "sleep/park.h"
#include "wait/deadlock/asking.h"
#include "wait/learning/advisor.h"
#include "wait/others_turn.h"
#include "wait/policy.h"
#include "wait/record.h"
#include "wait/rounds.h"
#include "wait/short_wait.h"
#include "wait/wait.h"

namespace meantime::wait {

constinit thread_local NotedEntry noted_entry;

namespace {

/// Gives the core to whoever can use it: another thread rank of this worker, or any thread.
void give_way(Rank& rank) {
  if (rank.fiber != nullptr) {
    if (!ranks::yield()) {
      if (policy().crowded) {
        give_core_to_kernel();
      } else {
        pause();
      }
    }
    return;
  }
  {
    OthersTurn turn(rank);
    sched_yield();
  }
  if (!policy().crowded) {
    rank.spreading.yielded(rank);
  }
}

/// The rung of its own: the policy has said that whoever wants this core may have it, be it another
/// program. (No other rank of the worker is there to run.)
void give_core_away(Rank& rank) {
  if (rank.fiber != nullptr) {
    give_core_to_kernel();
  } else {
    give_way(rank);
  }
}

/// Rounds of its worker's ranks that a thread rank takes part in before it sleeps.
constexpr int most_rounds = 16;

/// How long a sleep of this policy lasts at most; 0: until somebody rings.
std::uint64_t longest_sleep_ns(const Policy& policy, std::uint64_t waited_ns) {
  return policy.timed && waited_ns < longest_without_sleep_ns ? policy.knobs.timeout_us * 1000 : 0;
}

/// Less is left to sleep than a sleep takes.
constexpr std::uint64_t shortest_timer_ns = 5'000;

Woken sleep(Rank& rank, Awaited& what, Looker& looker, std::uint64_t nanoseconds) {
  looker.go();
  const Woken woken = park(rank, what, nanoseconds);  // which looks before it sleeps
  looker.come();
  return woken;
}

/// Sleeps as the policy says, or until shortly before the message is expected. `timer`: that sleep
/// is still to come. `is_advised`: to sleep until somebody rings, whatever is expected.
/// `deadline_ns`: of an advisor that wants to be asked again, from now; 0: it has none.
Woken sleep_for_a_while(Rank& rank, Awaited& what, Record& record, Looker& looker, bool& timer,
                        bool is_advised, std::uint64_t deadline_ns) {
  const Policy& policy = record.policy();
  const Plan& plan = record.plan();
  Woken woken;
  timer = timer && !is_advised;
  if (!timer && !is_advised && plan.second.sleep_until_ns != 0) {
    record.expects_it_later();
    timer = true;
  }
  if (timer) {
    timer = false;
    const std::uint64_t waited = record.waited_ns();
    if (waited + shortest_timer_ns < plan.sleep_until_ns) {
      std::uint64_t longest = plan.sleep_until_ns - waited;
      if (deadline_ns != 0 && deadline_ns < longest) {
        longest = deadline_ns;
        timer = true;  // asks, then sleeps for the rest
      }
      record.enter(ledger::Activity::sleep);
      woken = sleep(rank, what, looker, longest);
      record.woken(woken.rung, woken.rung_at);
      record.outcome.woke_ns = record.waited_ns();
      // The timers that are latest are overtaken by the message.
      const bool was_due = !woken.rung || record.outcome.came_ns > plan.sleep_until_ns;
      if (rank.fiber == nullptr && !timer && was_due &&
          record.outcome.woke_ns > plan.sleep_until_ns) {
        rank.experience->lateness.learn(record.outcome.woke_ns - plan.sleep_until_ns);
      }
    }
    return woken;
  }
  record.outcome.in_vain = plan.poll_until_ns != 0;
  record.enter(ledger::Activity::sleep);
  std::uint64_t longest = policy.timed ? longest_sleep_ns(policy, record.waited_ns()) : 0;
  if (deadline_ns != 0 && (longest == 0 || deadline_ns < longest)) {
    longest = deadline_ns;
  }
  if (record.has_no_place() && (longest == 0 || place_after_ns < longest)) [[unlikely]] {
    if (record.waited_ns() >= place_after_ns) {
      record.note_place();
    } else {
      longest = place_after_ns;
    }
  }
  woken = sleep(rank, what, looker, longest);
  record.woken(woken.rung, woken.rung_at);
  return woken;
}

/// What a worker with nothing to run does for a rank that sleeps by this policy.
ranks::Eagerness eagerness_of(const Policy& policy, const Consultation& consultation,
                              std::uint64_t waited_ns) {
  if (consultation.is_advised() || waited_ns > longest_without_sleep_ns) {
    return ranks::Eagerness::sleeps;
  }
  return policy.learns_patience() ? ranks::Eagerness::learns : ranks::Eagerness::looks;
}

/// A thread rank has let the others of its worker run a few times: whether it goes on so. Whom the
/// policy lets sleep at all sleeps now, rather than to keep the others from the core.
Rung after_rounds(const Policy& policy, Consultation& consultation, std::uint32_t turns,
                  std::uint64_t waited_ns, const Plan& plan) {
  const Rung rung = policy.sleeps() ? Rung::park : policy.next(turns, waited_ns, plan);
  return consultation.has_advisor() ? consultation.next(turns, rung) : rung;
}

void climb(Rank& rank, Awaited& what, Looker& looker) {
  Record record(rank, what);
  const Policy& policy = record.policy();
  const Plan& plan = record.plan();
  Consultation consultation(rank, record);
  bool timer = plan.sleep_until_ns != 0;
  std::uint32_t turns = 0;
  int rounds = 0;
  std::uint64_t waited = 0;
  bool rung = false;  // and has not looked since
  do {
    if (what.progress()) {
      end_of_starvation(rank);
      record.moved();
      turns = 0;
      rung = false;
      continue;
    }
    if (rung) [[unlikely]] {
      rung = false;
      ledger::add(rank.area->account.rung_in_vain, std::uint64_t{1});
    }
    if ((++turns & 63) == 0) {
      waited = record.look();
      record.outcome.rung = false;  // whatever rang did not bring what we wait for
      if (rank.lock.enabled()) {
        // Another thread of this rank may be the one that is waited for.
        OthersTurn turn(rank);
        sched_yield();
      }
    }
    record.turn_ends();
    if (rank.fiber != nullptr && ranks::yield()) {
      record.enter(ledger::Activity::help);
      if (turns % Record::turns_a_sample == 0) {
        record.turn_begins();
      }
      // Its turn came round again. Whoever it waits for has had the core as often as it itself; a
      // few rounds cost less than a sleep and a wake-up, many would keep the others from the core.
      if (++rounds >= most_rounds &&
          after_rounds(policy, consultation, turns, waited, plan) == Rung::park) {
        record.enter(ledger::Activity::sleep);
        ranks::suspends_with(eagerness_of(policy, consultation, waited));
        const Woken woken = sleep(rank, what, looker, 0);
        record.woken(woken.rung, woken.rung_at);
        rung = woken.rung && !woken.moved;
        rounds = 0;
      }
      continue;
    }
    const bool timed_sleep = timer && turns >= policy.tries_poll(plan);
    Rung next = timed_sleep ? Rung::park : policy.next(turns, waited, plan);
    if (consultation.has_advisor()) {
      next = consultation.next(turns, next);
    }
    switch (next) {
      case Rung::poll:
        record.enter(ledger::Activity::poll);
        pause();
        break;
      case Rung::yield:
        record.enter(ledger::Activity::yield);
        give_core_away(rank);
        break;
      case Rung::park: {
        ranks::suspends_with(eagerness_of(policy, consultation, waited));
        const Woken woken =
            sleep_for_a_while(rank, what, record, looker, timer, consultation.is_advised(),
                              consultation.longest_sleep_ns());
        consultation.slept();
        rung = woken.rung && !woken.moved;
        waited = record.waited_ns();
        turns = 0;
        break;
      }
    }
  } while (!what.ready());
  end_of_starvation(rank);
}

static_assert(std::extent_v<decltype(Rank::yielding)> == kinds);

/// Where ranks share cores, by their number or as it turned out; unless somebody wants to be asked
/// about that, too.
bool begins_with_yields(const Rank& rank, Kind kind) {
  if (rank.advisor != nullptr && !rank.advisor->leaves_shared_cores_alone()) [[unlikely]] {
    return false;
  }
  return rank.policy.gives_way || (kind == Kind::gate && rank.policy.gives_way_at_gates) ||
         (rank.policy.prediction == Prediction::patience && rank.experience->surroundings.shared());
}

bool ready_after_yielding(Rank& rank, Awaited& what) {
  ledger::Wait wait;
  const bool ready = rank.yielding[static_cast<int>(what.kind())].until(
      [&rank] {
        OthersTurn turn(rank);
        sched_yield();
      },
      [&what] {
        what.progress();
        return what.ready();
      },
      &wait.ns);
  if (ready) {
    wait.spent_ns[static_cast<int>(ledger::Activity::yield)] = wait.ns;
    wait.held_up_ns = wait.ns > ledger::lone_yield_ns ? wait.ns - ledger::lone_yield_ns : 0;
    ledger::charge(*rank.area, rank.experience->here(rank).account, wait);
  }
  return ready;
}

}  // namespace

int quick_turns() {
  return policy().crowded ? 4 : ranks::others_runnable() ? 1 : 32;
}

namespace {

void go_through(Rank& rank, Awaited& what, Looker& looker) {
  const bool crowded = policy().crowded;
  // A gate is opened by the last of many: the sooner this core does something else, the better.
  const int turns = rank.fiber != nullptr                  ? 0
                    : crowded && what.kind() == Kind::gate ? 1
                                                           : quick_turns();
  ShortWait short_wait(rank, &what);
  if (rank.fiber != nullptr &&
      ready_after_rounds([&what] { return what.ready(); }, [&what] { return what.progress(); })) {
    short_wait.over(ledger::Activity::help);
    return;
  }
  for (int turn = 0; turn < turns; ++turn) {
    if ((what.progress() && what.ready()) || what.ready()) {
      short_wait.over(ledger::Activity::poll);
      return;
    }
    pause();
  }
  if (!begins_with_yields(rank, what.kind()) || !ready_after_yielding(rank, what)) {
    climb(rank, what, looker);
  }
}

}  // namespace

void until(Awaited& what) {
  Rank& rank = self();
  node::Mailbox& box = rank.area->mailbox;
  if (what.ready()) {
    return;
  }
  const ranks::Stopped clocks_stopped;
  box.pollers.store(1, std::memory_order_relaxed);
  Looker looker(rank);
  go_through(rank, what, looker);
  looker.go();
  if (box.sleepers.load(std::memory_order_relaxed) != 0) {
    what.progress();
    what.about_to_sleep();  // the others do not look: they were not rung, because this one was here
  }
  box.pollers.store(0, std::memory_order_relaxed);
}

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
       consultation.next(looks.in_vain_so_far(), Rung::park) != Rung::park)) {
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

/// Alone on its core a rank may look as often as it likes; in a crowd every fruitless look keeps
/// somebody from doing what it looks for.
void give_way_now_and_then(Rank& rank, std::uint32_t looks) {
  const std::uint32_t patience = policy().crowded ? 4 : rank.fiber != nullptr ? 1 : 1000;
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

void give_way() {
  give_way(self());
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
