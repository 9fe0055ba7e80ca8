// The rank's lock: under MPI_THREAD_MULTIPLE it serialises the threads of one rank inside MPI;
// calls that are legal at any time take it always, because before MPI is initialised any thread may
// make them (MPI 5.0, 11.4.1 and 11.6). It guards what is private to the rank in its host
// (requests, communicators, pools), never what other ranks touch. It is recursive, because a user's
// callback may call MPI; a wait lets go of it completely while it sleeps or gives up the core.
#pragma once

#include <atomic>

#include "base/lock.h"

namespace meantime {

class MEANTIME_CAPABILITY("mutex") RankLock {
 public:
  /// Off until MPI_Init_thread provides MPI_THREAD_MULTIPLE; then on for good.
  void enable() { enabled_.store(true, std::memory_order_relaxed); }
  /// Whether calls that are legal only while MPI is initialised take it.
  bool enabled() const { return enabled_.load(std::memory_order_relaxed); }

  void lock() MEANTIME_ACQUIRE() {
    mutex_.lock();
    ++depth_;
  }
  void unlock() MEANTIME_RELEASE() {
    --depth_;
    mutex_.unlock();
  }

  // (Clang checks pairs of lock and unlock, but not these two: how many levels there are it does
  // not know.)
  /// Lets go of every level that the calling thread holds; returns how many, for `reacquire`
  /// (wait/others_turn.h).
  int release_all() MEANTIME_NO_LOCK_ANALYSIS {
    if (!enabled()) {
      return 0;
    }
    const int levels = depth_;
    for (int level = 0; level < levels; ++level) {
      unlock();
    }
    return levels;
  }
  void reacquire(int levels) MEANTIME_NO_LOCK_ANALYSIS {
    for (int level = 0; level < levels; ++level) {
      lock();
    }
  }

 private:
  std::atomic<bool> enabled_{false};
  RecursiveMutex mutex_;
  int depth_ MEANTIME_GUARDED_BY(mutex_) = 0;
};

}  // namespace meantime
