// A line of the cache ahead of a store to it.
#pragma once

namespace meantime {

/// From another core that has it, for oneself alone. __builtin_prefetch does not on x86-64 without
/// a compiler's option: it fetches a copy, and the store waits for the other core once more.
/// (To processors that do not have the instruction it is a no-op.)
inline void fetch_for_writing(const void* place) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(place)));
#else
  __builtin_prefetch(place, 1);
#endif
}

}  // namespace meantime
