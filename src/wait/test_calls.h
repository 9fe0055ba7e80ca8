// A test of the program's own (Test, Iprobe …): whether it gives the core away, or naps
// (test_loop.h). Of the thread that tests, the rank's lock held.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "policy/test_loop.h"
#include "wait/wait.h"

namespace meantime::wait {

/// When this thread came into MPI last: for test_loop.h, and only while it tests again and again.
struct NotedEntry {
  /// Calls between two tests. A program that tests no more pays for so many clocks.
  static constexpr int calls = 16;
  std::uint64_t at_ns = 0;  ///< 0: unknown, or known already
  int wanted = 0;           ///< by so many calls more

  void note() {
    --wanted;
    at_ns = wanted != 0 ? now_ns() : 0;
  }
};
extern constinit thread_local NotedEntry noted_entry;
/// A test of the program's own (Test, Iprobe …) found nothing: after a few in a row others get the
/// core, and after many it may last a little: then the caller says what it was for
/// (TestLoop::watched), and calls test_may_last. `about`: tells whether two tests are for the same.
TestLoop* fruitless_test(std::uintptr_t about);
/// It was for so many things, and `changed` says whether some are new. `what` awaits all that is
/// watched.
void test_may_last(TestLoop& loop, Awaited& what, std::size_t things, bool changed);
void fruitful_test();
/// There was nothing to test: it says nothing of the program, but takes time.
void test_of_nothing();

}  // namespace meantime::wait
