// Arguments that are wrong in odd ways, each an error here as it is in MPICH: functions that are
// NULL, buffers that nothing fits into, MPI_IN_PLACE between two groups, requests that nobody has
// started; and some that look wrong and are not.
#include "check.h"

using namespace check;

namespace {

int query(void*, MPI_Status*) {
  return MPI_SUCCESS;
}
int free_state(void*) {
  return MPI_SUCCESS;
}
int cancel(void*, int) {
  return MPI_SUCCESS;
}

void functions() {
  MPI_Errhandler handler;
  MPI_Request request;
  MPI_Op op;
  CLASS(MPI_ERR_ARG, MPI_Comm_create_errhandler(nullptr, &handler));
  CLASS(MPI_ERR_ARG, MPI_Session_create_errhandler(nullptr, &handler));
  CLASS(MPI_ERR_ARG, MPI_Win_create_errhandler(nullptr, &handler));
  CLASS(MPI_ERR_ARG, MPI_File_create_errhandler(nullptr, &handler));
  CLASS(MPI_ERR_ARG, MPI_Grequest_start(nullptr, free_state, cancel, nullptr, &request));
  CLASS(MPI_ERR_ARG, MPI_Grequest_start(query, nullptr, cancel, nullptr, &request));
  CLASS(MPI_ERR_ARG, MPI_Grequest_start(query, free_state, nullptr, nullptr, &request));
  CLASS(MPI_ERR_ARG, MPI_Op_create(nullptr, 0, &op));
  // Those of keys may be: MPI_COMM_NULL_COPY_FN is NULL.
  int key = MPI_KEYVAL_INVALID;
  MUST(MPI_Comm_create_keyval(nullptr, nullptr, &key, nullptr));
  MUST(MPI_Comm_free_keyval(&key));
}

void buffers() {
  char room[MPI_BSEND_OVERHEAD + 8];
  void* at = nullptr;
  int bytes = -1;
  CLASS(MPI_ERR_ARG, MPI_Buffer_attach(nullptr, sizeof room));
  CLASS(MPI_ERR_ARG, MPI_Buffer_attach(nullptr, 0));
  CLASS(MPI_ERR_ARG, MPI_Comm_attach_buffer(MPI_COMM_WORLD, nullptr, sizeof room));
  CLASS(MPI_ERR_BUFFER, MPI_Buffer_attach(room, 10));
  if (on_mpich()) MUST(MPI_Buffer_detach(&at, &bytes));  // it has taken it all the same
  MUST(MPI_Buffer_attach(room, sizeof room));            // none of them was taken
  MUST(MPI_Buffer_detach(&at, &bytes));
  CHECK(at == room && bytes == sizeof room);
  MUST(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  MUST(MPI_Buffer_detach(&at, &bytes));
  CHECK(at == MPI_BUFFER_AUTOMATIC);
}

void requests() {
  int x = 0;
  MPI_Status status;
  MPI_Request request;
  MUST(MPI_Recv_init(&x, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request));
  CLASS(MPI_ERR_REQUEST, MPI_Cancel(&request));
  MUST(MPI_Start(&request));
  MUST(MPI_Cancel(&request));
  MUST(MPI_Wait(&request, &status));
  int flag = 0;
  MUST(MPI_Test_cancelled(&status, &flag));
  CHECK(flag);
  CLASS(MPI_ERR_REQUEST, MPI_Cancel(&request));
  MUST(MPI_Request_free(&request));
}

void grids() {
  int dims[] = {size + 1}, periods[] = {0}, place = 0, from = 0, to = 0;
  CLASS(MPI_ERR_DIMS, MPI_Cart_map(MPI_COMM_WORLD, 1, dims, periods, &place));
  // What is in no array is not read: so many nodes are more than there are ranks.
  const int node = 0;
  CLASS(MPI_ERR_ARG, MPI_Graph_map(MPI_COMM_WORLD, 2147483647, &node, &node, &place));
  // Nobody has a place in a grid without places.
  int empty[] = {1, 0}, rings[] = {0, 0};
  MUST(MPI_Cart_map(MPI_COMM_WORLD, 2, empty, rings, &place));
  CHECK(place == MPI_UNDEFINED);
  MPI_Comm none;
  MUST(MPI_Cart_create(MPI_COMM_WORLD, 0, nullptr, nullptr, 0, &none));
  if (none != MPI_COMM_NULL) {
    CLASS(MPI_ERR_TOPOLOGY, MPI_Cart_shift(none, 0, 1, &from, &to));
    MUST(MPI_Comm_free(&none));
  }
  // Nothing is left to choose, and the number of ranks is a multiple of what is given.
  int all[] = {2, 1};
  MUST(MPI_Dims_create(6, 2, all));
  CHECK(all[0] == 2 && all[1] == 1);
  CLASS(MPI_ERR_DIMS, MPI_Dims_create(7, 2, all));
}

/// MPICH takes some of these for addresses and crashes.
void between_groups() {
  if (size < 2) return;
  MPI_Comm half, inter;
  MUST(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
  MUST(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 3, &inter));
  std::vector<int> in(2 * size), counts(size, 1), places(size, 0);
  std::vector<MPI_Datatype> types(size, MPI_INT);
  MPI_Request request;
  CLASS(MPI_ERR_BUFFER, MPI_Allreduce(MPI_IN_PLACE, in.data(), 1, MPI_INT, MPI_SUM, inter));
  if (!on_mpich()) {
    CLASS(MPI_ERR_BUFFER, MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, in.data(), 1, MPI_INT, inter));
    CLASS(MPI_ERR_BUFFER, MPI_Allgatherv(MPI_IN_PLACE, 1, MPI_INT, in.data(), counts.data(),
                                         places.data(), MPI_INT, inter));
    CLASS(MPI_ERR_BUFFER, MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, in.data(), 1, MPI_INT, inter));
    CLASS(MPI_ERR_BUFFER, MPI_Alltoallv(MPI_IN_PLACE, counts.data(), places.data(), MPI_INT,
                                        in.data(), counts.data(), places.data(), MPI_INT, inter));
    CLASS(MPI_ERR_BUFFER,
          MPI_Alltoallw(MPI_IN_PLACE, counts.data(), places.data(), types.data(), in.data(),
                        counts.data(), places.data(), types.data(), inter));
    CLASS(MPI_ERR_BUFFER,
          MPI_Reduce_scatter_block(MPI_IN_PLACE, in.data(), 1, MPI_INT, MPI_SUM, inter));
    CLASS(MPI_ERR_BUFFER,
          MPI_Reduce_scatter(MPI_IN_PLACE, in.data(), counts.data(), MPI_INT, MPI_SUM, inter));
    CLASS(MPI_ERR_BUFFER,
          MPI_Iallreduce(MPI_IN_PLACE, in.data(), 1, MPI_INT, MPI_SUM, inter, &request));
    CLASS(MPI_ERR_BUFFER, MPI_Alltoall_init(MPI_IN_PLACE, 1, MPI_INT, in.data(), 1, MPI_INT, inter,
                                            MPI_INFO_NULL, &request));
  }
  // The communicator is still in order.
  int sum = -1, one = 1;
  MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
  CHECK(sum == (rank % 2 ? (size + 1) / 2 : size / 2), "%d", sum);
  MUST(MPI_Comm_free(&inter));
  MUST(MPI_Comm_free(&half));
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  functions();
  buffers();
  requests();
  grids();
  between_groups();
  return finish();
}
