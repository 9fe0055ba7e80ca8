// What the kernel says of a process's threads, to find whether all of them sleep.
#pragma once

#include <cstdint>
#include <functional>

namespace meantime::wait {

struct Thread {
  int tid = 0;
  char state = 0;
  bool traced = false;
  std::uint64_t switches = 0;  ///< how often it has given its CPU away, or lost it
};

/// Whether `switches`, which stand at the end, are read, too.
enum class Detail : std::uint8_t { state, switches };

/// Calls `look` with each thread of the process. False if it cannot be looked at from here, as pid
/// 0. A main thread that has ended (pthread_exit) stays in the list until the others have, and does
/// nothing: it is left out.
bool for_each_thread(int pid, Detail detail, const std::function<void(const Thread&)>& look);

/// How many threads the process has, if all but the searcher sleep and none is stopped or traced;
/// else 0. A thread that counted itself in, but was signalled before it slept, is found running.
unsigned sleeping_threads(int pid);

}  // namespace meantime::wait
