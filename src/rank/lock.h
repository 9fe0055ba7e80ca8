// The rank's lock: under MPI_THREAD_MULTIPLE it serialises the threads of one rank inside MPI, and
// where it has a helper (core/request/helper.h) the rank and that;
// calls that are legal at any time take it always, because before MPI is initialised any thread may
// make them (MPI 5.0, 11.4.1 and 11.6). It guards what is private to the rank in its host
// (requests, communicators, pools), never what other ranks touch. It is recursive, because a user's
// callback may call MPI; a wait lets go of it completely while it sleeps or gives up the core.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/lock.h"

namespace meantime {

class MEANTIME_CAPABILITY("mutex") RankLock {
 public:
  /// Off until MPI_Init_thread provides MPI_THREAD_MULTIPLE; then on for good.
  void enable() {
    enabled_.store(true, std::memory_order_relaxed);
    enable_for_helper();
  }
  void enable_for_helper() { is_taken_.store(true, std::memory_order_relaxed); }
  /// Whether several threads of the program may be in MPI.
  bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
  /// Whether calls that are legal only while MPI is initialised take it.
  bool is_taken() const { return is_taken_.load(std::memory_order_relaxed); }

  void lock() MEANTIME_ACQUIRE() {
    if (!mutex_.try_lock()) [[unlikely]] {
      wanted_.fetch_add(1, std::memory_order_relaxed);
      mutex_.lock();
      wanted_.fetch_sub(1, std::memory_order_relaxed);
    }
    ++depth_;
  }
  bool try_lock() MEANTIME_TRY_ACQUIRE(true) {
    if (!mutex_.try_lock()) {
      return false;
    }
    ++depth_;
    return true;
  }
  /// Somebody waits for it. A hint.
  bool is_wanted() const { return wanted_.load(std::memory_order_relaxed) != 0; }
  void unlock() MEANTIME_RELEASE() {
    --depth_;
    mutex_.unlock();
  }

  // (Clang checks pairs of lock and unlock, but not these two: how many levels there are it does
  // not know.)
  /// Lets go of every level that the calling thread holds; returns how many, for `reacquire`
  /// (wait/others_turn.h).
  int release_all() MEANTIME_NO_LOCK_ANALYSIS {
    if (!is_taken()) {
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
  std::atomic<bool> is_taken_{false};
  std::atomic<std::uint32_t> wanted_{0};
  RecursiveMutex mutex_;
  int depth_ MEANTIME_GUARDED_BY(mutex_) = 0;
};

}  // namespace meantime
