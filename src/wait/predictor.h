// When a message will come, from when it came before at the same call site. Two estimators:
//   Predictor   mean and mean deviation of the waits, as TCP estimates round trips; sleeps until
//               shortly before the earliest expected time, polls until shortly after the latest
//   Ade         adaptive deadline estimation, Algorithm 1 of the cycle-stealing paper: one sleep
//               time that grows while the rest of the wait gets shorter, and shrinks else
//   plan        what a wait is to do: sleep by a timer, then poll, then sleep until rung
// Both are private to the rank and cost a few additions a wait. All times count from the beginning
// of the wait, in ns.
#pragma once

#include <cstdint>

namespace meantime::wait {

struct Plan {
  std::uint64_t sleep_until_ns = 0;  ///< by a timer; a message ends it, too. 0: no such sleep
  std::uint64_t poll_until_ns = 0;   ///< then sleep until rung
  bool waits_are_long = false;       ///< here, lately: a few looks before the sleep are enough
};

/// How a wait went.
struct Outcome {
  std::uint64_t waited_ns = 0;
  std::uint64_t woke_ns = 0;  ///< when the timer's sleep was over; 0: there was none
  bool rung = false;          ///< a sleep (by the timer or not) was ended by the message
  bool in_vain = false;       ///< it polled to the end of the plan, and then had to sleep
};

/// How long after its time a timer wakes this rank: mean and deviation. Waking from a ring takes
/// about as long, because what costs is to wake the core.
class Lateness {
 public:
  void learn(std::uint64_t late_ns);
  std::uint64_t mean_ns() const { return mean_ns_; }
  /// So much earlier a timer is set than the rank is to be awake.
  std::uint64_t margin_ns() const;

 private:
  // The prototype's figures on the machine of LIMITS.md; two dozen sleeps correct them.
  std::uint64_t mean_ns_ = 45'000;
  std::uint64_t deviation_ns_ = 8'000;
};

class Predictor {
 public:
  Plan plan(const Lateness& lateness) const;
  /// `plan`: what this wait was told to do.
  void learn(const Outcome& outcome, const Plan& plan, const Lateness& lateness);

  std::uint64_t expected_ns() const { return mean_ns_; }

 private:
  std::uint64_t mean_ns_ = 0;
  std::uint64_t deviation_ns_ = 0;
  std::uint32_t waits_ = 0;   ///< up to as many as it takes to know anything
  std::uint32_t misses_ = 0;  ///< in a row
  std::uint32_t skip_ = 0;    ///< waits to do without a timer
  std::uint32_t pause_ = 0;   ///< how many the last time; doubles
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
