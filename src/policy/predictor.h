// When a message will come, from when it came before at the same call site. Two estimators:
//   Predictor   from between which times the last messages came, all or in two groups; sleeps until
//               shortly before the earliest expected time, polls until shortly after the latest
//   Ade         adaptive deadline estimation, Algorithm 1 of the cycle-stealing paper: one sleep
//               time that grows while the rest of the wait gets shorter, and shrinks else
//   plan        what a wait is to do: sleep by a timer, then poll, then the same again or sleep
//               until signalled
// Both are private to the rank and cost a few additions a wait. All times count from the beginning
// of the wait, in ns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace meantime::wait {

struct Window {
  std::uint64_t sleep_until_ns = 0;  ///< by a timer; a message ends it, too. 0: no such sleep
  std::uint64_t poll_until_ns = 0;
};

struct Plan {
  std::uint64_t sleep_until_ns = 0;  ///< as those of the first window
  std::uint64_t poll_until_ns = 0;   ///< where there is no sleep: while nothing moves for so long
  Window second = {};                ///< for what has not come in the first; 0: none
  bool waits_are_long = false;       ///< here, lately: a few looks before the sleep are enough
  std::uint64_t expected_ns = 0;     ///< in the middle of what is expected
};

/// How a wait went.
struct Outcome {
  std::uint64_t waited_ns = 0;
  std::uint64_t came_ns = 0;  ///< when a sleeper was signalled, by the ringer's clock; 0: was not
  std::uint64_t woke_ns = 0;  ///< when the timer's sleep was over; 0: there was none
  bool signalled = false;     ///< a sleep (by the timer or not) was ended by the message
  bool in_vain = false;       ///< it polled to the end of the plan, and then had to sleep
  std::uint64_t longest_lull_ns = 0;  ///< so long nothing moved at a stretch
};

/// The last few of a series of times.
class Recent {
 public:
  static constexpr std::size_t most = 16;

  std::size_t count() const { return count_; }
  void add(std::uint64_t time);
  /// They, from the least to the most, but for the outermost one at both ends if there are `most`
  /// of them: about what lies between their 7th and their 93rd percentile.
  std::span<const std::uint64_t> inner(std::array<std::uint64_t, most>& room) const;

 private:
  std::array<std::uint64_t, most> times_{};
  std::size_t count_ = 0;
  std::size_t next_ = 0;
};

/// How long after its time a timer wakes this rank, if nobody else has its core.
class Lateness {
 public:
  void learn(std::uint64_t late_ns);
  std::uint64_t typical_ns() const { return typical_ns_; }
  /// So much earlier a timer is set than the rank is to be awake: all but one in ten are not later.
  std::uint64_t margin_ns() const { return margin_ns_; }

 private:
  Recent recent_;
  // Until then: the prototype's (docs/decisions/0013-predict-the-wake-up.md).
  std::uint64_t typical_ns_ = 45'000;
  std::uint64_t margin_ns_ = 60'000;
};

class Predictor {
 public:
  /// `patience_ns`: how long to poll at most where a timer is not worth it. `wake_up_ns`: no
  /// shorter sleep is worth it.
  Plan plan(const Lateness& lateness, std::uint64_t patience_ns, std::uint64_t wake_up_ns) const;
  void learn(const Outcome& outcome);

 private:
  Recent came_;
};

class Ade {
 public:
  /// `patience_ns`: how long to poll after the sleep at most.
  Plan plan(std::uint64_t patience_ns) const;
  /// `step_ns`: the paper's η; `threshold_ns`: its ε.
  void learn(const Outcome& outcome, std::uint64_t step_ns, std::uint64_t threshold_ns);

 private:
  enum class Phase : std::uint8_t { first_increments, first_decrements, steps };

  std::uint64_t sleep_ns_ = 0;
  std::uint64_t rest_ns_ = ~std::uint64_t{0};  ///< of the last wait, after its sleep
  Phase phase_ = Phase::first_increments;
};

}  // namespace meantime::wait
