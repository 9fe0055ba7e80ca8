#include "wait/record.h"

#include <algorithm>

#include "base/clock.h"
#include "node/words.h"
#include "rank/rank.h"
#include "scheduling/worker.h"

namespace meantime::wait {
namespace {

// From here on the two system calls that it takes to know the CPU time do not matter.
constexpr std::uint64_t long_wait_ns = 20'000;

/// Who is told by experience to poll, and not only shortly before and after a message is due.
bool polls_for_long(const Policy& policy) {
  return policy.prediction == Prediction::patience || policy.prediction == Prediction::ade;
}

}  // namespace

Record::Record(Rank& rank, const Awaited& what) : Record(rank, what, true, 0) {}

Record::Record(Rank& rank, const Awaited& what, std::uint64_t test_loop_since_ns)
    : Record(rank, what, false, test_loop_since_ns) {}

Record::Record(Rank& rank, const Awaited& what, bool learns, std::uint64_t shown_since_ns)
    : rank_(rank),
      what_(what),
      experience_(*rank.experience),
      site_(experience_.here(rank)),
      began_(now_ns()),
      shown_since_(shown_since_ns != 0 ? shown_since_ns : began_),
      since_(began_),
      looked_(began_),
      lull_began_(began_),
      learns_(learns),
      earlier_(rank.waiting) {
  situation_.call = rank.call.load(std::memory_order_relaxed);
  situation_.call_site = rank.call_site.load(std::memory_order_relaxed);
  what.describe(situation_);
  experience_.contention.wait_begins();
  if (situation_.policy != nullptr) {
    policy_ = *situation_.policy;
  } else if (polls_for_long(rank.policy) && experience_.contention.shared()) {
    policy_ = make_policy(rank.policy_settings, true);
  } else {
    policy_ = rank.policy;
  }
  // A few looks that cost so much are too many, unless somebody has said how many.
  if (policy_.tries_poll_of_long_waits < policy_.knobs.tries_poll) {
    policy_.tries_poll_of_long_waits = std::max<std::uint64_t>(
        1, policy_.tries_poll_of_long_waits / static_cast<std::uint64_t>(what.cost_of_look()));
  }
  if (learns_) {
    const bool takes_turns = rank.fiber != nullptr;
    plan_ = plan_of(policy_, site_, takes_turns ? ranks::lateness() : experience_.lateness,
                    takes_turns);
  }
  rank.waiting = this;
  report();
}

Record::~Record() {
  Record** place = &rank_.waiting;
  while (*place != this) {
    place = &(*place)->earlier_;
  }
  *place = earlier_;
  if (rank_.waiting != nullptr) {
    rank_.waiting->report();
  } else {
    rank_.area->report.state.store(static_cast<std::uint32_t>(node::RankState::running),
                                   std::memory_order_relaxed);
  }
  const std::uint64_t now = now_ns();
  settle(now);
  take_cpu_time(now);
  wait_.ns = now - began_;
  ledger::SiteAccount* const of_place =
      location_.empty() ? nullptr
                        : ledger::account_of_location(*rank_.area, location_, situation_.call);
  ledger::charge(*rank_.area, of_place != nullptr ? of_place : site_.account, wait_);
  if (learns_) {
    outcome.waited_ns = wait_.ns;
    lull_ends(now);
    site_.last_busy_ns = awake_ns(since_);
    learn(policy_, site_, plan_, outcome);
  }
}

/// The time since the activity began is its own. Who yields lets others have the core; where the
/// kernel is not asked for the CPU time, that is what a lone yield would not have taken.
void Record::settle(std::uint64_t now) {
  const std::uint64_t spent = now - since_;
  const std::uint64_t looking =
      activity_ == ledger::Activity::help ? std::min(looking_ns_, spent) : 0;
  wait_.spent_ns[static_cast<int>(activity_)] += spent - looking;
  wait_.spent_ns[static_cast<int>(ledger::Activity::poll)] += looking;
  looking_ns_ = 0;
  if (activity_ == ledger::Activity::yield && cpu_mark_ns_ == 0) {
    const std::uint64_t own = yields_ * ledger::lone_yield_ns;
    wait_.held_up_ns += spent > own ? spent - own : 0;
  }
  since_ = now;
  yields_ = 0;
}

void Record::take_cpu_time(std::uint64_t now) {
  // Who has seen the clock go on without a gap has had its core: a system call less between the
  // message and the program. (Of a thread rank others may have had a part of the wait.)
  const bool never_gone = rank_.fiber == nullptr && !gone_ && now - looked_ < ledger::gone_ns;
  if (cpu_mark_ns_ != 0 && !never_gone) {
    const std::uint64_t awake = awake_ns(now) - awake_mark_ns_;
    const std::uint64_t cpu = thread_cpu_ns() - cpu_mark_ns_;
    wait_.held_up_ns += awake > cpu ? awake - cpu : 0;
  }
  cpu_mark_ns_ = 0;
}

void Record::may_leave_carrier() {
  if (rank_.fiber != nullptr && ranks::others_runnable()) {
    take_cpu_time(now_ns());
  }
}

void Record::change_to(ledger::Activity activity) {
  const std::uint64_t now = now_ns();
  if (activity_ == ledger::Activity::yield && !policy_.crowded &&
      now - since_ >= Contention::hold_up_ns) {
    experience_.contention.held_up();  // we let somebody have the core, and he took it
  }
  settle(now);
  if (rank_.fiber != nullptr) {
    if (activity == ledger::Activity::help) {
      cpu_mark_ns_ = 0;  // others have run, and this may be another carrier
    }
    take_cpu_time(now);
  }
  activity_ = activity;
  looked_ = now;
  idle_ = true;
}

void Record::woken(bool signalled, std::uint32_t signalled_at) {
  enter(ledger::Activity::poll);
  outcome.signalled = signalled;
  if (signalled && signalled_at != 0 && policy_.prediction == Prediction::timer) {
    const std::uint64_t now = now_ns();
    const std::uint32_t ago = static_cast<std::uint32_t>(now) - signalled_at;
    outcome.came_ns = now - began_ > ago ? now - began_ - ago : 0;
  }
}

std::uint64_t Record::waited_ns() const {
  return now_ns() - began_;
}

std::uint64_t Record::awake_ns(std::uint64_t now) const {
  using ledger::Activity;
  const bool awake = activity_ == Activity::poll || activity_ == Activity::yield;
  return wait_.spent_ns[static_cast<int>(Activity::poll)] +
         wait_.spent_ns[static_cast<int>(Activity::yield)] + (awake ? now - since_ : 0);
}

std::uint64_t Record::look() {
  const std::uint64_t now = now_ns();
  // Of what came before the CPU time is looked at only a gap is known.
  if (rank_.fiber != nullptr && cpu_mark_ns_ == 0 && idle_ && activity_ == ledger::Activity::poll &&
      now - looked_ >= ledger::gone_ns) [[unlikely]] {
    wait_.held_up_ns += now - looked_;
  }
  // Where a timer is, every bit of latency counts, and the core is ours.
  const bool awake = rank_.fiber == nullptr ? activity_ != ledger::Activity::sleep
                                            : activity_ == ledger::Activity::poll;
  if (cpu_mark_ns_ == 0 && now - began_ >= long_wait_ns && plan_.sleep_until_ns == 0 && awake) {
    settle(now);
    cpu_mark_ns_ = thread_cpu_ns();
    awake_mark_ns_ = awake_ns(now);
  }
  if (now - looked_ >= Contention::hold_up_ns && idle_ && activity_ == ledger::Activity::poll)
      [[unlikely]] {
    experience_.contention.held_up();
  }
  gone_ = gone_ || now - looked_ >= ledger::gone_ns;
  looked_ = now;
  idle_ = true;
  return now - began_;
}

void Record::lull_ends(std::uint64_t at) {
  outcome.longest_lull_ns = std::max(outcome.longest_lull_ns, at - std::min(at, lull_began_));
}

std::uint64_t Record::moved() {
  const std::uint64_t now = now_ns();
  lull_ends(looked_);
  lull_began_ = now;
  gone_ = gone_ || now - looked_ >= ledger::gone_ns;
  looked_ = now;
  idle_ = false;
  return now - began_;
}

void Record::note_place() {
  has_location_ = true;
  location_ = location_hook();
  node::write_words(rank_.area->report.location, location_);
}

void Record::report() const {
  node::Report& report = rank_.area->report;
  report.call.store(situation_.call, std::memory_order_relaxed);
  report.call_site.store(reinterpret_cast<std::uint64_t>(situation_.call_site),
                         std::memory_order_relaxed);
  report.context.store(situation_.context, std::memory_order_relaxed);
  node::write_words(report.name,
                    situation_.name == nullptr ? std::string_view("") : *situation_.name);
  report.location[0].store(0, std::memory_order_relaxed);
  report.peer.store(situation_.peer, std::memory_order_relaxed);
  report.world_peer.store(situation_.world_peer, std::memory_order_relaxed);
  report.tag.store(situation_.tag, std::memory_order_relaxed);
  report.requests.store(situation_.requests, std::memory_order_relaxed);
  report.since_ns.store(shown_since_, std::memory_order_relaxed);
  report.state.store(static_cast<std::uint32_t>(node::RankState::waiting),
                     std::memory_order_release);
}

}  // namespace meantime::wait
