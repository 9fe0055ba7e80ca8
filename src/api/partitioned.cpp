// MPI 5.0 chapter 4: partitioned communication.
#include "core/request/partitioned.h"

#include "api/generated/calls.h"
#include "core/error/error.h"
#include "core/error/error_attribution.h"
#include "core/request/point_to_point.h"
#include "wait/test_calls.h"

namespace meantime::api {
namespace {

using core::ContextOffset;
using core::Mode;
using core::PartitionedReceive;
using core::PartitionedSend;

/// A failure of a call on a request is one on the request's communicator.
int failed(Request& request, int error) {
  if (error != MPI_SUCCESS) {
    attribute_error(request.comm);
  }
  return error;
}

/// Whether the call is on a send that was started and the partition is one of it.
int check_send(Request& request, int partition) {
  if (request.type != Request::Type::partitioned_send || !request.active) {
    return fail(MPI_ERR_REQUEST, "the request is not a partitioned send that was started");
  }
  const int partitions = static_cast<PartitionedSend&>(request).partitions();
  return partition >= 0 && partition < partitions
             ? MPI_SUCCESS
             : fail(MPI_ERR_ARG, "partition {} does not exist: there are {}, from 0 on", partition,
                    partitions);
}

}  // namespace

int Psend_init(const void* buf, int partitions, MPI_Count count, Datatype& datatype, int dest,
               int tag, Communicator& comm, Info* /*info*/, MPI_Request* request) {
  auto* send = new PartitionedSend({const_cast<void*>(buf), count, &datatype, dest, tag,
                                    ContextOffset::partitioned_data, Mode::standard},
                                   partitions, comm);
  if (const int result = send->announce(); result != MPI_SUCCESS) {
    delete send;
    return result;
  }
  *request = send->handle();
  return MPI_SUCCESS;
}

int Precv_init(void* buf, int partitions, MPI_Count count, Datatype& datatype, int source, int tag,
               Communicator& comm, Info* /*info*/, MPI_Request* request) {
  auto* receive = new PartitionedReceive(
      {buf, count, &datatype, source, tag, ContextOffset::partitioned_data, Mode::standard},
      partitions, comm);
  if (const int result = receive->listen(); result != MPI_SUCCESS) {
    delete receive;
    return result;
  }
  *request = receive->handle();
  return MPI_SUCCESS;
}

int Pready(int partition, Request& request) {
  return Pready_range(partition, partition, request);
}

int Pready_range(int partition_low, int partition_high, Request& request) {
  for (const int partition : {partition_low, partition_high}) {
    if (const int error = check_send(request, partition); error != MPI_SUCCESS) {
      return failed(request, error);
    }
  }
  return failed(request,
                static_cast<PartitionedSend&>(request).ready(partition_low, partition_high));
}

int Pready_list(int length, const int array_of_partitions[], Request& request) {
  for (int place = 0; place < length; ++place) {
    if (const int error = check_send(request, array_of_partitions[place]); error != MPI_SUCCESS) {
      return failed(request, error);
    }
  }
  for (int place = 0; place < length; ++place) {
    const int partition = array_of_partitions[place];
    const int error = static_cast<PartitionedSend&>(request).ready(partition, partition);
    if (error != MPI_SUCCESS) {
      return failed(request, error);
    }
  }
  return MPI_SUCCESS;
}

int Parrived(Request& request, int partition, int* flag) {
  if (request.type != Request::Type::partitioned_receive) {
    return failed(request, fail(MPI_ERR_REQUEST, "the request is not a partitioned receive"));
  }
  auto& receive = static_cast<PartitionedReceive&>(request);
  if (partition < 0 || partition >= receive.partitions()) {
    return failed(request, fail(MPI_ERR_ARG, "partition {} does not exist: there are {}, from 0 on",
                                partition, receive.partitions()));
  }
  if (!receive.arrived(partition)) {
    core::progress();
  }
  *flag = receive.arrived(partition) ? 1 : 0;
  if (receive.active && receive.complete && receive.error != MPI_SUCCESS) {
    return failed(request, receive.error);
  }
  if (*flag != 0) {
    wait::fruitful_test();
  } else {
    Request* const whole = &request;
    looked_in_vain(&whole, 1, false);
  }
  return MPI_SUCCESS;
}

}  // namespace meantime::api
