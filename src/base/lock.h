// Locks between threads of one process, whose use Clang checks (`make clang-check`): what they
// guard says so, and a function that wants one held. (Clang knows nothing of the standard's.) It
// compares expressions, not objects, and looks at one function at a time, at no constructor and no
// destructor.
#pragma once

#include <mutex>

#ifdef __clang__
#define MEANTIME_LOCK_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define MEANTIME_LOCK_ATTRIBUTE(...)
#endif

/// A class that is a lock; `kind` is for messages.
#define MEANTIME_CAPABILITY(kind) MEANTIME_LOCK_ATTRIBUTE(capability(kind))
#define MEANTIME_SCOPED_CAPABILITY MEANTIME_LOCK_ATTRIBUTE(scoped_lockable)
#define MEANTIME_GUARDED_BY(lock) MEANTIME_LOCK_ATTRIBUTE(guarded_by(lock))
/// Of a function: held before and after, not held before, taken in it, let go of in it.
#define MEANTIME_REQUIRES(...) MEANTIME_LOCK_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define MEANTIME_EXCLUDES(...) MEANTIME_LOCK_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define MEANTIME_ACQUIRE(...) MEANTIME_LOCK_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define MEANTIME_RELEASE(...) MEANTIME_LOCK_ATTRIBUTE(release_capability(__VA_ARGS__))
/// Taken if it returns the first argument.
#define MEANTIME_TRY_ACQUIRE(...) MEANTIME_LOCK_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
/// A comment says why.
#define MEANTIME_NO_LOCK_ANALYSIS MEANTIME_LOCK_ATTRIBUTE(no_thread_safety_analysis)

namespace meantime {

template <class Standard>
class MEANTIME_CAPABILITY("mutex") CheckedMutex {
 public:
  void lock() MEANTIME_ACQUIRE() { mutex_.lock(); }
  bool try_lock() MEANTIME_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() MEANTIME_RELEASE() { mutex_.unlock(); }

 private:
  Standard mutex_;
};
using Mutex = CheckedMutex<std::mutex>;
using RecursiveMutex = CheckedMutex<std::recursive_mutex>;

template <class Lock>
class MEANTIME_SCOPED_CAPABILITY LockGuard {
 public:
  explicit LockGuard(Lock& lock) MEANTIME_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  ~LockGuard() MEANTIME_RELEASE() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace meantime
