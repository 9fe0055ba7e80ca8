// How long a thread of its own has run its program, as the listings of the paper on MPI
// virtualization count it: what it sleeps by itself (sleep, a read, a page that comes from a disk)
// is its own time; what the kernel gives to others is not.
//   off the core   what passes on the wall's clock and not on the thread's CPU clock
//   slept          it gave the core up itself: only then can time off the core be its own. All of
//   it
//                  is, but what it was ready to run and had to wait for the core ("run delay")
// A thread that has not been off the core since the last look costs two clocks a look; one that
// has, a count of the kernel's, and who has slept, a file in /proc as well.
#pragma once

#include <cstdint>

namespace meantime::ranks {

/// By its own thread only.
class RunningTime {
 public:
  /// A new interval.
  void begin();
  /// What it has run since `begin`. Where the kernel does not tell run delays, an interval in which
  /// it slept counts whole.
  std::uint64_t passed_ns();
  /// A new interval where `passed_ns` has ended one.
  void go_on();

 private:
  struct Clocks {
    std::uint64_t wall_ns = 0;
    std::uint64_t cpu_ns = 0;
  };
  static Clocks now();
  static std::uint64_t off_ns(const Clocks& from, const Clocks& to);

  Clocks began_;
  Clocks ended_;
  // Of the last time when it turned out to have been off the core; still true at `began_`.
  Clocks looked_;
  std::uint64_t slept_ = 0;  ///< how often, by the kernel
  std::uint64_t delay_ns_ = 0;
};

}  // namespace meantime::ranks
