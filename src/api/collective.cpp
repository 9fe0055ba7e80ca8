// Entry points of the collectives: blocking, non-blocking and persistent forms of each.
// A collective is named once, as a plan (coll/plans.h); its blocking form prefers shared memory.
#include "coll/collectives.h"
#include "core/error.h"
#include "core/handles.h"
#include "generated/calls.h"

namespace meantime::api {
namespace {

using coll::Blocks;
using coll::Elements;
using coll::has_area;
using coll::launch_plan;
using coll::MemberCounts;
using coll::Piece;
using coll::Reduction;
using coll::run_plan;
using coll::Schedule;
namespace plans = coll::plans;
namespace shared = coll::shared;

constexpr bool persistent = true;

bool reduces_in_shared_memory(const Reduction& reduction, Communicator& comm) {
  return has_area(comm) && Elements(reduction.type).fit();
}

}  // namespace

// --- MPI_Barrier

int Barrier(Communicator& comm) {
  if (has_area(comm)) {
    return shared::barrier(comm);
  }
  return run_plan(comm, [&](Schedule& schedule) { return plans::barrier(schedule, comm); });
}

int Ibarrier(Communicator& comm, MPI_Request* request) {
  return launch_plan(comm, !persistent, request,
                     [&](Schedule& schedule) { return plans::barrier(schedule, comm); });
}

int Barrier_init(Communicator& comm, Info*, MPI_Request* request) {
  return launch_plan(comm, persistent, request,
                     [&](Schedule& schedule) { return plans::barrier(schedule, comm); });
}

// --- MPI_Bcast

int Bcast(void* buffer, MPI_Count count, Datatype& datatype, int root, Communicator& comm) {
  if (has_area(comm)) {
    return shared::bcast(Piece{buffer, count, datatype}, root, comm);
  }
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::bcast(schedule, Piece{buffer, count, datatype}, root, comm);
  });
}

int Ibcast(void* buffer, MPI_Count count, Datatype& datatype, int root, Communicator& comm,
           MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::bcast(schedule, Piece{buffer, count, datatype}, root, comm);
  });
}

int Bcast_init(void* buffer, MPI_Count count, Datatype& datatype, int root, Communicator& comm,
               Info*, MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::bcast(schedule, Piece{buffer, count, datatype}, root, comm);
  });
}

// --- MPI_Gather

int Gather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
           MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm) {
  if (has_area(comm)) {
    return shared::gather(Piece{sendbuf, sendcount, sendtype}, Blocks{recvbuf, recvcount, recvtype},
                          root, comm);
  }
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::gather(schedule, Piece{sendbuf, sendcount, sendtype},
                         Blocks{recvbuf, recvcount, recvtype}, root, comm);
  });
}

int Igather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
            MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm,
            MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::gather(schedule, Piece{sendbuf, sendcount, sendtype},
                         Blocks{recvbuf, recvcount, recvtype}, root, comm);
  });
}

int Gather_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm, Info*,
                MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::gather(schedule, Piece{sendbuf, sendcount, sendtype},
                         Blocks{recvbuf, recvcount, recvtype}, root, comm);
  });
}

// --- MPI_Gatherv

int Gatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
            Counts recvcounts, Displacements displs, Datatype& recvtype, int root,
            Communicator& comm) {
  if (has_area(comm)) {
    return shared::gather(Piece{sendbuf, sendcount, sendtype},
                          Blocks{recvbuf, recvcounts, displs, recvtype}, root, comm);
  }
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::gather(schedule, Piece{sendbuf, sendcount, sendtype},
                         Blocks{recvbuf, recvcounts, displs, recvtype}, root, comm);
  });
}

int Igatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
             Counts recvcounts, Displacements displs, Datatype& recvtype, int root,
             Communicator& comm, MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::gather(schedule, Piece{sendbuf, sendcount, sendtype},
                         Blocks{recvbuf, recvcounts, displs, recvtype}, root, comm);
  });
}

int Gatherv_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                 Counts recvcounts, Displacements displs, Datatype& recvtype, int root,
                 Communicator& comm, Info*, MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::gather(schedule, Piece{sendbuf, sendcount, sendtype},
                         Blocks{recvbuf, recvcounts, displs, recvtype}, root, comm);
  });
}

