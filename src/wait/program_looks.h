// A look of the program's own (Test, Iprobe …): whether it gives the core away, or naps (looks.h).
// Of the thread that looks, the rank's lock held.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "policy/looks.h"
#include "wait/wait.h"

namespace meantime::wait {

/// When this thread came into MPI last: for looks.h, and only while it asks again and again.
struct NotedEntry {
  /// Calls between two looks. A program that looks no more pays for so many clocks.
  static constexpr int calls = 16;
  std::uint64_t at_ns = 0;  ///< 0: unknown, or known already
  int wanted = 0;           ///< by so many calls more

  void note() {
    --wanted;
    at_ns = wanted != 0 ? now_ns() : 0;
  }
};
extern constinit thread_local NotedEntry noted_entry;
/// A look of the program's own (Test, Iprobe …) found nothing: after a few in a row others get the
/// core, and after many it may last a little: then the caller says what it was for (Looks::sought),
/// and calls look_may_last. `about`: tells whether two looks are for the same.
Looks* fruitless_look(std::uintptr_t about);
/// It was for so many things, and `changed` says whether some are new. `what` awaits all that is
/// sought.
void look_may_last(Looks& looks, Awaited& what, std::size_t things, bool changed);
void fruitful_look();
/// There was nothing to look for: it says nothing of the program, but takes time.
void look_for_nothing();

}  // namespace meantime::wait
