// Looks: a program that asks again and again whether something is over (Test, Iprobe, Parrived)
// waits, too, only that the turns are its own.
//   look in vain   a call that found nothing
//   series         looks in vain that follow each other so soon that the program does nothing else
//   nap            a look that lasts: it sleeps until what was looked for is there, and not for
//                  long: the program may look for something else as well that we do not see
//   wanted         what a look is for: any number that tells whether two looks are for the same
// Private to the rank, its lock held.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wait/policy.h"

namespace meantime::wait {

class Looks {
 public:
  void found() { in_vain_ = 0; }
  /// One more. Returns how many that makes.
  std::uint32_t in_vain() { return ++in_vain_; }
  /// From so many on the clock is looked at.
  static std::uint32_t quick(const Policy& policy) {
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(policy.knobs.tries_poll, fewest_quick, most_quick));
  }

  /// A look for `wanted` at `now_ns` is in vain. Returns for how long it may nap; 0: not at all.
  std::uint64_t nap_ns(const Policy& policy, std::uint64_t now_ns, std::uintptr_t wanted) {
    if (in_vain_ <= quick(policy) || now_ns - ended_ns_ > longest_pause_ns) {
      // The series begins here, or the program does something between its looks.
      began_ns_ = now_ns;
      wanted_ = wanted;
      several_ = false;
      return 0;
    }
    several_ = several_ || wanted != wanted_;
    const std::uint64_t waited = now_ns - began_ns_;
    // Who waits by looking wants to see it at once; on a core of its own it may, for a while.
    const bool own_core = policy.prediction == Prediction::patience && !policy.crowded;
    if (!policy.sleeps() || (own_core && waited < longest_patience_ns)) {
      return 0;
    }
    return several_ ? longest_nap_of_several_ns
                    : std::clamp(waited / (own_core ? 8 : 2), shortest_nap_ns, longest_nap_ns);
  }
  /// The look returns to the program.
  void ends(std::uint64_t now_ns) { ended_ns_ = now_ns; }

 private:
  static constexpr std::uint32_t fewest_quick = 8;
  static constexpr std::uint32_t most_quick = 1000;
  /// More than a loop around Test takes, less than any work.
  static constexpr std::uint64_t longest_pause_ns = 2'000;
  static constexpr std::uint64_t longest_patience_ns = 1'000'000;
  // What we do not see is seen later by a part of what the series has taken, and a millisecond at
  // most. Who looks for several things is woken by one of them only.
  static constexpr std::uint64_t shortest_nap_ns = 50'000;  // and the kernel adds as much
  static constexpr std::uint64_t longest_nap_of_several_ns = 50'000;
  static constexpr std::uint64_t longest_nap_ns = 1'000'000;

  std::uint32_t in_vain_ = 0;
  bool several_ = false;  ///< looks of the series are for more than one thing
  std::uintptr_t wanted_ = 0;
  std::uint64_t began_ns_ = 0;
  std::uint64_t ended_ns_ = 0;  ///< the last look
};

}  // namespace meantime::wait
