// The blocking collectives, each as its non-blocking twin and a wait of ours. Of those that reduce
// into all ranks the twin might add in another order: there all meet first, in a barrier that we
// wait for, and the collective itself is the host MPI's own, with the same bits as ever. Those that
// reduce otherwise (Reduce, Scan, Exscan) stay as they are: who only gives does not wait in them,
// and a meeting would make it.
#include "shim/agreement.h"
#include "shim/guests.h"
#include "shim/host_mpi.h"
#include "shim/waiting.h"

namespace meantime::shim {
namespace {

template <class... Arguments>
int by_twin(Host& plain, Host& twin, Handle communicator, const void* site,
            Arguments... arguments) {
  if (!has_guests() || !is_ours(communicator)) {
    return plain(arguments...);
  }
  Request request;
  const int error = twin(arguments..., &request.value);
  return error != success ? error : wait_for(request, site);
}

template <class... Arguments>
int after_meeting(Host& plain, Handle communicator, const void* site, Arguments... arguments) {
  static Host ibarrier("PMPI_Ibarrier");
  if (has_guests() && is_ours(communicator)) {
    Request request;
    int error = ibarrier(communicator, &request.value);
    error = error != success ? error : wait_for(request, site);
    if (error != success) {
      return error;
    }
  }
  return plain(arguments...);
}

}  // namespace
}  // namespace meantime::shim

using meantime::shim::Handle;

#define MEANTIME_BY_TWIN(name, twin_name, communicator, parameters, ...)                   \
  MEANTIME_SHIM(name, parameters) {                                                        \
    static meantime::shim::Host plain("PMPI_" #name);                                      \
    static meantime::shim::Host twin("PMPI_" #twin_name);                                  \
    return meantime::shim::by_twin(plain, twin, communicator, __builtin_return_address(0), \
                                   __VA_ARGS__);                                           \
  }
#define MEANTIME_MEETS(name, communicator, parameters, ...)                                \
  MEANTIME_SHIM(name, parameters) {                                                        \
    static meantime::shim::Host plain("PMPI_" #name);                                      \
    return meantime::shim::after_meeting(plain, communicator, __builtin_return_address(0), \
                                         __VA_ARGS__);                                     \
  }

MEANTIME_BY_TWIN(Barrier, Ibarrier, comm, (Handle comm), comm)
MEANTIME_BY_TWIN(Bcast, Ibcast, comm, (void* buffer, int count, Handle type, int root, Handle comm),
                 buffer, count, type, root, comm)
MEANTIME_BY_TWIN(Gather, Igather, comm,
                 (void* send, int count, Handle type, void* receive, int receive_count,
                  Handle receive_type, int root, Handle comm),
                 send, count, type, receive, receive_count, receive_type, root, comm)
MEANTIME_BY_TWIN(Gatherv, Igatherv, comm,
                 (void* send, int count, Handle type, void* receive, int* counts, int* places,
                  Handle receive_type, int root, Handle comm),
                 send, count, type, receive, counts, places, receive_type, root, comm)
MEANTIME_BY_TWIN(Scatter, Iscatter, comm,
                 (void* send, int count, Handle type, void* receive, int receive_count,
                  Handle receive_type, int root, Handle comm),
                 send, count, type, receive, receive_count, receive_type, root, comm)
MEANTIME_BY_TWIN(Scatterv, Iscatterv, comm,
                 (void* send, int* counts, int* places, Handle type, void* receive,
                  int receive_count, Handle receive_type, int root, Handle comm),
                 send, counts, places, type, receive, receive_count, receive_type, root, comm)
MEANTIME_BY_TWIN(Allgather, Iallgather, comm,
                 (void* send, int count, Handle type, void* receive, int receive_count,
                  Handle receive_type, Handle comm),
                 send, count, type, receive, receive_count, receive_type, comm)
MEANTIME_BY_TWIN(Allgatherv, Iallgatherv, comm,
                 (void* send, int count, Handle type, void* receive, int* counts, int* places,
                  Handle receive_type, Handle comm),
                 send, count, type, receive, counts, places, receive_type, comm)
MEANTIME_BY_TWIN(Alltoall, Ialltoall, comm,
                 (void* send, int count, Handle type, void* receive, int receive_count,
                  Handle receive_type, Handle comm),
                 send, count, type, receive, receive_count, receive_type, comm)
MEANTIME_BY_TWIN(Alltoallv, Ialltoallv, comm,
                 (void* send, int* counts, int* places, Handle type, void* receive,
                  int* receive_counts, int* receive_places, Handle receive_type, Handle comm),
                 send, counts, places, type, receive, receive_counts, receive_places, receive_type,
                 comm)
MEANTIME_BY_TWIN(Alltoallw, Ialltoallw, comm,
                 (void* send, int* counts, int* places, void* types, void* receive,
                  int* receive_counts, int* receive_places, void* receive_types, Handle comm),
                 send, counts, places, types, receive, receive_counts, receive_places,
                 receive_types, comm)
MEANTIME_MEETS(Allreduce, comm,
               (void* send, void* receive, int count, Handle type, Handle op, Handle comm), send,
               receive, count, type, op, comm)
MEANTIME_MEETS(Reduce_scatter, comm,
               (void* send, void* receive, int* counts, Handle type, Handle op, Handle comm), send,
               receive, counts, type, op, comm)
MEANTIME_MEETS(Reduce_scatter_block, comm,
               (void* send, void* receive, int count, Handle type, Handle op, Handle comm), send,
               receive, count, type, op, comm)
