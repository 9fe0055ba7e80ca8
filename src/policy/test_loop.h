// A test loop: a program that asks again and again whether something is over (Test, Iprobe,
// Parrived) waits, too, only that the turns are its own.
//   test in vain   a call that found nothing
//   series         tests in vain of one thread that follow each other so soon that it does nothing
//                  else
//   pause          from the end of one test to the beginning of the next, or, if nobody has noted
//                  that, to the end of its search: the program's own time. A long one ends the
//                  series, but for a cold one:
//   cold           the first after a nap: core and caches have been somebody else's, so it is long
//                  though the program does nothing in it
//   work           a pause that is too long for a loop around a test, and too short to say so
//   thing          what can be tested for: a request, a message. A test may be for many
//   watched        the things that the tests of a series were for
//   round          so many tests that the program, going from one of these to the next, has tested
//                  for each
//   nap            a test that lasts: it sleeps until any of what is watched is there, and not for
//                  long: the program may test for something else as well that we do not see
// Why no loop that computes is slowed down. A nap needs a whole round without a long pause, so
// wherever in its round a program computes, there is a long pause before each nap. And one round
// has one nap, so what the program does once a round is a nap late, whatever it tests for in
// between.
// A loop of shorter steps (fine tasks with a probe after each) cannot be told from one that waits:
// an interpreter takes as long for the loop itself. Where there has been more of it lately than
// chance makes (an interrupt, a cold cache), all naps of the series together take no more than its
// time awake (with `adaptive`, an eighth of it all). The cold pause is no pause of a round, so the
// work after each nap is seen.
// And who tests a hundred times, then works, is in no series long enough for a nap.
// What a program tests for that we do not see (a flag of another thread or process) is seen late by
// a part of a nap. On a core of its own nobody needs what a nap saves, and a program may do all its
// work by such flags beside a test that is always in vain: there all naps of a series together take
// an eighth of its time.
// Why a nap is not in the way of what is watched. It is for all of it: after a new thing comes a
// round without naps, in which the others of that round join; and what comes during a nap ends it,
// and the next nap is a round away, in which the program finds it.
// Of one thread, the rank's lock held.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/heuristics.h"
#include "policy/policy.h"

namespace meantime::wait {

/// The core's part, which knows what can be tested for (core/request/watch_set.h).
class WatchedThings {
 public:
  virtual ~WatchedThings() = default;
  virtual std::size_t size() const = 0;
  virtual void forget_all() = 0;
  /// Forgets what is there: the program had a round to find it, and did not want it. True if there
  /// was any.
  virtual bool forget_what_is_there() = 0;
  /// Somebody has said of one of them that waiting for it is not to sleep; or the rank waits for
  /// memory, which rings nobody when it becomes free.
  virtual bool keeps_awake() const = 0;
};

class TestLoop {
 public:
  /// Something was there.
  void found() {
    in_vain_ = 0;
    if (watching_) [[unlikely]] {
      begin_anew();
    }
  }
  /// One more. Returns how many that makes.
  std::uint32_t in_vain() { return ++in_vain_; }
  std::uint32_t in_vain_so_far() const { return in_vain_; }
  /// From so many on the clock is looked at.
  static std::uint32_t quick(const Policy& policy) {
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(policy.knobs.tries_poll, fewest_quick, most_quick));
  }
  bool long_series(const Policy& policy) const { return in_vain_ >= quick(policy); }

  /// A test at `now_ns` of a long series is in vain, or was for nothing, as that for
  /// MPI_REQUEST_NULL. False: the series begins here, or the program does something between its
  /// tests. `about` tells for reports whether two tests are for the same; 0: unknown.
  /// `entered_ns`: when the program called; 0: unknown.
  bool goes_on(const Policy& policy, std::uint64_t now_ns, std::uintptr_t about,
               std::uint64_t entered_ns = 0) {
    now_ns_ = now_ns;
    pause_ns_ = (entered_ns > ended_ns_ ? entered_ns : now_ns) - ended_ns_;
    if (in_vain_ > quick(policy) &&
        pause_ns_ <= (napped_ ? longest_cold_pause_ns : longest_pause_ns)) {
      return true;
    }
    if (in_vain_ <= quick(policy) || pause_ns_ > still_testing_ns ||
        (about != about_ && about != 0)) {
      since_ns_ = now_ns;
      about_ = about;
    }
    began_ns_ = now_ns;
    begin_anew();
    return false;
  }

