// Entry points of the collectives that move data (MPI 5.0, 6.3 to 6.8; non-blocking 6.12,
// persistent 6.13). Those of one shape (MPI_Gather, MPI_Gatherv) are one collective with other
// blocks.
#include "coll/by_nodes/by_nodes.h"
#include "coll/collectives.h"
#include "core/object/handles.h"
#include "generated/calls.h"

namespace meantime::api {

namespace collective {
namespace {

using coll::Blocks;
using coll::Piece;
using coll::Schedule;
using coll::by_nodes::How;
using coll::by_nodes::Steps;
namespace plans = coll::plans;
namespace shared = coll::shared;

struct Barrier {
  Communicator& comm;

  bool can_meet() const { return coll::has_area(comm); }
  int meet() const { return shared::barrier(comm); }
  bool can_go_by_nodes(How) const { return coll::by_nodes::possible(comm); }
  void by_nodes(Steps& steps) const { coll::by_nodes::barrier(steps); }
  int plan(Schedule& schedule) const { return plans::barrier(schedule, comm); }
};

struct Bcast {
  Communicator& comm;
  Piece piece;
  int root;

  bool can_meet() const { return coll::has_area(comm); }
  int meet() const { return shared::bcast(piece, root, comm); }
  bool can_go_by_nodes(How) const { return coll::by_nodes::possible(comm); }
  void by_nodes(Steps& steps) const { coll::by_nodes::bcast(steps, piece, root); }
  int plan(Schedule& schedule) const { return plans::bcast(schedule, piece, root, comm); }
};

struct Gather {
  Communicator& comm;
  Piece send;
  Blocks receive;
  int root;

  bool can_meet() const { return coll::has_area(comm); }
  int meet() const { return shared::gather(send, receive, root, comm); }
  bool can_go_by_nodes(How) const { return coll::by_nodes::can_gatherv(comm); }
  void by_nodes(Steps& steps) const { coll::by_nodes::gatherv(steps, send, receive, root); }
  int plan(Schedule& schedule) const { return plans::gather(schedule, send, receive, root, comm); }
};

/// MPI_Gather, of which all ranks know how long a block is.
struct EvenGather : Gather {
  bool can_go_by_nodes(How how) const {
    const bool is_root = comm.rank == root;
    return coll::by_nodes::can_gather(is_root ? receive.bytes(root) : send.bytes(), how, comm);
  }
  void by_nodes(Steps& steps) const { coll::by_nodes::gather(steps, send, receive, root); }
};

struct Scatter {
  Communicator& comm;
  Blocks send;
  Piece receive;
  int root;

  bool can_meet() const { return coll::has_area(comm); }
  int meet() const { return shared::scatter(send, receive, root, comm); }
  bool can_go_by_nodes(How) const { return coll::by_nodes::can_gatherv(comm); }
  void by_nodes(Steps& steps) const { coll::by_nodes::scatterv(steps, send, receive, root); }
  int plan(Schedule& schedule) const { return plans::scatter(schedule, send, receive, root, comm); }
};

/// MPI_Scatter.
struct EvenScatter : Scatter {
  bool can_go_by_nodes(How how) const {
    const bool is_root = comm.rank == root;
    return coll::by_nodes::can_gather(is_root ? send.bytes(root) : receive.bytes(), how, comm);
  }
  void by_nodes(Steps& steps) const { coll::by_nodes::scatter(steps, send, receive, root); }
};

struct Allgather {
  Communicator& comm;
  Piece send;
  Blocks receive;

  bool can_meet() const { return coll::has_area(comm); }
  int meet() const { return shared::allgather(send, receive, comm); }
  bool can_go_by_nodes(How) const { return coll::by_nodes::can_allgather(receive, comm); }
  void by_nodes(Steps& steps) const { coll::by_nodes::allgather(steps, send, receive); }
  int plan(Schedule& schedule) const { return plans::allgather(schedule, send, receive, comm); }
};

struct Alltoall {
  Communicator& comm;
  Blocks send;
  Blocks receive;

