// Wrong arguments: each call reports the error class that the standard (or, where it leaves the
// choice, MPICH) gives, through the error handler of its communicator, and does nothing else.
#include "check.h"

using namespace check;

namespace {

MPI_Comm world = MPI_COMM_WORLD;

#define REPORTS(expected, ...)                                                               \
  do {                                                                                       \
    const int code = (__VA_ARGS__);                                                          \
    CHECK(error_class(code) == (expected), "%s: class %d", #__VA_ARGS__, error_class(code)); \
  } while (0)

// MPICH 5.0's ABI library crashes here, or takes the argument, or says MPI_ERR_ARG.
#define NOT_ON_MPICH(expected, ...)   \
  do {                                \
    if (!on_mpich()) {                \
      REPORTS(expected, __VA_ARGS__); \
    }                                 \
  } while (0)

int handled = 0;
int handled_class = 0;

void note_error(MPI_Comm*, int* code, ...) {
  ++handled;
  handled_class = error_class(*code);
}

// What the call returns after a user's handler is not tested: MPICH 5.0's ABI library gives
// MPI_SUCCESS, MPICH 4 and Open MPI the code.
void handlers() {
  int x = 0;
  MPI_Errhandler handler;
  MUST(MPI_Comm_create_errhandler(&note_error, &handler));
  MPI_Comm own;
  MUST(MPI_Comm_dup(world, &own));
  MUST(MPI_Comm_set_errhandler(own, handler));
  MPI_Send(&x, 1, MPI_INT, size, 0, own);
  CHECK(handled == 1 && handled_class == MPI_ERR_RANK, "%d times, class %d", handled,
        handled_class);
  REPORTS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, size, 0, world));
  REPORTS(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &x));
  CHECK(handled == 1, "called for another communicator");
  // A call on no communicator is MPI_COMM_SELF's affair.
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
  MPI_Group_size(MPI_GROUP_NULL, &x);
  CHECK(handled == 2 && handled_class == MPI_ERR_GROUP, "%d times, class %d", handled,
        handled_class);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_free(&own));
  MUST(MPI_Errhandler_free(&handler));
}

// The arrays of a neighbourhood: a ring of everybody, two neighbours each. Not on MPICH, which
// takes them as they are.
void neighbourhoods() {
  if (on_mpich()) return;
  MPI_Comm ring;
  const int periodic = 1;
  MUST(MPI_Cart_create(world, 1, &size, &periodic, 0, &ring));
  MUST(MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN));
  MPI_Datatype uncommitted;
  MUST(MPI_Type_contiguous(2, MPI_INT, &uncommitted));
  double in[2], out[2] = {};
  const int ones[] = {1, 1}, negative[] = {1, -1}, places[] = {0, 1};
  const MPI_Count one[] = {1, 1}, many[] = {1, MPI_Count{1} << 61};
  const MPI_Aint offsets[] = {0, 8};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_DOUBLE}, wrong[] = {MPI_DOUBLE, uncommitted},
                     none[] = {MPI_DOUBLE, MPI_DATATYPE_NULL};
  MPI_Request request = MPI_REQUEST_NULL;
  REPORTS(MPI_ERR_COUNT,
          MPI_Neighbor_allgatherv(out, 1, MPI_DOUBLE, in, negative, places, MPI_DOUBLE, ring));
  REPORTS(MPI_ERR_COUNT, MPI_Neighbor_alltoallv(out, negative, places, MPI_DOUBLE, in, ones, places,
                                                MPI_DOUBLE, ring));
  REPORTS(MPI_ERR_COUNT, MPI_Neighbor_alltoallv_c(out, one, offsets, MPI_DOUBLE, in, many, offsets,
                                                  MPI_DOUBLE, ring));
  REPORTS(MPI_ERR_COUNT, MPI_Ineighbor_alltoallw_c(out, many, offsets, types, in, one, offsets,
                                                   types, ring, &request));
  REPORTS(MPI_ERR_TYPE,
          MPI_Neighbor_alltoallw(out, ones, offsets, wrong, in, ones, offsets, types, ring));
  REPORTS(MPI_ERR_TYPE,
          MPI_Neighbor_alltoallw(out, ones, offsets, types, in, ones, offsets, none, ring));
  REPORTS(MPI_ERR_ARG,
          MPI_Neighbor_alltoallw(out, nullptr, offsets, types, in, ones, offsets, types, ring));
  REPORTS(MPI_ERR_ARG,
          MPI_Neighbor_allgatherv(out, 1, MPI_DOUBLE, in, nullptr, places, MPI_DOUBLE, ring));
  CHECK(request == MPI_REQUEST_NULL);
  MUST(MPI_Neighbor_alltoallw(out, ones, offsets, types, in, ones, offsets, types, ring));
  MUST(MPI_Type_free(&uncommitted));
  MUST(MPI_Comm_free(&ring));
}

