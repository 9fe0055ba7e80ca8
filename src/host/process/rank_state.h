// What the host keeps of a thread rank: its image, its own streams and descriptors, its exit
// handlers, and the state that libc has once for a process.
//   mine()   the rank whose code calls; nullptr in the host's own code and in threads that are no
//            rank. It is thread-local, so a rank finds its own wherever it runs.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "host/image/image.h"
#include "host/interpose/open_streams.h"
#include "host/interpose/own_keys.h"
#include "host/interpose/own_results.h"
#include "host/process/children.h"
#include "host/process/own_descriptor.h"

namespace meantime::host {

/// A function to be called when the rank ends.
struct AtExit {
  void (*function)(void*) = nullptr;
  void (*with_status)(int, void*) = nullptr;  ///< on_exit's
  void* argument = nullptr;
  void* owner = nullptr;  ///< the object (DSO) that it belongs to
};

/// What the ranks that run a program have in common.
struct Program {
  int number = 0;    ///< in the job
  std::string file;  ///< its path, whatever the directory is
  Closure closure;
  std::vector<char*> words;  ///< null at the end
};

struct RankState {
  int world_rank = -1;
  int index = -1;  ///< in the host
  const Program* program = nullptr;
  Image image;
  PrivateData fallback;
  Descriptors descriptors;
  OpenStreams streams;
  Children children;
  OwnKeys keys;
  std::vector<AtExit> at_exit;
  std::vector<AtExit> at_quick_exit;
  std::vector<AtExit> at_thread_exit;
  bool ending = false;
  std::atomic<bool> ended{false};  ///< its descriptors are closed; some thread of it may go on

  char* stack_low = nullptr;  ///< the lowest address of its stack; the guard lies below

  // Of libc's functions that keep something between two calls.
  char* strtok_place = nullptr;
  random_data random{};
  char random_bytes[128];
  bool random_ready = false;
  drand48_data drand48{};
  struct {
    char* place = nullptr;  ///< within a group of short options
    int first_other = 1;    ///< words that are no options, moved behind: from here …
    int last_other = 1;     ///< … to here
    bool begun = false;
  } getopt;

  std::unique_ptr<OwnResults> results;       ///< once it has called a function that has some
  std::atomic<const void*> locale{nullptr};  ///< that it has set (interpose/locale.cpp); none: "C"

  pthread_t thread{};                 ///< its own
  std::atomic<int> other_threads{0};  ///< that it has started and that have not ended

  int folder = -1;                     ///< its working directory, once it has one of its own
  int file_mask = -1;                  ///< its mask for new files, likewise
  std::vector<char*> given_variables;  ///< its environment at the beginning, null at the end
  std::string numbers[2];              ///< among them: those that tell its rank
  std::vector<char*> variables;        ///< its environment, once it has changed it

  /// Where its program has its `environ`.
  char*** environment() { return &image.data<char**>(Datum::environment); }
  std::FILE*& standard_input() { return image.data<std::FILE*>(Datum::standard_input); }
  std::FILE*& standard_output() { return image.data<std::FILE*>(Datum::standard_output); }
  std::FILE*& standard_error() { return image.data<std::FILE*>(Datum::standard_error); }
};

namespace detail {
extern thread_local RankState* current;
}
inline RankState* mine() {
  return detail::current;
}

/// What a rank has that never asked for one of its own.
struct HostFiles {
  int folder;  ///< the working directory
  int mask;    ///< for new files
};
const HostFiles& host_files();

/// The CPUs that this process may use.
const cpu_set_t& host_cpus();

/// The calling rank ends with this status; with `handlers` as exit() does, else as _exit().
[[noreturn]] void end_rank(int status, bool handlers);
/// Runs the handlers of one object, or of all (nullptr), newest first.
void run_exit_handlers(RankState& rank, void* owner, int status);

/// libc's own, where this library interposes a function of the same name.
void* real_function(const char* name);
/// `known` is where it is kept once found. (By who comes first, twice perhaps: the guard of a
/// static variable would have the second wait, with all ranks of its worker, and change errno.)
inline void* real_function(const char* name, std::atomic<void*>& known) {
  void* function = known.load(std::memory_order_relaxed);
  if (function == nullptr) [[unlikely]] {
    function = real_function(name);
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

/// Before any rank's code runs.
void prepare_for_threads();

/// Crashes are reported with their rank. Once, and for each kernel thread that runs ranks; on a
/// thread that a rank has started, at its beginning and at its end. `guard_bytes`: below each
/// stack.
void catch_crashes(std::size_t guard_bytes);
void prepare_thread_for_crashes();
void prepare_started_thread_for_crashes();
void release_thread_from_crashes();

}  // namespace meantime::host

/// Interposed: a function that programs find in place of libc's.
#define MEANTIME_INTERPOSED extern "C" __attribute__((visibility("default")))
#define MEANTIME_REAL(name) MEANTIME_REAL_OF(name, real)
#define MEANTIME_REAL_OF(name, variable)      \
  static std::atomic<void*> variable##_known; \
  auto* const variable =                      \
      reinterpret_cast<decltype(&::name)>(meantime::host::real_function(#name, variable##_known))
