// Entry points of the collectives between neighbours of a topology (MPI 5.0, 8.6).
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

struct Allgather {
  Communicator& comm;
  Piece send;
  Blocks receive;

  int plan(Schedule& schedule) const {
    return plans::neighbor_allgather(schedule, send, receive, comm);
  }
};

/// MPI_Neighbor_allgather, of which all ranks know how long a block is.
struct EvenAllgather : Allgather {
  bool can_go_by_nodes(How) const {
    return coll::by_nodes::can_exchange_with_neighbours(receive.bytes(0), comm);
  }
  void by_nodes(Steps& steps) const { coll::by_nodes::neighbor_allgather(steps, send, receive); }
};

struct Alltoall {
  Communicator& comm;
  Blocks send;
  Blocks receive;

  int plan(Schedule& schedule) const {
    return plans::neighbor_alltoall(schedule, send, receive, comm);
  }
};

/// MPI_Neighbor_alltoall.
struct EvenAlltoall : Alltoall {
  bool can_go_by_nodes(How) const {
    return coll::by_nodes::can_exchange_with_neighbours(receive.bytes(0), comm);
  }
  void by_nodes(Steps& steps) const { coll::by_nodes::neighbor_alltoall(steps, send, receive); }
};

}  // namespace
}  // namespace collective

// --- MPI_Neighbor_allgather

int Neighbor_allgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                       MPI_Count recvcount, Datatype& recvtype, Communicator& comm) {
  return coll::blocking(collective::EvenAllgather{
      {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}}});
}

int Ineighbor_allgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                        MPI_Count recvcount, Datatype& recvtype, Communicator& comm,
                        MPI_Request* request) {
  return coll::nonblocking(
      collective::EvenAllgather{
          {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}}},
      request);
}

int Neighbor_allgather_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                            void* recvbuf, MPI_Count recvcount, Datatype& recvtype,
                            Communicator& comm, Info*, MPI_Request* request) {
  return coll::persistent(
      collective::EvenAllgather{
          {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}}},
      request);
}

// --- MPI_Neighbor_allgatherv

int Neighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                        Counts recvcounts, Displacements displs, Datatype& recvtype,
                        Communicator& comm) {
  return coll::blocking(collective::Allgather{
      comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}});
}

int Ineighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                         void* recvbuf, Counts recvcounts, Displacements displs, Datatype& recvtype,
                         Communicator& comm, MPI_Request* request) {
  return coll::nonblocking(
      collective::Allgather{
          comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}},
      request);
}

int Neighbor_allgatherv_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                             void* recvbuf, Counts recvcounts, Displacements displs,
                             Datatype& recvtype, Communicator& comm, Info*, MPI_Request* request) {
  return coll::persistent(
      collective::Allgather{
          comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}},
      request);
}

// --- MPI_Neighbor_alltoall

int Neighbor_alltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                      MPI_Count recvcount, Datatype& recvtype, Communicator& comm) {
  return coll::blocking(collective::EvenAlltoall{
      {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}}});
}

int Ineighbor_alltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                       MPI_Count recvcount, Datatype& recvtype, Communicator& comm,
                       MPI_Request* request) {
  return coll::nonblocking(
      collective::EvenAlltoall{
          {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}}},
      request);
}

int Neighbor_alltoall_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                           void* recvbuf, MPI_Count recvcount, Datatype& recvtype,
                           Communicator& comm, Info*, MPI_Request* request) {
  return coll::persistent(
      collective::EvenAlltoall{
          {comm, {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}}},
      request);
}

// --- MPI_Neighbor_alltoallv

int Neighbor_alltoallv(const void* sendbuf, Counts sendcounts, Displacements sdispls,
                       Datatype& sendtype, void* recvbuf, Counts recvcounts, Displacements rdispls,
                       Datatype& recvtype, Communicator& comm) {
  return coll::blocking(collective::Alltoall{
      comm, {sendbuf, sendcounts, sdispls, sendtype}, {recvbuf, recvcounts, rdispls, recvtype}});
}

int Ineighbor_alltoallv(const void* sendbuf, Counts sendcounts, Displacements sdispls,
                        Datatype& sendtype, void* recvbuf, Counts recvcounts, Displacements rdispls,
                        Datatype& recvtype, Communicator& comm, MPI_Request* request) {
  return coll::nonblocking(
      collective::Alltoall{
          comm, {sendbuf, sendcounts, sdispls, sendtype}, {recvbuf, recvcounts, rdispls, recvtype}},
      request);
}

int Neighbor_alltoallv_init(const void* sendbuf, Counts sendcounts, Displacements sdispls,
                            Datatype& sendtype, void* recvbuf, Counts recvcounts,
                            Displacements rdispls, Datatype& recvtype, Communicator& comm, Info*,
                            MPI_Request* request) {
  return coll::persistent(
      collective::Alltoall{
          comm, {sendbuf, sendcounts, sdispls, sendtype}, {recvbuf, recvcounts, rdispls, recvtype}},
      request);
}

// --- MPI_Neighbor_alltoallw

int Neighbor_alltoallw(const void* sendbuf, Counts sendcounts, const MPI_Aint sdispls[],
                       const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts,
                       const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                       Communicator& comm) {
  return coll::blocking(collective::Alltoall{
      comm, {sendbuf, sendcounts, sdispls, sendtypes}, {recvbuf, recvcounts, rdispls, recvtypes}});
}

int Ineighbor_alltoallw(const void* sendbuf, Counts sendcounts, const MPI_Aint sdispls[],
                        const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts,
                        const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                        Communicator& comm, MPI_Request* request) {
  return coll::nonblocking(collective::Alltoall{comm,
                                                {sendbuf, sendcounts, sdispls, sendtypes},
                                                {recvbuf, recvcounts, rdispls, recvtypes}},
                           request);
}

int Neighbor_alltoallw_init(const void* sendbuf, Counts sendcounts, const MPI_Aint sdispls[],
                            const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts,
                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                            Communicator& comm, Info*, MPI_Request* request) {
  return coll::persistent(collective::Alltoall{comm,
                                               {sendbuf, sendcounts, sdispls, sendtypes},
                                               {recvbuf, recvcounts, rdispls, recvtypes}},
                          request);
}

}  // namespace meantime::api
