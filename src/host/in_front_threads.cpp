// Threads that a rank starts: they see the rank's variables as they are at the start of a thread,
// and write to its streams. They are nobody that a worker could run, so they may not call MPI, but
// for what any thread may ask, and MPI_Abort.
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "host/rank_state.h"
#include "rank/host.h"

namespace meantime::host {
namespace {

struct Start {
  RankState* rank;
  void* (*function)(void*);
  void* argument;
};

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
  start.rank->image.copy_thread_data(start.rank->program->closure);
  detail::current = start.rank;
  meantime_host_belong_to(start.rank->index);
  have_files_of_the_rank(*start.rank);
  return start.function(start.argument);
}

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

MEANTIME_IN_FRONT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                     void* (*function)(void*), void* argument) noexcept {
  MEANTIME_REAL(pthread_create);
  if (mine() == nullptr) {
    return real(thread, attributes, function, argument);
  }
  auto* start = new Start{mine(), function, argument};
  mine()->image.data<char>(Datum::single_threaded) = 0;
  // The rank's worker is bound to a CPU; its threads may use all of the host's.
  const int error = real(thread, attributes, begin, start);
  if (error != 0) {
    delete start;
  } else {
    pthread_setaffinity_np(*thread, sizeof(cpu_set_t), &host_cpus());
  }
  return error;
}

MEANTIME_IN_FRONT int MPI_Abort(MPI_Comm communicator, int code) {
  if (mine() != nullptr && meantime_host_index() < 0) {
    meantime_host_abort(code);
  }
  return PMPI_Abort(communicator, code);
}
