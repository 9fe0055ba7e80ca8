// One wait that turned out not to be over at once (shorter ones: short_wait.h): what the rank's
// report says of it, what it goes by, and where its time goes. Several threads of a rank may wait
// at a time: the report is about the one that began last.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "deadlock/location_hook.h"
#include "ledger/accounts.h"
#include "policy/policy.h"
#include "wait/experience.h"
#include "wait/wait.h"

namespace meantime {
struct Rank;
}

namespace meantime::wait {

/// On the waiting thread's stack. Rank's lock held when it is made and when it ends.
class Record {
 public:
  Record(Rank& rank, const Awaited& what);
  /// Of a look that naps: how long it takes says nothing of the next wait. Reports say since when
  /// the program has been testing.
  Record(Rank& rank, const Awaited& what, std::uint64_t test_loop_since_ns);
  /// Charges the wait to its call site, and learns from it.
  ~Record();
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  /// What this wait goes by: the communicator's policy, or else the rank's.
  const Policy& policy() const { return policy_; }
  const Plan& plan() const { return plan_; }
  const Situation& situation() const { return situation_; }
  Channel channel() const { return what_.channel(); }
  std::uint64_t last_wait_ns() const { return site_.last_wait_ns; }
  std::uint64_t last_busy_ns() const { return site_.last_busy_ns; }
  /// There are more ranks than cores, or others want this one's.
  bool shared_cores() const { return policy_.crowded || experience_.contention.shared(); }

  /// What the waiter does from now on. Looks at the clock only if that is something else. `yield`:
  /// once for each.
  void enter(ledger::Activity activity) {
    if (activity != activity_) {
      change_to(activity);
    }
    yields_ += activity == ledger::Activity::yield ? 1 : 0;
  }
  /// A thread rank whose neighbours run in turn: one of its own turns in `turns_a_sample` is timed,
  /// so that what ranks that all wait spend on looking is not taken for others' work.
  static constexpr std::uint32_t turns_a_sample = 64;
  void turn_begins() { turn_began_ = now_ns(); }
  void turn_ends() {
    if (cpu_mark_ns_ != 0) [[unlikely]] {
      may_leave_carrier();
    }
    if (turn_began_ != 0) {
      const std::uint64_t spent = now_ns() - turn_began_;
      looking_ns_ += spent < Contention::hold_up_ns ? turns_a_sample * spent : 0;
      turn_began_ = 0;
    }
  }
  std::uint64_t waited_ns() const;
  /// Of these `waited_ns` it polled or yielded.
  std::uint64_t busy_ns(std::uint64_t waited_ns) const { return awake_ns(began_ + waited_ns); }
  /// Now and then while the waiter is awake: the same, and notices if the core was gone meanwhile.
  std::uint64_t look();
  /// Something moved, since the clock was looked at last: that was work, and ends a lull. Returns
  /// as `look`.
  std::uint64_t moved();
  /// Of a wait of `waited_ns`: for so long nothing has moved. (A wait for a large message is mostly
  /// its copy, and the next piece of it as likely to come soon as a short message.)
  std::uint64_t lull_ns(std::uint64_t waited_ns) const {
    const std::uint64_t before = lull_began_ - began_;
    return waited_ns > before ? waited_ns - before : 0;
  }
  /// Whether the interpreter of the program is to be asked where this wait is.
  bool has_no_location() const { return location_hook != nullptr && !has_location_; }
  /// Asks it.
  void note_place();
  /// It has polled in vain in the plan's first window, and goes by the second one.
  void expects_it_later() {
    plan_.sleep_until_ns = plan_.second.sleep_until_ns;
    plan_.poll_until_ns = plan_.second.poll_until_ns;
    plan_.second = {};
  }
  /// A sleep is over. `signalled_at`: node::Waiter's.
  void woken(bool signalled, std::uint32_t signalled_at);

  Outcome outcome;  ///< but how long it took: the climb knows how the wait goes

 private:
  Record(Rank& rank, const Awaited& what, bool learns, std::uint64_t shown_since_ns);
  void change_to(ledger::Activity activity);
  void lull_ends(std::uint64_t at);
  void take_cpu_time(std::uint64_t now);
  void may_leave_carrier();
  void settle(std::uint64_t now);
  std::uint64_t awake_ns(std::uint64_t now) const;
  void report() const;

  Rank& rank_;
  const Awaited& what_;
  Situation situation_;
  Policy policy_;  ///< a copy: another thread may change the rank's or the communicator's
  Experience& experience_;
  Site& site_;
  Plan plan_;
  ledger::Wait wait_;
  std::uint64_t began_;
  std::uint64_t shown_since_;  ///< what reports count from
  std::uint64_t since_;        ///< when the activity began
  std::uint64_t looked_;       ///< when the clock was looked at last
  std::uint64_t lull_began_;   ///< since then nothing has moved
  /// Of a wait that stays awake: CPU time and awake time when it turned out to be a long one. What
  /// of the awake time since is not CPU time, somebody else had the core. Of a thread rank only as
  /// long as it polls: then it is alone on its carrier, whose CPU time that is.
  std::uint64_t cpu_mark_ns_ = 0;
  std::uint64_t awake_mark_ns_ = 0;
  bool gone_ = false;             ///< the clock was seen to have gone on for long between two looks
  std::uint64_t turn_began_ = 0;  ///< 0: this turn is not timed
  std::uint64_t looking_ns_ = 0;  ///< in its own turns, since the activity began
  ledger::Activity activity_ = ledger::Activity::poll;
  std::uint64_t yields_ = 0;   ///< since the activity began
  bool idle_ = true;           ///< nothing moved since
  bool has_location_ = false;  ///< its interpreter has been asked …
  std::string location_;       ///< … and what it said
  const bool learns_;
  Record* earlier_;  ///< of another thread of this rank, or of a call around this one
};

}  // namespace meantime::wait
