// MPI 5.0, 11.2 and 11.4: the beginning and the end.
#include <fmt/format.h>
#include <pthread.h>

#include <string>

#include "api/generated/calls.h"
#include "core/error/abort.h"
#include "core/error/error.h"
#include "core/error/error_attribution.h"
#include "core/object/tables.h"
#include "core/request/buffered.h"
#include "core/start/use.h"
#include "node/control_client.h"
#include "rank/rank.h"

namespace meantime::api {

int Init(int* argc, char*** argv) {
  int provided = 0;
  return Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

int Init_thread(int*, char***, int required, int* provided) {
  Rank& rank = self();
  if (rank.world_initialized) {
    return fail(MPI_ERR_OTHER, "MPI has been initialised before");
  }
  const int level = required < MPI_THREAD_SINGLE     ? MPI_THREAD_SINGLE
                    : required > MPI_THREAD_MULTIPLE ? MPI_THREAD_MULTIPLE
                                                     : required;
  if (const int error = core::begin_use(rank, level); error != MPI_SUCCESS) {
    return error;
  }
  if (rank.users > 1 && rank.control != nullptr) {
    rank.control->sessions_only(false);
  }
  rank.main_thread = static_cast<std::uint64_t>(pthread_self());
  *provided = rank.thread_level;
  rank.world_initialized = true;
  rank.world = rank.all_ranks;
  rank.alone = rank.only_this;
  return MPI_SUCCESS;
}

int Finalize() {
  Rank& rank = self();
  if (rank.phase.load() == Phase::forked) {
    return MPI_SUCCESS;  // as Python's handlers at exit have it, in a child as well
  }
  if (!rank.world_initialized || rank.world_finalized) {
    return fail(MPI_ERR_OTHER, "MPI_Init has not been called, or MPI_Finalize has been");
  }
  int deleted = core::delete_final_attributes(rank);
  if (rank.users == 1) {  // no session is left
    const int of_types = core::delete_named_types_attributes();
    deleted = deleted != MPI_SUCCESS ? deleted : of_types;
  }
  if (rank.users > 1) {
    core::flush_buffer(core::process_buffer());  // as if it were detached (MPI 5.0, 11.2.2)
    if (rank.control != nullptr) {
      rank.control->sessions_only(true);
    }
  }
  if (deleted != MPI_SUCCESS) {
    attribute_error(rank.only_this);  // this call's errors are not after it
  }
  core::wait_for_other_nodes(rank);
  rank.world_finalized = true;
  rank.world = nullptr;
  rank.alone = nullptr;
  const int ended = core::end_use(rank);
  return deleted != MPI_SUCCESS ? deleted : ended;
}

int Abort(Communicator&, int errorcode) {
  const Rank& rank = self();
  // Where there is an mpiexec, it is the one to say who called it.
  core::abort_job(errorcode, rank.control != nullptr
                                 ? std::string{}
                                 : fmt::format("MPI_Abort was called with code {}", errorcode));
}

}  // namespace meantime::api
