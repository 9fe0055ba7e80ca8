// Threads that a rank starts: they see the rank's variables as they are at the start of a thread,
// and write to its streams. They are nobody that a worker could run, so they may not call MPI, but
// for what any thread may ask, and MPI_Abort.
//   other_threads   how many of a rank's there are; the last one wakes the rank, if that waits for
//                   them all (pthread_exit)
#include <linux/futex.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>

#include "host/interpose/locale.h"
#include "host/interpose/offloaded.h"
#include "host/process/rank_state.h"
#include "protocol/host_interface.h"

namespace meantime::host {
namespace {

struct Start {
  RankState* rank;
  void* (*function)(void*);
  thrd_start_t of_c11;  ///< instead
  void* argument;
};

/// The thread of the key's value, which is its rank, ends: by return, pthread_exit or cancellation.
/// Its other values go first: libc takes keys by number and forgets the value of one that has no
/// destructor that it knows, so this key is older than any of a rank's.
/// The rank reads the count after it is offloaded, and the kernel looks at it once more
/// before it lets it sleep, so no wake-up is lost.
void thread_ends(void* value) {
  static_cast<RankState*>(value)->keys.destroy_values();
  release_thread_from_crashes();
  auto& count = static_cast<RankState*>(value)->other_threads;
  if (count.fetch_sub(1) == 1) {
    syscall(SYS_futex, &count, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }
}

pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    MEANTIME_REAL(pthread_key_create);
    pthread_key_t made{};
    real(&made, thread_ends);
    return made;
  }();
  return key;
}

/// The kernel thread that started this one runs other ranks, too, each with a working directory of
/// its own: it was one for both.
void have_files_of_the_rank(const RankState& rank) {
  unshare(CLONE_FS);
  const HostFiles& host = host_files();
  syscall(SYS_fchdir, rank.folder >= 0 ? rank.folder : host.folder);
  syscall(SYS_umask, rank.file_mask >= 0 ? rank.file_mask : host.mask);
}

void* begin(void* argument) {
  const Start start = *static_cast<Start*>(argument);
  delete static_cast<Start*>(argument);
  pthread_setspecific(end_key(), start.rank);
  start.rank->image.copy_thread_data(start.rank->program->closure);
  detail::current = start.rank;
  meantime_host_belong_to(start.rank->index);
  have_files_of_the_rank(*start.rank);
  begin_with_locale_of_rank();
  prepare_started_thread_for_crashes();
  if (start.of_c11 != nullptr) {
    return reinterpret_cast<void*>(static_cast<std::intptr_t>(start.of_c11(start.argument)));
  }
  return start.function(start.argument);
}

int start_thread(pthread_t* thread, const pthread_attr_t* attributes, const Start& what) {
  MEANTIME_REAL(pthread_create);
  auto* const start = new Start(what);
  RankState& rank = *what.rank;
  rank.image.data<char>(Datum::single_threaded) = 0;
  rank.other_threads.fetch_add(1);
  end_key();
  // The rank's worker is bound to a CPU; its threads may use all of the host's.
  const int error = real(thread, attributes, begin, start);
  if (error != 0) {
    delete start;
    rank.other_threads.fetch_sub(1);
  } else {
    pthread_setaffinity_np(*thread, sizeof(cpu_set_t), &host_cpus());
  }
  return error;
}

/// The rank's own thread ends its program when the last of the others has ended.
[[noreturn]] void end_after_the_others() {
  mine()->keys.destroy_values();
  {
    const Offloaded offloaded;
    auto& count = mine()->other_threads;
    for (int left = count.load(); left > 0; left = count.load()) {
      syscall(SYS_futex, &count, FUTEX_WAIT_PRIVATE, left, nullptr, nullptr, 0);
    }
  }
  end_rank(0, true);
}

}  // namespace

void prepare_for_threads() {
  end_key();
}

}  // namespace meantime::host

using namespace meantime::host;

MEANTIME_INTERPOSED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                       void* (*function)(void*), void* argument) noexcept {
  if (mine() == nullptr) {
    MEANTIME_REAL(pthread_create);
    return real(thread, attributes, function, argument);
  }
  return start_thread(thread, attributes, {mine(), function, nullptr, argument});
}
MEANTIME_INTERPOSED int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  if (mine() == nullptr) {
    MEANTIME_REAL(thrd_create);
    return real(thread, function, argument);
  }
  const int error = start_thread(thread, nullptr, {mine(), nullptr, function, argument});
  return error == 0 ? thrd_success : error == ENOMEM ? thrd_nomem : thrd_error;
}

MEANTIME_INTERPOSED void pthread_exit(void* result) {
  if (mine() != nullptr && meantime_host_index() >= 0) {
    end_after_the_others();
  }
  MEANTIME_REAL(pthread_exit);
  real(result);
  __builtin_unreachable();
}
MEANTIME_INTERPOSED void thrd_exit(int result) {
  pthread_exit(reinterpret_cast<void*>(static_cast<std::intptr_t>(result)));
}
/// A rank's own thread is parked, or runs the rank in a system call: it is not to be ended.
MEANTIME_INTERPOSED int pthread_cancel(pthread_t thread) {
  MEANTIME_REAL(pthread_cancel);
  return mine() != nullptr && pthread_equal(thread, mine()->thread) != 0 ? ENOTSUP : real(thread);
}

MEANTIME_INTERPOSED int MPI_Abort(MPI_Comm communicator, int code) {
  if (mine() != nullptr && meantime_host_index() < 0) {
    meantime_host_abort(code);
  }
  return PMPI_Abort(communicator, code);
}
