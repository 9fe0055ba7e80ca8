// Copies of handles whose object is gone: an error class from every call, never a crash. Nothing is
// made in between, so the memory is nobody else's.
#include "check.h"

using namespace check;

namespace {

#define IS_CLASS(wanted, ...)                                                              \
  do {                                                                                     \
    const int code = (__VA_ARGS__);                                                        \
    CHECK(error_class(code) == (wanted), "%s: class %d", #__VA_ARGS__, error_class(code)); \
  } while (0)

int data[2];

/// Each makes a request, completes or frees it, and returns what its handle was.
MPI_Request received() {
  MPI_Request request;
  MUST(MPI_Irecv(data, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
  MPI_Request copy = request;
  MUST(MPI_Send(data + 1, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return copy;
}

MPI_Request from_nobody() {
  MPI_Request request;
  MUST(MPI_Irecv(data, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF, &request));
  MPI_Request copy = request;
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return copy;
}

MPI_Request collective() {
  MPI_Request request;
  MUST(MPI_Ibarrier(MPI_COMM_SELF, &request));
  MPI_Request copy = request;
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return copy;
}

MPI_Request persistent() {
  MPI_Request request;
  MUST(MPI_Recv_init(data, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
  MPI_Request copy = request;
  MUST(MPI_Request_free(&request));
  return copy;
}

MPI_Request partitioned() {
  MPI_Request request;
  MUST(MPI_Psend_init(data, 1, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF, MPI_INFO_NULL,
                      &request));
  MPI_Request copy = request;
  MUST(MPI_Request_free(&request));
  return copy;
}

/// Still under way when it is freed; `end_freed` lets it end.
MPI_Request freed() {
  MPI_Request request;
  MUST(MPI_Irecv(data, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &request));
  MPI_Request copy = request;
  MUST(MPI_Request_free(&request));
  return copy;
}

void end_freed() {
  MUST(MPI_Send(data + 1, 1, MPI_INT, 0, 2, MPI_COMM_SELF));
}

void use(MPI_Request stale) {
  MPI_Request request = stale;
  int flag = 0, index = 0, indices[1];
  IS_CLASS(MPI_ERR_REQUEST, MPI_Wait(&request, MPI_STATUS_IGNORE));
  IS_CLASS(MPI_ERR_REQUEST, MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  IS_CLASS(MPI_ERR_REQUEST, MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
  IS_CLASS(MPI_ERR_REQUEST, MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE));
  IS_CLASS(MPI_ERR_REQUEST, MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE));
  IS_CLASS(MPI_ERR_REQUEST, MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE));
  IS_CLASS(MPI_ERR_REQUEST, MPI_Waitsome(1, &request, &index, indices, MPI_STATUSES_IGNORE));
  IS_CLASS(MPI_ERR_REQUEST, MPI_Testsome(1, &request, &index, indices, MPI_STATUSES_IGNORE));
  IS_CLASS(MPI_ERR_REQUEST, MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  IS_CLASS(MPI_ERR_REQUEST, MPI_Cancel(&request));
  IS_CLASS(MPI_ERR_REQUEST, MPI_Start(&request));
  IS_CLASS(MPI_ERR_REQUEST, MPI_Startall(1, &request));
  IS_CLASS(MPI_ERR_REQUEST, MPI_Request_free(&request));
  IS_CLASS(MPI_ERR_REQUEST, MPI_Pready(0, request));
  IS_CLASS(MPI_ERR_REQUEST, MPI_Parrived(request, 0, &flag));
}

void requests() {
  use(received());
  use(from_nobody());
  use(collective());
  use(persistent());
  use(partitioned());
  use(freed());
  end_freed();
}

/// One request that is complete, named twice.
void twice() {
  MPI_Request request;
  MUST(MPI_Irecv(data, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
  MUST(MPI_Send(data + 1, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
  int flag = 0;
  while (flag == 0) MUST(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  MPI_Request both[] = {request, request};
  MPI_Status statuses[2];
  IS_CLASS(MPI_ERR_IN_STATUS, MPI_Waitall(2, both, statuses));
  CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS);
  CHECK(error_class(statuses[1].MPI_ERROR) == MPI_ERR_REQUEST);
}

/// Of groups that a communicator, a window or another handle has, too.
void is_gone(MPI_Group group) {
  MPI_Group copy = group;
  int number = 0;
  MUST(MPI_Group_size(group, &number));
  MUST(MPI_Group_free(&group));
  IS_CLASS(MPI_ERR_GROUP, MPI_Group_size(copy, &number));
  IS_CLASS(MPI_ERR_GROUP, MPI_Group_free(&copy));
}

void groups() {
  MPI_Group group, other;
  MUST(MPI_Comm_group(MPI_COMM_WORLD, &group));
  is_gone(group);
  MUST(MPI_Comm_group(MPI_COMM_WORLD, &group));
  MUST(MPI_Group_union(group, group, &other));
  is_gone(other);
  MUST(MPI_Group_excl(group, 0, nullptr, &other));
  is_gone(other);
  MPI_Comm comm;
  MUST(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
  is_gone(group);
  MUST(MPI_Comm_group(comm, &group));
  int number = 0;
  MUST(MPI_Group_size(group, &number));
  CHECK(number == size);
  is_gone(group);
  MUST(MPI_Barrier(comm));
  MUST(MPI_Comm_free(&comm));
  int* memory;
  MPI_Win window;
  MUST(MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &window));
  MUST(MPI_Win_get_group(window, &group));
  is_gone(group);
  MUST(MPI_Win_free(&window));
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  requests();
  twice();
  groups();
  return finish();
}