// --- MPI_Scatter

int Scatter(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
            MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm) {
  if (has_area(comm)) {
    return shared::scatter(Blocks{sendbuf, sendcount, sendtype},
                           Piece{recvbuf, recvcount, recvtype}, root, comm);
  }
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::scatter(schedule, Blocks{sendbuf, sendcount, sendtype},
                          Piece{recvbuf, recvcount, recvtype}, root, comm);
  });
}

int Iscatter(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
             MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm,
             MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::scatter(schedule, Blocks{sendbuf, sendcount, sendtype},
                          Piece{recvbuf, recvcount, recvtype}, root, comm);
  });
}

int Scatter_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                 MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm, Info*,
                 MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::scatter(schedule, Blocks{sendbuf, sendcount, sendtype},
                          Piece{recvbuf, recvcount, recvtype}, root, comm);
  });
}

// --- MPI_Scatterv

int Scatterv(const void* sendbuf, Counts sendcounts, Displacements displs, Datatype& sendtype,
             void* recvbuf, MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm) {
  if (has_area(comm)) {
    return shared::scatter(Blocks{sendbuf, sendcounts, displs, sendtype},
                           Piece{recvbuf, recvcount, recvtype}, root, comm);
  }
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::scatter(schedule, Blocks{sendbuf, sendcounts, displs, sendtype},
                          Piece{recvbuf, recvcount, recvtype}, root, comm);
  });
}

int Iscatterv(const void* sendbuf, Counts sendcounts, Displacements displs, Datatype& sendtype,
              void* recvbuf, MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm,
              MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::scatter(schedule, Blocks{sendbuf, sendcounts, displs, sendtype},
                          Piece{recvbuf, recvcount, recvtype}, root, comm);
  });
}

int Scatterv_init(const void* sendbuf, Counts sendcounts, Displacements displs, Datatype& sendtype,
                  void* recvbuf, MPI_Count recvcount, Datatype& recvtype, int root,
                  Communicator& comm, Info*, MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::scatter(schedule, Blocks{sendbuf, sendcounts, displs, sendtype},
                          Piece{recvbuf, recvcount, recvtype}, root, comm);
  });
}

// --- MPI_Allgather

int Allgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
              MPI_Count recvcount, Datatype& recvtype, Communicator& comm) {
  if (has_area(comm)) {
    return shared::allgather(Piece{sendbuf, sendcount, sendtype},
                             Blocks{recvbuf, recvcount, recvtype}, comm);
  }
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::allgather(schedule, Piece{sendbuf, sendcount, sendtype},
                            Blocks{recvbuf, recvcount, recvtype}, comm);
  });
}

int Iallgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
               MPI_Count recvcount, Datatype& recvtype, Communicator& comm, MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::allgather(schedule, Piece{sendbuf, sendcount, sendtype},
                            Blocks{recvbuf, recvcount, recvtype}, comm);
  });
}

int Allgather_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                   MPI_Count recvcount, Datatype& recvtype, Communicator& comm, Info*,
                   MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::allgather(schedule, Piece{sendbuf, sendcount, sendtype},
                            Blocks{recvbuf, recvcount, recvtype}, comm);
  });
}

// --- MPI_Allgatherv

int Allgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
               Counts recvcounts, Displacements displs, Datatype& recvtype, Communicator& comm) {
  if (has_area(comm)) {
    return shared::allgather(Piece{sendbuf, sendcount, sendtype},
                             Blocks{recvbuf, recvcounts, displs, recvtype}, comm);
  }
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::allgather(schedule, Piece{sendbuf, sendcount, sendtype},
                            Blocks{recvbuf, recvcounts, displs, recvtype}, comm);
  });
}

int Iallgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                Counts recvcounts, Displacements displs, Datatype& recvtype, Communicator& comm,
                MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::allgather(schedule, Piece{sendbuf, sendcount, sendtype},
                            Blocks{recvbuf, recvcounts, displs, recvtype}, comm);
  });
}

