// Looks: a program that asks again and again whether something is over (Test, Iprobe, Parrived)
// waits, too, only that the turns are its own.
//   look in vain   a call that found nothing
//   series         looks in vain that follow each other so soon that the program does nothing else
//   pause          from the end of one look to the end of the next one's search: the program's own
//                  time. A long one ends the series, but for these two:
//   cold           the first after a nap: core and caches have been somebody else's, so it is long
//                  though the program does nothing in it
//   forgiven       a few that make up a small part of the series: an interrupt, a moment without
//                  the core
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
    const std::uint64_t pause = now_ns - ended_ns_;
    if (in_vain_ <= quick(policy) || (pause > longest_pause_ns && !excused(now_ns, pause))) {
      // The series begins here, or the program does something between its looks.
      if (in_vain_ <= quick(policy) || pause > still_asking_ns || wanted != wanted_) {
        asking_since_ns_ = now_ns;
      }
      began_ns_ = now_ns;
      forgiven_ns_ = 0;
      wanted_ = wanted;
      several_ = false;
      return 0;
    }
    several_ = several_ || wanted != wanted_;
    if (pause > longest_pause_ns) {
      return 0;  // if the program did compute, it is not to be delayed twice in a row
    }
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
  void ends(std::uint64_t now_ns, bool napped = false) {
    ended_ns_ = now_ns;
    napped_ = napped;
  }
  /// Since when the program has been asking, for reports. Of a look that may nap.
  std::uint64_t asking_since_ns() const { return asking_since_ns_; }

 private:
  /// A long pause that says nothing about the program.
  bool excused(std::uint64_t now_ns, std::uint64_t pause) {
    if (pause > longest_excused_ns) {
      return false;
    }
    if (napped_) {
      return true;
    }
    forgiven_ns_ += pause;
    return forgiven_ns_ <= std::min((now_ns - began_ns_) / 8, most_forgiven_ns);
  }

  static constexpr std::uint32_t fewest_quick = 8;
  static constexpr std::uint32_t most_quick = 1000;
  /// More than a loop around Test takes, less than any work.
  static constexpr std::uint64_t longest_pause_ns = 2'000;
  static constexpr std::uint64_t longest_excused_ns = 50'000;
  static constexpr std::uint64_t most_forgiven_ns = 500'000;
  /// Who comes back so soon still waits for the same, whatever it did meanwhile.
  static constexpr std::uint64_t still_asking_ns = 10'000'000;
  static constexpr std::uint64_t longest_patience_ns = 1'000'000;
  // What we do not see is seen later by a part of what the series has taken, and a millisecond at
  // most. Who looks for several things is woken by one of them only.
  static constexpr std::uint64_t shortest_nap_ns = 50'000;  // and the kernel adds as much
  static constexpr std::uint64_t longest_nap_of_several_ns = 50'000;
  static constexpr std::uint64_t longest_nap_ns = 1'000'000;

  std::uint32_t in_vain_ = 0;
  bool several_ = false;  ///< looks of the series are for more than one thing
  bool napped_ = false;   ///< the last look did
  std::uintptr_t wanted_ = 0;
  std::uint64_t began_ns_ = 0;
  std::uint64_t ended_ns_ = 0;     ///< the last look
  std::uint64_t forgiven_ns_ = 0;  ///< pauses of this series
  std::uint64_t asking_since_ns_ = 0;
};

}  // namespace meantime::wait
