// The processor's hint that this thread polls.
#pragma once

namespace meantime::wait {

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace meantime::wait
