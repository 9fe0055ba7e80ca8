// Giving the core away before a sleep. Where ranks exceed cores the one that is waited for may be
// runnable on this very core: a sched_yield lets it run and costs one switch, where a sleep costs
// that switch, two system calls and the queueing of a wake-up.
//   in vain      the yields did not end the wait
//   lost slice   somebody else had the core for a time slice, and what was waited for came
//                meanwhile: whoever yields comes after all who compute, whoever is woken before
//                them
//   savings      of waits for messages, what lost slices are paid from. Each wait earns a little;
//                when they are gone waits sleep until they have earned what the last slice cost. So
//                lost slices cost a wait no more on average than what it earns
//   sharers      ranks on this rank's CPU, itself included, as far as the job knows
// Each kind of wait of a rank (at a gate, for messages) has its own memory of what yields were
// worth. Private to the rank, its lock held.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/heuristics.h"

namespace meantime::wait {

class Yielding {
 public:
  // Both ranks of a ping-pong on one CPU, and the other one polls: a sleep adds 14 us to each wait,
  // and yields are to add less than that. Where more ranks share the CPU a wait that sleeps costs
  // all of them as much, and their turns take longer (ring halo of 64 ranks on 2 CPUs: 0.5 ms and
  // more for two yields).
  static constexpr Yielding for_messages(std::uint32_t sharers) {
    return {std::clamp<std::uint64_t>(sharers * 32'000, 500'000, 1'000'000),
            sharers * std::int64_t{5'000}};
  }
  // At the barrier of many ranks on a busy machine the ranks of one core take half a millisecond
  // and more for their turns, and yet it takes twice as long if they sleep. There a slice that is
  // lost is a yield in vain, no more.
  static constexpr Yielding for_gates() { return {1'000'000, 0}; }

  /// A wait begins: whether it is to yield.
  bool begins() {
    savings_ns_ = std::min(savings_ns_ + earned_ns_, most_saved_ns);
    if (uses(Heuristic::yield_savings) && savings_ns_ < 0) {
      return false;
    }
    if (uses(Heuristic::yield_skips) && skip_ > 0) {
      --skip_;
      return false;
    }
    return true;
  }
  /// Its yields took so long; `over`: and ended it.
  void ended(bool over, std::uint64_t spent_ns) {
    const bool lost_slice = spent_ns >= slice_ns_;
    if (!over || (lost_slice && earned_ns_ == 0)) {
      vain_ = std::clamp<std::uint32_t>(2 * vain_, 2, most_skipped);
      skip_ = vain_ - 1;
      return;
    }
    vain_ = 0;
    if (lost_slice) {
      savings_ns_ -= static_cast<std::int64_t>(std::min(spent_ns, most_paid_ns));
    }
  }

  // Half a microsecond each if nobody else can run here. What a wait needs is as many as the ranks
  // of this core have turns until the last one, perhaps on another core, has come: barrier of 8
  // ranks on 2 cores 46-54 us with two (and the rest asleep), 8 with 8 or 24; Python that computes
  // for 90 us between collectives, 5 ranks, 13.5 s with two or 8, 12 with 24 (and 12.1 without any
  // sleep).
  static constexpr int most = 24;  ///< in one wait
  std::uint64_t slice_ns() const { return slice_ns_; }

 private:
  constexpr Yielding(std::uint64_t slice_ns, std::int64_t earned_ns)
      : slice_ns_(slice_ns), earned_ns_(earned_ns) {}

  static constexpr std::int64_t most_saved_ns = 1'000'000;
  /// A rank that was stopped for a minute does not pay for it for hours.
  static constexpr std::uint64_t most_paid_ns = 20'000'000;
  // In vain this often in a row, it is tried more and more rarely: some rank computes for long, and
  // a yield would only delay the sleep.
  static constexpr std::uint32_t most_skipped = 16;

  std::uint64_t slice_ns_;  ///< longer than the others' turns take, shorter than any slice
  std::int64_t earned_ns_;  ///< by each wait; 0: lost slices are not paid for
  std::int64_t savings_ns_ = 0;
  std::uint32_t vain_ = 0;
  std::uint32_t skip_ = 0;
};

/// The yields of one wait, as its rank's memory of that kind has them: none if it was in vain or
/// cost too much lately, and no more once a slice is lost.
class Yields {
 public:
  /// Before the wait's first yield, and after each that did not end it: whether there is another.
  bool another(Yielding& memory) {
    if (memory_ == nullptr) {
      memory_ = &memory;
      left_ = memory.begins() ? Yielding::most : 0;
      began_ns_ = left_ != 0 ? now_ns() : 0;
    } else if (left_ != 0 && (--left_ == 0 || spent_ns() >= memory.slice_ns())) {
      left_ = 0;
      memory.ended(false, spent_ns());
    }
    return left_ != 0;
  }
  /// The latest one has ended the wait.
  bool have_ended_it() const { return left_ != 0; }
  /// Then: what they took, which the memory learns.
  std::uint64_t end() {
    const std::uint64_t spent = spent_ns();
    memory_->ended(true, spent);
    left_ = 0;
    return spent;
  }

 private:
  std::uint64_t spent_ns() const { return now_ns() - began_ns_; }

  Yielding* memory_ = nullptr;  ///< nullptr: not asked yet
  int left_ = 0;
  std::uint64_t began_ns_ = 0;
};

}  // namespace meantime::wait