int Allgatherv_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                    Counts recvcounts, Displacements displs, Datatype& recvtype, Communicator& comm,
                    Info*, MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::allgather(schedule, Piece{sendbuf, sendcount, sendtype},
                            Blocks{recvbuf, recvcounts, displs, recvtype}, comm);
  });
}

// --- MPI_Alltoall

int Alltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
             MPI_Count recvcount, Datatype& recvtype, Communicator& comm) {
  if (has_area(comm)) {
    return shared::alltoall(Blocks{sendbuf, sendcount, sendtype},
                            Blocks{recvbuf, recvcount, recvtype}, comm);
  }
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::alltoall(schedule, Blocks{sendbuf, sendcount, sendtype},
                           Blocks{recvbuf, recvcount, recvtype}, comm);
  });
}

int Ialltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
              MPI_Count recvcount, Datatype& recvtype, Communicator& comm, MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::alltoall(schedule, Blocks{sendbuf, sendcount, sendtype},
                           Blocks{recvbuf, recvcount, recvtype}, comm);
  });
}

int Alltoall_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                  MPI_Count recvcount, Datatype& recvtype, Communicator& comm, Info*,
                  MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::alltoall(schedule, Blocks{sendbuf, sendcount, sendtype},
                           Blocks{recvbuf, recvcount, recvtype}, comm);
  });
}

// --- MPI_Alltoallv

int Alltoallv(const void* sendbuf, Counts sendcounts, Displacements sdispls, Datatype& sendtype,
              void* recvbuf, Counts recvcounts, Displacements rdispls, Datatype& recvtype,
              Communicator& comm) {
  if (has_area(comm)) {
    return shared::alltoall(Blocks{sendbuf, sendcounts, sdispls, sendtype},
                            Blocks{recvbuf, recvcounts, rdispls, recvtype}, comm);
  }
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::alltoall(schedule, Blocks{sendbuf, sendcounts, sdispls, sendtype},
                           Blocks{recvbuf, recvcounts, rdispls, recvtype}, comm);
  });
}

int Ialltoallv(const void* sendbuf, Counts sendcounts, Displacements sdispls, Datatype& sendtype,
               void* recvbuf, Counts recvcounts, Displacements rdispls, Datatype& recvtype,
               Communicator& comm, MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::alltoall(schedule, Blocks{sendbuf, sendcounts, sdispls, sendtype},
                           Blocks{recvbuf, recvcounts, rdispls, recvtype}, comm);
  });
}

int Alltoallv_init(const void* sendbuf, Counts sendcounts, Displacements sdispls,
                   Datatype& sendtype, void* recvbuf, Counts recvcounts, Displacements rdispls,
                   Datatype& recvtype, Communicator& comm, Info*, MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::alltoall(schedule, Blocks{sendbuf, sendcounts, sdispls, sendtype},
                           Blocks{recvbuf, recvcounts, rdispls, recvtype}, comm);
  });
}

// --- MPI_Alltoallw

int Alltoallw(const void* sendbuf, Counts sendcounts, Displacements sdispls,
              const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts,
              Displacements rdispls, const MPI_Datatype recvtypes[], Communicator& comm) {
  if (has_area(comm)) {
    return shared::alltoall(Blocks{sendbuf, sendcounts, sdispls, sendtypes},
                            Blocks{recvbuf, recvcounts, rdispls, recvtypes}, comm);
  }
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::alltoall(schedule, Blocks{sendbuf, sendcounts, sdispls, sendtypes},
                           Blocks{recvbuf, recvcounts, rdispls, recvtypes}, comm);
  });
}

int Ialltoallw(const void* sendbuf, Counts sendcounts, Displacements sdispls,
               const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts,
               Displacements rdispls, const MPI_Datatype recvtypes[], Communicator& comm,
               MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::alltoall(schedule, Blocks{sendbuf, sendcounts, sdispls, sendtypes},
                           Blocks{recvbuf, recvcounts, rdispls, recvtypes}, comm);
  });
}

int Alltoallw_init(const void* sendbuf, Counts sendcounts, Displacements sdispls,
                   const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts,
                   Displacements rdispls, const MPI_Datatype recvtypes[], Communicator& comm, Info*,
                   MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::alltoall(schedule, Blocks{sendbuf, sendcounts, sdispls, sendtypes},
                           Blocks{recvbuf, recvcounts, rdispls, recvtypes}, comm);
  });
}