void point_to_point() {
  int x = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int flag = 0;
  REPORTS(MPI_ERR_COMM, MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
  REPORTS(MPI_ERR_COUNT, MPI_Send(&x, -1, MPI_INT, 0, 0, world));
  REPORTS(MPI_ERR_COUNT, MPI_Send_c(&x, -1, MPI_INT, 0, 0, world));
  if (!on_mpich()) {                            // which multiplies without looking
    const MPI_Count most = MPI_Count{1} << 61;  // times 8 is 0 in 64 bits
    REPORTS(MPI_ERR_COUNT, MPI_Send_c(&x, most, MPI_DOUBLE, 0, 0, world));
    REPORTS(MPI_ERR_COUNT, MPI_Irecv_c(&x, most, MPI_DOUBLE, 0, 0, world, &request));
    REPORTS(MPI_ERR_COUNT, MPI_Bcast_c(&x, most, MPI_DOUBLE, 0, world));
    const std::vector<MPI_Count> counts(size, most);
    const std::vector<MPI_Aint> places(size, 0);
    REPORTS(MPI_ERR_COUNT,
            MPI_Allgatherv_c(&x, 1, MPI_INT, &x, counts.data(), places.data(), MPI_DOUBLE, world));
    MPI_Count bytes = 0;
    REPORTS(MPI_ERR_COUNT, MPI_Pack_size_c(most, MPI_DOUBLE, world, &bytes));
  }
  REPORTS(MPI_ERR_TYPE, MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, world));
  REPORTS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, size, 0, world));
  REPORTS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, -77, 0, world));
  REPORTS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, world));
  REPORTS(MPI_ERR_TAG, MPI_Send(&x, 1, MPI_INT, 0, -5, world));
  REPORTS(MPI_ERR_TAG, MPI_Send(&x, 1, MPI_INT, 0, MPI_ANY_TAG, world));
  REPORTS(MPI_ERR_BUFFER, MPI_Send(nullptr, 1, MPI_INT, 0, 0, world));
  REPORTS(MPI_ERR_RANK, MPI_Ssend(&x, 1, MPI_INT, size, 0, world));
  REPORTS(MPI_ERR_RANK, MPI_Rsend(&x, 1, MPI_INT, size, 0, world));
  REPORTS(MPI_ERR_RANK, MPI_Bsend(&x, 1, MPI_INT, size, 0, world));
  REPORTS(MPI_ERR_RANK, MPI_Isend(&x, 1, MPI_INT, size, 0, world, &request));
  REPORTS(MPI_ERR_ARG, MPI_Isend(&x, 1, MPI_INT, 0, 0, world, nullptr));
  REPORTS(MPI_ERR_RANK, MPI_Send_init(&x, 1, MPI_INT, size, 0, world, &request));
  REPORTS(MPI_ERR_RANK, MPI_Recv(&x, 1, MPI_INT, size, 0, world, &status));
  REPORTS(MPI_ERR_RANK, MPI_Irecv(&x, 1, MPI_INT, size, 0, world, &request));
  REPORTS(MPI_ERR_TAG, MPI_Recv(&x, 1, MPI_INT, 0, -5, world, &status));
  REPORTS(MPI_ERR_COUNT, MPI_Recv(&x, -2, MPI_INT, 0, 0, world, &status));
  REPORTS(MPI_ERR_TYPE, MPI_Recv(&x, 1, MPI_DATATYPE_NULL, 0, 0, world, &status));
  REPORTS(MPI_ERR_BUFFER, MPI_Recv(nullptr, 1, MPI_INT, 0, 0, world, &status));
  REPORTS(MPI_ERR_RANK, MPI_Probe(size, 0, world, &status));
  REPORTS(MPI_ERR_TAG, MPI_Iprobe(0, -9, world, &flag, &status));
  REPORTS(MPI_ERR_ARG, MPI_Iprobe(0, 0, world, nullptr, &status));
  REPORTS(MPI_ERR_RANK,
          MPI_Sendrecv(&x, 1, MPI_INT, size, 0, &x, 0, MPI_INT, 0, 0, world, &status));
  REPORTS(MPI_ERR_RANK,
          MPI_Sendrecv(&x, 1, MPI_INT, 0, 0, &x, 0, MPI_INT, size, 0, world, &status));
  REPORTS(MPI_ERR_TAG,
          MPI_Sendrecv(&x, 1, MPI_INT, 0, MPI_ANY_TAG, &x, 0, MPI_INT, 0, 0, world, &status));
  CHECK(request == MPI_REQUEST_NULL);

  MPI_Datatype uncommitted;
  MUST(MPI_Type_contiguous(2, MPI_INT, &uncommitted));
  REPORTS(MPI_ERR_TYPE, MPI_Send(&x, 1, uncommitted, 0, 0, world));
  REPORTS(MPI_ERR_TYPE, MPI_Irecv(&x, 1, uncommitted, 0, 0, world, &request));
  MUST(MPI_Type_free(&uncommitted));

  MUST(MPI_Send(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, world));
  MUST(MPI_Recv(nullptr, 0, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, world, MPI_STATUS_IGNORE));
}

