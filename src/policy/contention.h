// Contention: whether somebody else wants this rank's core. A thread that polls looks at the clock
// every few microseconds; if it finds that a millisecond is gone, it did not have the core: another
// rank or program ran there, or a quota (cgroup) was used up. Where that happens again and again,
// polling only takes the core from whoever is waited for. Costs nothing while nothing happens.
//   held up    the core was gone for a millisecond or more while the rank polled
//   shared     so many waits are done as if ranks shared cores; then the rank tries once more
// Ranks and the CPUs they may use are counted at the start (Policy::crowded); this notices what
// changes afterwards, and what others do. Private to the rank, its lock held.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/heuristics.h"

namespace meantime::wait {

class Contention {
 public:
  static constexpr std::uint64_t hold_up_ns = 1'000'000;

  /// Once for each wait that is recorded.
  void wait_begins() {
    heat_ -= heat_ > 0 ? 1 : 0;
    if (shared_waits_ > 0) {
      --shared_waits_;
    } else {
      ++quiet_;
    }
  }

  void held_up() {
    heat_ += heat_of_one;
    if (heat_ > heat_of_one && shared_waits_ == 0) {  // two within 16 waits
      // Soon after the last time it is the same guest; after a long while another one.
      span_ = quiet_ < 4 * span_ ? std::min(2 * span_, longest_span) : first_span;
      quiet_ = 0;
      shared_waits_ = span_;
      heat_ = 0;
    }
  }
  bool shared() const { return uses(Heuristic::contention) && shared_waits_ > 0; }

 private:
  static constexpr std::uint32_t heat_of_one = 16;
  static constexpr std::uint32_t first_span = 64;
  static constexpr std::uint32_t longest_span = 4096;

  std::uint32_t heat_ = 0;
  std::uint32_t shared_waits_ = 0;
  std::uint32_t span_ = 0;
  std::uint32_t quiet_ = 0;  ///< waits since it was last shared
};

}  // namespace meantime::wait
