// Entry points of the reductions (MPI 5.0, 6.9 to 6.11; non-blocking 6.12, persistent 6.13).
#include "coll/by_nodes/by_nodes.h"
#include "coll/collectives.h"
#include "core/object/handles.h"
#include "generated/calls.h"

namespace meantime::api {

namespace collective {
namespace {

using coll::MemberCounts;
using coll::Reduction;
using coll::Schedule;
using coll::by_nodes::How;
using coll::by_nodes::Steps;
namespace plans = coll::plans;
namespace shared = coll::shared;

bool fits(const Reduction& reduction, Communicator& comm) {
  return coll::has_area(comm) && coll::Elements(reduction.type, reduction.op).fit();
}

struct Reduce {
  Communicator& comm;
  Reduction reduction;
  int root;

  int check() const {
    return comm.takes_part(root) ? check_op(reduction.op, reduction.type) : MPI_SUCCESS;
  }
  bool can_meet() const { return fits(reduction, comm); }
  int meet() const { return shared::reduce(reduction, root, comm); }
  bool can_go_by_nodes(How how) const { return coll::by_nodes::can_reduce(reduction, how, comm); }
  void by_nodes(Steps& steps) const { coll::by_nodes::reduce(steps, reduction, root); }
  int plan(Schedule& schedule) const { return plans::reduce(schedule, reduction, root, comm); }
};

struct Allreduce {
  Communicator& comm;
  Reduction reduction;

  int check() const { return check_op(reduction.op, reduction.type); }
  bool can_meet() const { return fits(reduction, comm); }
  int meet() const { return shared::allreduce(reduction, comm); }
  bool can_go_by_nodes(How how) const { return coll::by_nodes::can_reduce(reduction, how, comm); }
  void by_nodes(Steps& steps) const { coll::by_nodes::allreduce(steps, reduction); }
  int plan(Schedule& schedule) const { return plans::allreduce(schedule, reduction, comm); }
};

struct Scan {
  Communicator& comm;
  Reduction reduction;
  bool inclusive;

  int check() const { return check_op(reduction.op, reduction.type); }
  bool can_meet() const { return fits(reduction, comm); }
  int meet() const { return shared::scan(reduction, inclusive, comm); }
  int plan(Schedule& schedule) const { return plans::scan(schedule, reduction, inclusive, comm); }
};

struct ReduceScatter {
  ReduceScatter(Communicator& comm, const void* send, void* receive, const MemberCounts& counts,
                Datatype& type, Op& op)
      : comm(comm), counts(counts), reduction{send, receive, counts.sum(), type, op} {}

  Communicator& comm;
  MemberCounts counts;
  Reduction reduction;

  int check() const { return check_op(reduction.op, reduction.type); }
  bool can_meet() const { return fits(reduction, comm); }
  int meet() const { return shared::reduce_scatter(reduction, counts, comm); }
  int plan(Schedule& schedule) const {
    return plans::reduce_scatter(schedule, reduction, counts, comm);
  }
};

}  // namespace
}  // namespace collective

// --- MPI_Reduce

int Reduce(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
           int root, Communicator& comm) {
  return coll::blocking(collective::Reduce{comm, {sendbuf, recvbuf, count, datatype, op}, root});
}

int Ireduce(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
            int root, Communicator& comm, MPI_Request* request) {
  return coll::nonblocking(collective::Reduce{comm, {sendbuf, recvbuf, count, datatype, op}, root},
                           request);
}

int Reduce_init(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
                int root, Communicator& comm, Info*, MPI_Request* request) {
  return coll::persistent(collective::Reduce{comm, {sendbuf, recvbuf, count, datatype, op}, root},
                          request);
}

// --- MPI_Allreduce

int Allreduce(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
              Communicator& comm) {
  return coll::blocking(collective::Allreduce{comm, {sendbuf, recvbuf, count, datatype, op}});
}

int Iallreduce(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
               Communicator& comm, MPI_Request* request) {
  return coll::nonblocking(collective::Allreduce{comm, {sendbuf, recvbuf, count, datatype, op}},
                           request);
}

int Allreduce_init(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
                   Communicator& comm, Info*, MPI_Request* request) {
  return coll::persistent(collective::Allreduce{comm, {sendbuf, recvbuf, count, datatype, op}},
                          request);
}

// --- MPI_Scan

int Scan(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
         Communicator& comm) {
  return coll::blocking(collective::Scan{comm, {sendbuf, recvbuf, count, datatype, op}, true});
}

int Iscan(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
          Communicator& comm, MPI_Request* request) {
  return coll::nonblocking(collective::Scan{comm, {sendbuf, recvbuf, count, datatype, op}, true},
                           request);
}

int Scan_init(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
              Communicator& comm, Info*, MPI_Request* request) {
  return coll::persistent(collective::Scan{comm, {sendbuf, recvbuf, count, datatype, op}, true},
                          request);
}

// --- MPI_Exscan

int Exscan(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
           Communicator& comm) {
  return coll::blocking(collective::Scan{comm, {sendbuf, recvbuf, count, datatype, op}, false});
}

int Iexscan(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
            Communicator& comm, MPI_Request* request) {
  return coll::nonblocking(collective::Scan{comm, {sendbuf, recvbuf, count, datatype, op}, false},
                           request);
}

int Exscan_init(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, Op& op,
                Communicator& comm, Info*, MPI_Request* request) {
  return coll::persistent(collective::Scan{comm, {sendbuf, recvbuf, count, datatype, op}, false},
                          request);
}

// --- MPI_Reduce_scatter

int Reduce_scatter(const void* sendbuf, void* recvbuf, Counts recvcounts, Datatype& datatype,
                   Op& op, Communicator& comm) {
  return coll::blocking(
      collective::ReduceScatter(comm, sendbuf, recvbuf, {recvcounts, comm.size}, datatype, op));
}

int Ireduce_scatter(const void* sendbuf, void* recvbuf, Counts recvcounts, Datatype& datatype,
                    Op& op, Communicator& comm, MPI_Request* request) {
  return coll::nonblocking(
      collective::ReduceScatter(comm, sendbuf, recvbuf, {recvcounts, comm.size}, datatype, op),
      request);
}

int Reduce_scatter_init(const void* sendbuf, void* recvbuf, Counts recvcounts, Datatype& datatype,
                        Op& op, Communicator& comm, Info*, MPI_Request* request) {
  return coll::persistent(
      collective::ReduceScatter(comm, sendbuf, recvbuf, {recvcounts, comm.size}, datatype, op),
      request);
}

// --- MPI_Reduce_scatter_block

int Reduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                         Datatype& datatype, Op& op, Communicator& comm) {
  return coll::blocking(
      collective::ReduceScatter(comm, sendbuf, recvbuf, {recvcount, comm.size}, datatype, op));
}

int Ireduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                          Datatype& datatype, Op& op, Communicator& comm, MPI_Request* request) {
  return coll::nonblocking(
      collective::ReduceScatter(comm, sendbuf, recvbuf, {recvcount, comm.size}, datatype, op),
      request);
}

int Reduce_scatter_block_init(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                              Datatype& datatype, Op& op, Communicator& comm, Info*,
                              MPI_Request* request) {
  return coll::persistent(
      collective::ReduceScatter(comm, sendbuf, recvbuf, {recvcount, comm.size}, datatype, op),
      request);
}

}  // namespace meantime::api