void completion() {
  MPI_Request null = MPI_REQUEST_NULL;
  MPI_Status status;
  int flag = 0;
  int index = 0;
  REPORTS(MPI_ERR_ARG, MPI_Wait(nullptr, &status));
  REPORTS(MPI_ERR_ARG, MPI_Test(&null, nullptr, &status));
  REPORTS(MPI_ERR_COUNT, MPI_Waitall(-1, &null, MPI_STATUSES_IGNORE));
  NOT_ON_MPICH(MPI_ERR_ARG, MPI_Waitall(1, nullptr, MPI_STATUSES_IGNORE));
  NOT_ON_MPICH(MPI_ERR_ARG, MPI_Waitany(1, &null, nullptr, &status));
  REPORTS(MPI_ERR_ARG, MPI_Testall(1, &null, nullptr, MPI_STATUSES_IGNORE));
  REPORTS(MPI_ERR_REQUEST, MPI_Start(&null));
  REPORTS(MPI_ERR_REQUEST, MPI_Request_free(&null));
  REPORTS(MPI_ERR_REQUEST, MPI_Cancel(&null));
  REPORTS(MPI_ERR_REQUEST, MPI_Startall(1, &null));
  MUST(MPI_Wait(&null, &status));
  MUST(MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE));
  MUST(MPI_Waitany(0, nullptr, &index, &status));
  CHECK(index == MPI_UNDEFINED);
  MUST(MPI_Testall(0, nullptr, &flag, MPI_STATUSES_IGNORE));
  CHECK(flag == 1);
}

void collectives() {
  int x = 0;
  int y = 0;
  std::vector<int> many(size, 0);
  std::vector<int> counts(size, 1);
  MPI_Request request = MPI_REQUEST_NULL;
  REPORTS(MPI_ERR_COMM, MPI_Barrier(MPI_COMM_NULL));
  REPORTS(MPI_ERR_ROOT, MPI_Bcast(&x, 1, MPI_INT, size, world));
  REPORTS(MPI_ERR_ROOT, MPI_Bcast(&x, 1, MPI_INT, -1, world));
  REPORTS(MPI_ERR_COUNT, MPI_Bcast(&x, -1, MPI_INT, 0, world));
  REPORTS(MPI_ERR_TYPE, MPI_Bcast(&x, 1, MPI_DATATYPE_NULL, 0, world));
  REPORTS(MPI_ERR_ROOT, MPI_Reduce(&x, &y, 1, MPI_INT, MPI_SUM, size, world));
  REPORTS(MPI_ERR_OP, MPI_Reduce(&x, &y, 1, MPI_INT, MPI_OP_NULL, 0, world));
  REPORTS(MPI_ERR_OP, MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_OP_NULL, world));
  NOT_ON_MPICH(MPI_ERR_COUNT, MPI_Allreduce(&x, &y, -1, MPI_INT, MPI_SUM, world));
  REPORTS(MPI_ERR_BUFFER, MPI_Allreduce(&x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, world));
  REPORTS(MPI_ERR_BUFFER, MPI_Allreduce(&x, &x, 1, MPI_INT, MPI_SUM, world));
  REPORTS(MPI_ERR_BUFFER, MPI_Scan(&x, &x, 1, MPI_INT, MPI_SUM, world));
  REPORTS(MPI_ERR_BUFFER, MPI_Bcast(nullptr, 1, MPI_INT, 0, world));
  REPORTS(MPI_ERR_ROOT, MPI_Gather(&x, 1, MPI_INT, many.data(), 1, MPI_INT, size, world));
  REPORTS(MPI_ERR_TYPE, MPI_Gather(&x, 1, MPI_DATATYPE_NULL, many.data(), 1, MPI_INT, 0, world));
  REPORTS(MPI_ERR_COUNT, MPI_Allgather(&x, -1, MPI_INT, many.data(), 1, MPI_INT, world));
  REPORTS(MPI_ERR_COUNT, MPI_Allgather(&x, 1, MPI_INT, many.data(), -1, MPI_INT, world));
  REPORTS(MPI_ERR_TYPE, MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, many.data(), 1,
                                      MPI_DATATYPE_NULL, world));
  REPORTS(MPI_ERR_TYPE,
          MPI_Alltoall(many.data(), 1, MPI_DATATYPE_NULL, counts.data(), 1, MPI_INT, world));
  REPORTS(MPI_ERR_ROOT, MPI_Scatter(many.data(), 1, MPI_INT, &x, 1, MPI_INT, size, world));
  REPORTS(MPI_ERR_ROOT, MPI_Ibcast(&x, 1, MPI_INT, size, world, &request));
  counts[size - 1] = -3;
  REPORTS(MPI_ERR_COUNT,
          MPI_Allgatherv(&x, 1, MPI_INT, many.data(), counts.data(), many.data(), MPI_INT, world));
  REPORTS(MPI_ERR_COUNT,
          MPI_Reduce_scatter(many.data(), &x, counts.data(), MPI_INT, MPI_SUM, world));
}

