// Bare processes for the prototypes: forked, bound to CPUs, sharing anonymous memory; futexes.
//
// No MPI and nothing of Meantime: these programs show what the machine allows.
#pragma once

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "../common/cpus.h"
#include "../common/options.h"
#include "../common/report.h"

namespace bench {

// Zeroed memory that forked children share. Never unmapped: the programs are short.
inline void* shared_memory(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  require(memory != MAP_FAILED, "mmap");
  return memory;
}

template <class T>
T* shared_object() {
  return new (shared_memory(sizeof(T))) T();
}

// Runs body(0) here and body(1) … body(n − 1) in children; ends the program if a child failed.
inline void run_processes(int n, const std::function<void(int)>& body) {
  std::fflush(stdout);
  const pid_t parent = getpid();
  for (int i = 1; i < n; i++) {
    const pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
      // Whoever waits for a parent that was interrupted would wait for ever.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);  // it went before that
      body(i);
      _exit(0);
    }
  }
  body(0);
  bool failed = false;
  for (int i = 1; i < n && getpid() == parent; i++) {
    int status = 0;
    require(wait(&status) >= 0, "wait");
    failed = failed || status != 0;
  }
  if (failed) {
    std::fprintf(stderr, "a child process failed\n");
    std::exit(1);
  }
}

using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == 4);

inline void futex_wait(Word& word, std::uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, nullptr, nullptr, 0);
}
inline void futex_wake(Word& word, int how_many) {
  syscall(SYS_futex, &word, FUTEX_WAKE, how_many, nullptr, nullptr, 0);
}

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The frame of a prototype: options, then body.
inline int run_prototype(int argc, char** argv, const char* usage,
                         const std::function<void(Options&, Report&)>& body) {
  Options options(argc, argv);
  if (options.flag("help")) {
    std::printf("%s", usage);
    return 0;
  }
  try {
    Report report(true, options.flag("json"));
    body(options, report);
  } catch (const UsageError& error) {
    return refuse(argv[0], error);
  }
  return 0;
}

}  // namespace bench
