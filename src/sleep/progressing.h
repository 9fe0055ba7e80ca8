// The threads of a rank that make progress by themselves: awake in a wait, so what anybody of the
// rank may move on (a transfer it is asked to take part in, a message of a collective in the
// background) need not wake another thread of it.
//   progressing   such a thread. It looks at everything once more (core::progress) after it has
//                 ceased to: before its sleep, or before it leaves its wait
// Why no wake-up is lost. The ringer R and a progressing thread L share the count and "there is
// work".
//   R: work := there            L: count := count - 1
//      fence                       fence
//      count != 0: does not ring   looks for work
// Both fences are sequentially consistent. If R reads a count with L in it, L's change comes later,
// and so L's look finds the work; whoever has taken it before L was awake in the rank, too. What L
// moves on rings whom it completes, and what it starts is handed over before it sleeps or leaves
// MPI (coll/schedule/progress.h). Of several the last one's look is enough, so R need not
// know how many there are. If no thread of the rank sleeps, nobody was spared a ring, and L need
// not look. A rank with one thread has none: it is signalled when it sleeps, and else nobody is.
// Nor is a thread rank's own stack one: while it yields, its worker may run another rank for as
// long as that likes.
#pragma once

#include <atomic>

#include "rank/rank.h"
#include "sleep/doorbell.h"

namespace meantime::wait {

/// Of the thread that waits, the rank's lock held when it comes and goes.
class Progressing {
 public:
  explicit Progressing(Rank& rank)
      : count_(rank.area->mailbox.progressing),
        world_rank_(rank.world_rank),
        may_(rank.lock.enabled() && rank.fiber == nullptr) {
    come();
  }
  /// Only a thread that a user's operator ends is still one here.
  ~Progressing() {
    if (here_) [[unlikely]] {
      go();
      ring_rank(world_rank_);
    }
  }
  Progressing(const Progressing&) = delete;
  Progressing& operator=(const Progressing&) = delete;

  void come() {
    if (may_) {
      here_ = true;
      count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  }
  /// The caller looks afterwards.
  void go() {
    if (here_) {
      here_ = false;
      count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }

 private:
  std::atomic<std::uint32_t>& count_;
  const int world_rank_;
  const bool may_;
  bool here_ = false;
};

}  // namespace meantime::wait