// --- MPI_Reduce

int Reduce(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
           int root, Communicator& comm) {
  const Reduction reduction{sendbuf, recvbuf, count, datatype, op};
  if (const int error = comm.takes_part(root) ? check_op(op, datatype) : MPI_SUCCESS;
      error != MPI_SUCCESS) {
    return error;
  }
  if (reduces_in_shared_memory(reduction, comm)) {
    return shared::reduce(reduction, root, comm);
  }
  return run_plan(
      comm, [&](Schedule& schedule) { return plans::reduce(schedule, reduction, root, comm); });
}

int Ireduce(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
            int root, Communicator& comm, MPI_Request* request) {
  const Reduction reduction{sendbuf, recvbuf, count, datatype, op};
  if (const int error = comm.takes_part(root) ? check_op(op, datatype) : MPI_SUCCESS;
      error != MPI_SUCCESS) {
    return error;
  }
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::reduce(schedule, reduction, root, comm);
  });
}

int Reduce_init(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
                int root, Communicator& comm, Info*, MPI_Request* request) {
  const Reduction reduction{sendbuf, recvbuf, count, datatype, op};
  if (const int error = comm.takes_part(root) ? check_op(op, datatype) : MPI_SUCCESS;
      error != MPI_SUCCESS) {
    return error;
  }
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::reduce(schedule, reduction, root, comm);
  });
}

// --- MPI_Allreduce

int Allreduce(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
              Communicator& comm) {
  const Reduction reduction{sendbuf, recvbuf, count, datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  if (reduces_in_shared_memory(reduction, comm)) {
    return shared::allreduce(reduction, comm);
  }
  return run_plan(comm,
                  [&](Schedule& schedule) { return plans::allreduce(schedule, reduction, comm); });
}

int Iallreduce(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
               Communicator& comm, MPI_Request* request) {
  const Reduction reduction{sendbuf, recvbuf, count, datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::allreduce(schedule, reduction, comm);
  });
}

int Allreduce_init(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
                   Communicator& comm, Info*, MPI_Request* request) {
  const Reduction reduction{sendbuf, recvbuf, count, datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::allreduce(schedule, reduction, comm);
  });
}

// --- MPI_Scan

int Scan(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
         Communicator& comm) {
  const Reduction reduction{sendbuf, recvbuf, count, datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  if (reduces_in_shared_memory(reduction, comm)) {
    return shared::scan(reduction, true, comm);
  }
  return run_plan(comm,
                  [&](Schedule& schedule) { return plans::scan(schedule, reduction, true, comm); });
}

int Iscan(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
          Communicator& comm, MPI_Request* request) {
  const Reduction reduction{sendbuf, recvbuf, count, datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::scan(schedule, reduction, true, comm);
  });
}

int Scan_init(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
              Communicator& comm, Info*, MPI_Request* request) {
  const Reduction reduction{sendbuf, recvbuf, count, datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::scan(schedule, reduction, true, comm);
  });
}

// --- MPI_Exscan

int Exscan(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
           Communicator& comm) {
  const Reduction reduction{sendbuf, recvbuf, count, datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  if (reduces_in_shared_memory(reduction, comm)) {
    return shared::scan(reduction, false, comm);
  }
  return run_plan(
      comm, [&](Schedule& schedule) { return plans::scan(schedule, reduction, false, comm); });
}

int Iexscan(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
            Communicator& comm, MPI_Request* request) {
  const Reduction reduction{sendbuf, recvbuf, count, datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::scan(schedule, reduction, false, comm);
  });
}

int Exscan_init(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
                Communicator& comm, Info*, MPI_Request* request) {
  const Reduction reduction{sendbuf, recvbuf, count, datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::scan(schedule, reduction, false, comm);
  });
}

// --- MPI_Reduce_scatter