void objects() {
  int x = 0;
  int length = 0;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Op op = MPI_OP_NULL;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  REPORTS(MPI_ERR_COMM, MPI_Comm_size(MPI_COMM_NULL, &x));
  REPORTS(MPI_ERR_ARG, MPI_Comm_rank(world, nullptr));
  REPORTS(MPI_ERR_COMM, MPI_Comm_dup(MPI_COMM_NULL, &comm));
  REPORTS(MPI_ERR_COMM, MPI_Comm_free(&comm));
  NOT_ON_MPICH(MPI_ERR_COMM, MPI_Comm_remote_size(world, &x));
  REPORTS(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &x));
  REPORTS(MPI_ERR_GROUP, MPI_Group_free(&group));
  REPORTS(MPI_ERR_GROUP, MPI_Comm_create(world, MPI_GROUP_NULL, &comm));
  REPORTS(MPI_ERR_TYPE, MPI_Type_size(MPI_DATATYPE_NULL, &x));
  REPORTS(MPI_ERR_TYPE, MPI_Type_commit(&type));
  REPORTS(MPI_ERR_TYPE, MPI_Type_free(&type));
  REPORTS(MPI_ERR_TYPE, MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type));
  REPORTS(MPI_ERR_COUNT, MPI_Type_contiguous(-1, MPI_INT, &type));
  REPORTS(MPI_ERR_COUNT, MPI_Type_vector(-1, 1, 1, MPI_INT, &type));
  REPORTS(MPI_ERR_ARG, MPI_Type_contiguous(1, MPI_INT, nullptr));
  NOT_ON_MPICH(MPI_ERR_INFO, MPI_Info_set(MPI_INFO_NULL, "key", "value"));
  NOT_ON_MPICH(MPI_ERR_INFO, MPI_Info_free(&info));
  REPORTS(MPI_ERR_OP, MPI_Op_free(&op));
  REPORTS(MPI_ERR_ERRHANDLER, MPI_Comm_set_errhandler(world, MPI_ERRHANDLER_NULL));
  REPORTS(MPI_ERR_ERRHANDLER, MPI_Errhandler_free(&handler));
  REPORTS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(world, MPI_KEYVAL_INVALID, &x));
  REPORTS(MPI_ERR_ARG, MPI_Error_string(MPI_SUCCESS, nullptr, &length));
  MUST(MPI_Info_create(&info));
  REPORTS(MPI_ERR_INFO_KEY, MPI_Info_set(info, nullptr, "value"));
  REPORTS(MPI_ERR_ARG, MPI_Info_set(info, "key", nullptr));
  MUST(MPI_Info_free(&info));
  MUST(MPI_Error_string(MPI_ERR_RANK, text, &length));
  CHECK(length == static_cast<int>(strlen(text)) && length > 0);
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));  // for calls on no communicator
  point_to_point();
  neighbourhoods();
  completion();
  collectives();
  objects();
  handlers();
  return finish();
}
