// What ThreadSanitizer has to be told of a switch. Each stack has a thread control block of its
// own, so to it each fiber is a thread, whichever kernel thread runs it; what it cannot see is that
// the stacks of one carrier run one after the other. (AddressSanitizer needs nothing: what it knows
// of a stack hangs in the control block, and goes with it.)
#pragma once

#if defined(__SANITIZE_THREAD__)
#define MEANTIME_TELLS_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MEANTIME_TELLS_THREAD_SANITIZER
#endif
#endif

#if defined(MEANTIME_TELLS_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace meantime::ranks {

/// Last thing on a stack, before it is left for that of `to`, a fiber or a carrier.
inline void before_switch([[maybe_unused]] void* to) {
#if defined(MEANTIME_TELLS_THREAD_SANITIZER)
  __tsan_release(to);
#endif
}

/// First thing on the stack that was switched to: `here`, whose it is, comes after all that was
/// done on the other one.
inline void after_switch([[maybe_unused]] void* here) {
#if defined(MEANTIME_TELLS_THREAD_SANITIZER)
  __tsan_acquire(here);
#endif
}

}  // namespace meantime::ranks