int Reduce_scatter(const void* sendbuf, void* recvbuf, Counts recvcounts, Datatype& datatype,
                   Op& op, Communicator& comm) {
  const MemberCounts counts(recvcounts, comm.size);
  const Reduction reduction{sendbuf, recvbuf, counts.sum(), datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  if (reduces_in_shared_memory(reduction, comm)) {
    return shared::reduce_scatter(reduction, counts, comm);
  }
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::reduce_scatter(schedule, reduction, counts, comm);
  });
}

int Ireduce_scatter(const void* sendbuf, void* recvbuf, Counts recvcounts, Datatype& datatype,
                    Op& op, Communicator& comm, MPI_Request* request) {
  const MemberCounts counts(recvcounts, comm.size);
  const Reduction reduction{sendbuf, recvbuf, counts.sum(), datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::reduce_scatter(schedule, reduction, counts, comm);
  });
}

int Reduce_scatter_init(const void* sendbuf, void* recvbuf, Counts recvcounts, Datatype& datatype,
                        Op& op, Communicator& comm, Info*, MPI_Request* request) {
  const MemberCounts counts(recvcounts, comm.size);
  const Reduction reduction{sendbuf, recvbuf, counts.sum(), datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::reduce_scatter(schedule, reduction, counts, comm);
  });
}

// --- MPI_Reduce_scatter_block

int Reduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                         Datatype& datatype, Op& op, Communicator& comm) {
  const MemberCounts counts(recvcount, comm.size);
  const Reduction reduction{sendbuf, recvbuf, counts.sum(), datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  if (reduces_in_shared_memory(reduction, comm)) {
    return shared::reduce_scatter(reduction, counts, comm);
  }
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::reduce_scatter(schedule, reduction, counts, comm);
  });
}

int Ireduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                          Datatype& datatype, Op& op, Communicator& comm, MPI_Request* request) {
  const MemberCounts counts(recvcount, comm.size);
  const Reduction reduction{sendbuf, recvbuf, counts.sum(), datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::reduce_scatter(schedule, reduction, counts, comm);
  });
}

int Reduce_scatter_block_init(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                              Datatype& datatype, Op& op, Communicator& comm, Info*,
                              MPI_Request* request) {
  const MemberCounts counts(recvcount, comm.size);
  const Reduction reduction{sendbuf, recvbuf, counts.sum(), datatype, op};
  if (const int error = check_op(op, datatype); error != MPI_SUCCESS) {
    return error;
  }
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::reduce_scatter(schedule, reduction, counts, comm);
  });
}

// --- MPI_Neighbor_allgather

int Neighbor_allgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                       MPI_Count recvcount, Datatype& recvtype, Communicator& comm) {
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::neighbor_allgather(schedule, Piece{sendbuf, sendcount, sendtype},
                                     Blocks{recvbuf, recvcount, recvtype}, comm);
  });
}

int Ineighbor_allgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                        MPI_Count recvcount, Datatype& recvtype, Communicator& comm,
                        MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::neighbor_allgather(schedule, Piece{sendbuf, sendcount, sendtype},
                                     Blocks{recvbuf, recvcount, recvtype}, comm);
  });
}

int Neighbor_allgather_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                            void* recvbuf, MPI_Count recvcount, Datatype& recvtype,
                            Communicator& comm, Info*, MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::neighbor_allgather(schedule, Piece{sendbuf, sendcount, sendtype},
                                     Blocks{recvbuf, recvcount, recvtype}, comm);
  });
}

// --- MPI_Neighbor_allgatherv

int Neighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                        Counts recvcounts, Displacements displs, Datatype& recvtype,
                        Communicator& comm) {
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::neighbor_allgather(schedule, Piece{sendbuf, sendcount, sendtype},
                                     Blocks{recvbuf, recvcounts, displs, recvtype}, comm);
  });
}

int Ineighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                         void* recvbuf, Counts recvcounts, Displacements displs, Datatype& recvtype,
                         Communicator& comm, MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::neighbor_allgather(schedule, Piece{sendbuf, sendcount, sendtype},
                                     Blocks{recvbuf, recvcounts, displs, recvtype}, comm);
  });
}

int Neighbor_allgatherv_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                             void* recvbuf, Counts recvcounts, Displacements displs,
                             Datatype& recvtype, Communicator& comm, Info*, MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::neighbor_allgather(schedule, Piece{sendbuf, sendcount, sendtype},
                                     Blocks{recvbuf, recvcounts, displs, recvtype}, comm);
  });
}