  /// That test goes on with the series; it was for so many things. `all`: what is watched;
  /// `changed`: other things than before. Returns for how long it may nap; 0: not at all.
  std::uint64_t nap_ns(const Policy& policy, std::size_t things, std::size_t all, bool changed) {
    watching_ = true;
    round_ = std::max<std::size_t>(all, 1);
    if (changed) {
      round_begins();
    } else if (!napped_) {
      in_round_ += things;
    }
    if (!napped_) {
      note_work();
    }
    // If the program did compute, it is not to be delayed twice in a row.
    if (all == 0 || pause_ns_ > longest_pause_ns || in_round_ < round_ || !policy.sleeps() ||
        !uses(Heuristic::naps)) {
      return 0;
    }
    const std::uint64_t waited = now_ns_ - began_ns_;
    // Who waits by testing wants to see it at once; on a core of its own it may, for a while.
    if (policy.learns_patience()) {
      return waited < longest_patience_ns ? 0 : within(policy, waited / 8, shortest_nap_ns(policy));
    }
    const std::uint64_t time = std::min(waited / 2, longest_nap_ns);
    if (worked_ns_ <= chance_work_ns) {
      return time < shortest_nap_ns(policy) ? 0 : time;
    }
    const bool adaptive = policy.prediction == Prediction::patience;
    return within(policy, adaptive ? waited / 8 : waited / 2,
                  adaptive ? shortest_nap_ns(policy) : time);
  }
  /// It may, but what is watched has changed since.
  void round_begins() { in_round_ = 0; }
  /// The test returns to the program. `napped_ns`: for how long it slept.
  void ends(std::uint64_t now_ns, std::uint64_t napped_ns = 0) {
    ended_ns_ = now_ns;
    napped_ = napped_ns != 0;
    if (napped_) {
      napped_ns_ += napped_ns;
      round_begins();
    }
  }
  std::uint64_t now_ns() const { return now_ns_; }
  /// Since when the program has been testing, for reports. Of a test that may nap.
  std::uint64_t since_ns() const { return since_ns_; }

  std::shared_ptr<WatchedThings> watched;  ///< made by the core when there is something
  bool napping = false;

 private:
  void begin_anew() {
    napped_ns_ = 0;
    worked_ns_ = 0;
    round_begins();
    if (watching_) {
      watching_ = false;
      watched->forget_all();
    }
  }
  void note_work() {
    if (!uses(Heuristic::nap_work)) {
      return;
    }
    if (pause_ns_ > longest_idle_pause_ns) {
      worked_ns_ = std::min(worked_ns_ + pause_ns_, most_work_ns);
    } else {
      worked_ns_ -= std::min(worked_ns_, forgotten_a_test_ns);
    }
  }
  static std::uint64_t shortest_nap_ns(const Policy& policy) {
    return std::min(wake_ups_worth_a_nap * policy.wake_up_ns, longest_nap_ns);
  }
  /// As much of a nap as is left of what all naps of the series may take; 0 if it is not worth it.
  std::uint64_t within(const Policy& policy, std::uint64_t all_naps_ns,
                       std::uint64_t nap_ns) const {
    const std::uint64_t left = all_naps_ns > napped_ns_ ? all_naps_ns - napped_ns_ : 0;
    return left < shortest_nap_ns(policy) ? 0 : std::min(left, nap_ns);
  }

  static constexpr std::uint32_t fewest_quick = 8;
  static constexpr std::uint32_t most_quick = 1000;
  /// More than a loop around Test takes in any language, less than what most call a step.
  static constexpr std::uint64_t longest_pause_ns = 2'000;
  static constexpr std::uint64_t longest_cold_pause_ns = 50'000;  // the first after a nap
  /// What it takes in a compiled one: return, a branch, and the next call: 30 to 40 ns,
  /// and after a nap 200 to 1000.
  static constexpr std::uint64_t longest_idle_pause_ns = 100;
  // Chance makes 0.2 ns of work a test (one of a thousand has some), so what is seen is forgotten
  // faster than that, and slower than work that slows anybody down comes.
  static constexpr std::uint64_t chance_work_ns = 2'000;
  static constexpr std::uint64_t most_work_ns = 10'000;
  static constexpr std::uint64_t forgotten_a_test_ns = 5;
  /// Who comes back so soon still waits for the same, whatever it did meanwhile.
  static constexpr std::uint64_t still_testing_ns = 10'000'000;
  static constexpr std::uint64_t longest_patience_ns = 1'000'000;
  // Where cores are shared, what we do not see is late by half of what the series has taken, and by
  // a millisecond at most.
  static constexpr std::uint64_t wake_ups_worth_a_nap = 2;  // the kernel adds one
  static constexpr std::uint64_t longest_nap_ns = 1'000'000;

  std::uint32_t in_vain_ = 0;
  bool watching_ = false;       ///< something may be watched
  bool napped_ = false;         ///< the last test did
  std::uint64_t ended_ns_ = 0;  ///< the last test
  std::uint64_t now_ns_ = 0;    ///< when this one's search was over …
  std::uint64_t pause_ns_ = 0;  ///< … and how long after
  std::uint64_t since_ns_ = 0;
  std::uintptr_t about_ = 0;
  // Of this series:
  std::uint64_t began_ns_ = 0;
  std::uint64_t napped_ns_ = 0;
  std::uint64_t worked_ns_ = 0;  ///< lately
  std::uint64_t in_round_ = 0;   ///< … since the last nap, and since what is watched changed
  std::uint64_t round_ = 1;      ///< things watched
};

/// Of a rank: each of its threads has a series of its own.
class TestLoops {
 public:
  /// The calling thread's. `several`: threads of this rank may call at the same time.
  TestLoop& own(bool several) { return several ? of_thread() : only_; }

 private:
  struct Thread {
    const void* thread = nullptr;  ///< nullptr: of nobody any more
    TestLoop loop;
  };
  static constexpr std::size_t many = 32;
  static constinit thread_local Thread* known;

  TestLoop& of_thread() {
    return known != nullptr && known->thread == &known ? known->loop : find();
  }
  TestLoop& find();

  TestLoop only_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace meantime::wait
