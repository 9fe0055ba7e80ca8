// Where a worker's time goes, for the ledger (ledger/layout.h, Doing).
//   by its own clock   it runs its ranks, or has none to run and polls, yields or sleeps. What it
//                      does changes only around an idle time, where it looks at the clock anyway: a
//                      switch from one rank to the next costs nothing
//   by the kernel      CPU time of the threads that carried it, one after the other, and for how
//                      long they were ready to run while others had the core. Asked now and then
#pragma once

#include <cstdint>
#include <optional>

#include "base/lock.h"
#include "ledger/layout.h"
#include "node/layout.h"

namespace meantime::ranks {

class WorkerTimes {
 public:
  explicit WorkerTimes(node::WorkerAccount& account) : account_(account) {}

  // --- By a carrier of this worker. `now_ns`: CLOCK_MONOTONIC.

  /// It carries the worker from here on; `thread` is its own kernel id.
  void picked_up(int thread, int number, std::uint64_t now_ns);
  /// All ranks have ended.
  void ends(std::uint64_t now_ns);
  void change_to(ledger::Doing doing, std::uint64_t now_ns);
  /// Has polled, and looked at the clock.
  void polled(std::uint64_t now_ns);
  /// Once for each, while it polls: the core is given away.
  void yields() { ++yields_; }

  // --- By anybody.

  /// The thread that carries it does so no longer, and had needed so much CPU time by then.
  void put_down(std::uint64_t cpu_ns);
  /// Asks the kernel.
  void refresh();

 private:
  void settle(std::uint64_t now_ns);
  void note(std::uint64_t cpu_ns) MEANTIME_REQUIRES(lock_);
  void ask_how_long_ready() MEANTIME_REQUIRES(lock_);

  node::WorkerAccount& account_;
  std::uint32_t yields_ = 0;                   ///< since the last look at the clock
  Mutex lock_;                                 ///< guards what the kernel says in the account, too
  int thread_ MEANTIME_GUARDED_BY(lock_) = 0;  ///< who carries it; 0: nobody
  // What is in the account less that thread's own reading: earlier carriers', and what the thread
  // had done before.
  std::uint64_t cpu_before_ns_ MEANTIME_GUARDED_BY(lock_) = 0;
  std::optional<std::uint64_t> ready_before_ns_ MEANTIME_GUARDED_BY(lock_) =
      0;  ///< unknown until the kernel tells that thread's
};

}  // namespace meantime::ranks