// --- MPI_Neighbor_alltoall

int Neighbor_alltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                      MPI_Count recvcount, Datatype& recvtype, Communicator& comm) {
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::neighbor_alltoall(schedule, Blocks{sendbuf, sendcount, sendtype},
                                    Blocks{recvbuf, recvcount, recvtype}, comm);
  });
}

int Ineighbor_alltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                       MPI_Count recvcount, Datatype& recvtype, Communicator& comm,
                       MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::neighbor_alltoall(schedule, Blocks{sendbuf, sendcount, sendtype},
                                    Blocks{recvbuf, recvcount, recvtype}, comm);
  });
}

int Neighbor_alltoall_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                           void* recvbuf, MPI_Count recvcount, Datatype& recvtype,
                           Communicator& comm, Info*, MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::neighbor_alltoall(schedule, Blocks{sendbuf, sendcount, sendtype},
                                    Blocks{recvbuf, recvcount, recvtype}, comm);
  });
}

// --- MPI_Neighbor_alltoallv

int Neighbor_alltoallv(const void* sendbuf, Counts sendcounts, Displacements sdispls,
                       Datatype& sendtype, void* recvbuf, Counts recvcounts, Displacements rdispls,
                       Datatype& recvtype, Communicator& comm) {
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::neighbor_alltoall(schedule, Blocks{sendbuf, sendcounts, sdispls, sendtype},
                                    Blocks{recvbuf, recvcounts, rdispls, recvtype}, comm);
  });
}

int Ineighbor_alltoallv(const void* sendbuf, Counts sendcounts, Displacements sdispls,
                        Datatype& sendtype, void* recvbuf, Counts recvcounts, Displacements rdispls,
                        Datatype& recvtype, Communicator& comm, MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::neighbor_alltoall(schedule, Blocks{sendbuf, sendcounts, sdispls, sendtype},
                                    Blocks{recvbuf, recvcounts, rdispls, recvtype}, comm);
  });
}

int Neighbor_alltoallv_init(const void* sendbuf, Counts sendcounts, Displacements sdispls,
                            Datatype& sendtype, void* recvbuf, Counts recvcounts,
                            Displacements rdispls, Datatype& recvtype, Communicator& comm, Info*,
                            MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::neighbor_alltoall(schedule, Blocks{sendbuf, sendcounts, sdispls, sendtype},
                                    Blocks{recvbuf, recvcounts, rdispls, recvtype}, comm);
  });
}

// --- MPI_Neighbor_alltoallw

int Neighbor_alltoallw(const void* sendbuf, Counts sendcounts, const MPI_Aint sdispls[],
                       const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts,
                       const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                       Communicator& comm) {
  return run_plan(comm, [&](Schedule& schedule) {
    return plans::neighbor_alltoall(schedule, Blocks{sendbuf, sendcounts, sdispls, sendtypes},
                                    Blocks{recvbuf, recvcounts, rdispls, recvtypes}, comm);
  });
}

int Ineighbor_alltoallw(const void* sendbuf, Counts sendcounts, const MPI_Aint sdispls[],
                        const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts,
                        const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                        Communicator& comm, MPI_Request* request) {
  return launch_plan(comm, !persistent, request, [&](Schedule& schedule) {
    return plans::neighbor_alltoall(schedule, Blocks{sendbuf, sendcounts, sdispls, sendtypes},
                                    Blocks{recvbuf, recvcounts, rdispls, recvtypes}, comm);
  });
}

int Neighbor_alltoallw_init(const void* sendbuf, Counts sendcounts, const MPI_Aint sdispls[],
                            const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts,
                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                            Communicator& comm, Info*, MPI_Request* request) {
  return launch_plan(comm, persistent, request, [&](Schedule& schedule) {
    return plans::neighbor_alltoall(schedule, Blocks{sendbuf, sendcounts, sdispls, sendtypes},
                                    Blocks{recvbuf, recvcounts, rdispls, recvtypes}, comm);
  });
}

}  // namespace meantime::api
