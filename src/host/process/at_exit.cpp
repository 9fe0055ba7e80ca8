// The beginning and the end of a rank's program: __libc_start_main, exit and its handlers. In a
// rank they are about the rank; in the host's own code libc's.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "host/process/rank_state.h"
#include "protocol/host_interface.h"

namespace meantime::host {

void* real_function(const char* name) {
  return dlsym(RTLD_NEXT, name);
}

namespace {

void call(const AtExit& handler, int status) {
  if (handler.with_status != nullptr) {
    handler.with_status(status, handler.argument);
  } else {
    handler.function(handler.argument);
  }
}

}  // namespace

void run_exit_handlers(RankState& rank, void* owner, int status) {
  // A handler may add others, which come next.
  for (std::size_t i = rank.at_exit.size(); i-- > 0;) {
    if (owner != nullptr && rank.at_exit[i].owner != owner) {
      continue;
    }
    const AtExit handler = rank.at_exit[i];
    rank.at_exit.erase(rank.at_exit.begin() + static_cast<std::ptrdiff_t>(i));
    call(handler, status);
    i = rank.at_exit.size();
  }
}

void end_rank(int status, bool handlers) {
  RankState& rank = *mine();
  const bool is_rank = meantime_host_index() >= 0;
  if (handlers && !rank.ended.load()) {
    while (is_rank && !rank.at_thread_exit.empty()) {
      const AtExit handler = rank.at_thread_exit.back();
      rank.at_thread_exit.pop_back();
      call(handler, status);
    }
    run_exit_handlers(rank, nullptr, status);
    if (!std::exchange(rank.ending, true)) {
      rank.image.run_finalisers(rank.program->closure);
    }
  }
  if (!rank.ended.exchange(true)) {
    rank.streams.end(handlers, rank.descriptors);
    rank.children.forget_all();
    // Whoever reads the labelled output, or a pipe, hears of its end.
    rank.descriptors.close_all();
    meantime_host_tell_end(rank.world_rank, status & 0xff, 0, "");
    if (!is_rank) {
      meantime_host_abandon(rank.index);
    }
  }
  if (is_rank) {
    meantime_host_finish();
  }
  // Another thread of the rank: the kernel ends it with the host. What the rank itself does until
  // then reaches nobody.
  for (;;) {
    syscall(SYS_pause);
  }
}

namespace {

using Main = int (*)(int, char**, char**);

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

// Since glibc 2.34 `init` and `fini` are null; older start-up code gives the function that would
// run the constructors, which are ours to run.
MEANTIME_INTERPOSED int __libc_start_main(Main main, int count, char** words, void (*init)(),
                                          void (*fini)(), void (*linker_fini)(), void* stack_end) {
  if (RankState* rank = mine(); rank != nullptr) {
    rank->image.run_initialisers(rank->program->closure, count, words, *rank->environment());
    end_rank(main(count, words, *rank->environment()), true);
  }
  static auto* const real =
      reinterpret_cast<decltype(&__libc_start_main)>(real_function("__libc_start_main"));
  return real(main, count, words, init, fini, linker_fini, stack_end);
}

MEANTIME_INTERPOSED void exit(int status) {
  if (mine() != nullptr) {
    end_rank(status, true);
  }
  MEANTIME_REAL(exit);
  real(status);
  __builtin_unreachable();
}

MEANTIME_INTERPOSED void _exit(int status) {
  if (mine() != nullptr) {
    end_rank(status, false);
  }
  MEANTIME_REAL(_exit);
  real(status);
  __builtin_unreachable();
}

MEANTIME_INTERPOSED void _Exit(int status) noexcept {
  _exit(status);
}

MEANTIME_INTERPOSED void quick_exit(int status) noexcept {
  if (RankState* rank = mine(); rank != nullptr) {
    while (!rank->at_quick_exit.empty()) {
      const AtExit handler = rank->at_quick_exit.back();
      rank->at_quick_exit.pop_back();
      call(handler, status);
    }
    _exit(status);
  }
  MEANTIME_REAL(quick_exit);
  real(status);
  __builtin_unreachable();
}

/// What at_quick_exit, which libc links into each program, calls.
MEANTIME_INTERPOSED int __cxa_at_quick_exit(void (*function)(void*), void* owner) {
  if (RankState* rank = mine(); rank != nullptr) {
    rank->at_quick_exit.push_back({.function = function, .owner = owner});
    return 0;
  }
  MEANTIME_REAL(__cxa_at_quick_exit);
  return real(function, owner);
}

MEANTIME_INTERPOSED int __cxa_atexit(void (*function)(void*), void* argument, void* owner) {
  if (RankState* rank = mine(); rank != nullptr) {
    rank->at_exit.push_back({.function = function, .argument = argument, .owner = owner});
    return 0;
  }
  MEANTIME_REAL(__cxa_atexit);
  return real(function, argument, owner);
}

MEANTIME_INTERPOSED int on_exit(void (*function)(int, void*), void* argument) noexcept {
  if (RankState* rank = mine(); rank != nullptr) {
    rank->at_exit.push_back({.with_status = function, .argument = argument});
    return 0;
  }
  MEANTIME_REAL(on_exit);
  return real(function, argument);
}

MEANTIME_INTERPOSED void __cxa_finalize(void* owner) {
  if (RankState* rank = mine(); rank != nullptr) {
    run_exit_handlers(*rank, owner, 0);
    return;
  }
  MEANTIME_REAL(__cxa_finalize);
  real(owner);
}

MEANTIME_INTERPOSED int __cxa_thread_atexit_impl(void (*function)(void*), void* argument,
                                                 void* owner) {
  if (RankState* rank = mine(); rank != nullptr && meantime_host_index() >= 0) {
    rank->at_thread_exit.push_back({.function = function, .argument = argument});
    return 0;
  }
  MEANTIME_REAL(__cxa_thread_atexit_impl);
  return real(function, argument, owner);
}