  bool can_meet() const { return coll::has_area(comm); }
  int meet() const { return shared::alltoall(send, receive, comm); }
  bool can_go_by_nodes(How) const { return coll::by_nodes::can_alltoallv(comm); }
  void by_nodes(Steps& steps) const { coll::by_nodes::alltoallv(steps, send, receive); }
  int plan(Schedule& schedule) const { return plans::alltoall(schedule, send, receive, comm); }
};

/// MPI_Alltoall.
struct EvenAlltoall : Alltoall {
  bool can_go_by_nodes(How) const { return coll::by_nodes::can_alltoall(receive.bytes(0), comm); }
  void by_nodes(Steps& steps) const { coll::by_nodes::alltoall(steps, send, receive); }
};

}  // namespace
}  // namespace collective

// --- MPI_Barrier

int Barrier(Communicator& comm) {
  return coll::blocking(collective::Barrier{comm});
}

int Ibarrier(Communicator& comm, MPI_Request* request) {
  return coll::nonblocking(collective::Barrier{comm}, request);
}

int Barrier_init(Communicator& comm, Info*, MPI_Request* request) {
  return coll::persistent(collective::Barrier{comm}, request);
}

// --- MPI_Bcast

int Bcast(void* buffer, MPI_Count count, Datatype& datatype, int root, Communicator& comm) {
  return coll::blocking(collective::Bcast{comm, {buffer, count, datatype}, root});
}

int Ibcast(void* buffer, MPI_Count count, Datatype& datatype, int root, Communicator& comm,
           MPI_Request* request) {
  return coll::nonblocking(collective::Bcast{comm, {buffer, count, datatype}, root}, request);
}

int Bcast_init(void* buffer, MPI_Count count, Datatype& datatype, int root, Communicator& comm,
               Info*, MPI_Request* request) {
  return coll::persistent(collective::Bcast{comm, {buffer, count, datatype}, root}, request);
}

// --- MPI_Gather

int Gather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
           MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm) {
  return coll::blocking(collective::EvenGather{
      {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root}});
}

int Igather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
            MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm,
            MPI_Request* request) {
  return coll::nonblocking(
      collective::EvenGather{
          {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root}},
      request);
}

int Gather_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm, Info*,
                MPI_Request* request) {
  return coll::persistent(
      collective::EvenGather{
          {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root}},
      request);
}

// --- MPI_Gatherv

int Gatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
            Counts recvcounts, Displacements displs, Datatype& recvtype, int root,
            Communicator& comm) {
  return coll::blocking(collective::Gather{
      comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, root});
}

int Igatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
             Counts recvcounts, Displacements displs, Datatype& recvtype, int root,
             Communicator& comm, MPI_Request* request) {
  return coll::nonblocking(
      collective::Gather{
          comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, root},
      request);
}

int Gatherv_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                 Counts recvcounts, Displacements displs, Datatype& recvtype, int root,
                 Communicator& comm, Info*, MPI_Request* request) {
  return coll::persistent(
      collective::Gather{
          comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, root},
      request);
}

// --- MPI_Scatter

int Scatter(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
            MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm) {
  return coll::blocking(collective::EvenScatter{
      {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root}});
}

int Iscatter(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
             MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm,
             MPI_Request* request) {
  return coll::nonblocking(
      collective::EvenScatter{
          {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root}},
      request);
}

int Scatter_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                 MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm, Info*,
                 MPI_Request* request) {
  return coll::persistent(
      collective::EvenScatter{
          {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root}},
      request);
}

// --- MPI_Scatterv

int Scatterv(const void* sendbuf, Counts sendcounts, Displacements displs, Datatype& sendtype,
             void* recvbuf, MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm) {
  return coll::blocking(collective::Scatter{
      comm, {sendbuf, sendcounts, displs, sendtype}, {recvbuf, recvcount, recvtype}, root});
}

int Iscatterv(const void* sendbuf, Counts sendcounts, Displacements displs, Datatype& sendtype,
              void* recvbuf, MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm,
              MPI_Request* request) {
  return coll::nonblocking(
      collective::Scatter{
          comm, {sendbuf, sendcounts, displs, sendtype}, {recvbuf, recvcount, recvtype}, root},
      request);
}

int Scatterv_init(const void* sendbuf, Counts sendcounts, Displacements displs, Datatype& sendtype,
                  void* recvbuf, MPI_Count recvcount, Datatype& recvtype, int root,
                  Communicator& comm, Info*, MPI_Request* request) {
  return coll::persistent(
      collective::Scatter{
          comm, {sendbuf, sendcounts, displs, sendtype}, {recvbuf, recvcount, recvtype}, root},
      request);
}

// --- MPI_Allgather

int Allgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
              MPI_Count recvcount, Datatype& recvtype, Communicator& comm) {
  return coll::blocking(
      collective::Allgather{comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}});
}

int Iallgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
               MPI_Count recvcount, Datatype& recvtype, Communicator& comm, MPI_Request* request) {
  return coll::nonblocking(
      collective::Allgather{comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}},
      request);
}

int Allgather_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                   MPI_Count recvcount, Datatype& recvtype, Communicator& comm, Info*,
                   MPI_Request* request) {
  return coll::persistent(
      collective::Allgather{comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}},
      request);
}

// --- MPI_Allgatherv

int Allgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
               Counts recvcounts, Displacements displs, Datatype& recvtype, Communicator& comm) {
  return coll::blocking(collective::Allgather{
      comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}});
}

int Iallgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                Counts recvcounts, Displacements displs, Datatype& recvtype, Communicator& comm,
                MPI_Request* request) {
  return coll::nonblocking(
      collective::Allgather{
          comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}},
      request);
}

int Allgatherv_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                    Counts recvcounts, Displacements displs, Datatype& recvtype, Communicator& comm,
                    Info*, MPI_Request* request) {
  return coll::persistent(
      collective::Allgather{
          comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}},
      request);
}

// --- MPI_Alltoall

int Alltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
             MPI_Count recvcount, Datatype& recvtype, Communicator& comm) {
  return coll::blocking(collective::EvenAlltoall{
      {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}}});
}

int Ialltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
              MPI_Count recvcount, Datatype& recvtype, Communicator& comm, MPI_Request* request) {
  return coll::nonblocking(
      collective::EvenAlltoall{
          {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}}},
      request);
}

int Alltoall_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                  MPI_Count recvcount, Datatype& recvtype, Communicator& comm, Info*,
                  MPI_Request* request) {
  return coll::persistent(
      collective::EvenAlltoall{
          {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}}},
      request);
}

// --- MPI_Alltoallv

int Alltoallv(const void* sendbuf, Counts sendcounts, Displacements sdispls, Datatype& sendtype,
              void* recvbuf, Counts recvcounts, Displacements rdispls, Datatype& recvtype,
              Communicator& comm) {
  return coll::blocking(collective::Alltoall{
      comm, {sendbuf, sendcounts, sdispls, sendtype}, {recvbuf, recvcounts, rdispls, recvtype}});
}

int Ialltoallv(const void* sendbuf, Counts sendcounts, Displacements sdispls, Datatype& sendtype,
               void* recvbuf, Counts recvcounts, Displacements rdispls, Datatype& recvtype,
               Communicator& comm, MPI_Request* request) {
  return coll::nonblocking(
      collective::Alltoall{
          comm, {sendbuf, sendcounts, sdispls, sendtype}, {recvbuf, recvcounts, rdispls, recvtype}},
      request);
}

int Alltoallv_init(const void* sendbuf, Counts sendcounts, Displacements sdispls,
                   Datatype& sendtype, void* recvbuf, Counts recvcounts, Displacements rdispls,
                   Datatype& recvtype, Communicator& comm, Info*, MPI_Request* request) {
  return coll::persistent(
      collective::Alltoall{
          comm, {sendbuf, sendcounts, sdispls, sendtype}, {recvbuf, recvcounts, rdispls, recvtype}},
      request);
}

// --- MPI_Alltoallw

int Alltoallw(const void* sendbuf, Counts sendcounts, Displacements sdispls,
              const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts,
              Displacements rdispls, const MPI_Datatype recvtypes[], Communicator& comm) {
  return coll::blocking(collective::Alltoall{
      comm, {sendbuf, sendcounts, sdispls, sendtypes}, {recvbuf, recvcounts, rdispls, recvtypes}});
}

int Ialltoallw(const void* sendbuf, Counts sendcounts, Displacements sdispls,
               const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts,
               Displacements rdispls, const MPI_Datatype recvtypes[], Communicator& comm,
               MPI_Request* request) {
  return coll::nonblocking(collective::Alltoall{comm,
                                                {sendbuf, sendcounts, sdispls, sendtypes},
                                                {recvbuf, recvcounts, rdispls, recvtypes}},
                           request);
}

int Alltoallw_init(const void* sendbuf, Counts sendcounts, Displacements sdispls,
                   const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts,
                   Displacements rdispls, const MPI_Datatype recvtypes[], Communicator& comm, Info*,
                   MPI_Request* request) {
  return coll::persistent(collective::Alltoall{comm,
                                               {sendbuf, sendcounts, sdispls, sendtypes},
                                               {recvbuf, recvcounts, rdispls, recvtypes}},
                          request);
}

}  // namespace meantime::api
