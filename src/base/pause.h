// Between two looks: the processor's hint that this thread polls, and the core for another thread.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

namespace meantime::wait {

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Not libc's name for it: in a thread rank that one leads to the host's (src/host), which lets
/// another rank run, and takes the dynamic linker's lock when it looks for libc's.
inline void give_core_to_kernel() {
  syscall(SYS_sched_yield);
}

}  // namespace meantime::wait
