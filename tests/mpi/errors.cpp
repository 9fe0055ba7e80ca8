// Argument errors with MPI_ERRORS_RETURN: their classes are what MPICH gives; user's handlers;
// codes, classes and strings; after an error MPI goes on.
#include "check.h"

using namespace check;

static int handled, handled_code;
static MPI_Comm handled_comm;
static void handler(MPI_Comm* comm, int* code, ...) {
  ++handled;
  handled_code = *code;
  handled_comm = *comm;
}

static void arguments_of_messages() {
  int x = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  MPI_Comm world = MPI_COMM_WORLD;
  CLASS(MPI_ERR_COUNT, MPI_Send(&x, -1, MPI_INT, 0, 0, world));
  CLASS(MPI_ERR_TYPE, MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, world));
  CLASS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, size, 0, world));
  CLASS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, -77, 0, world));
  CLASS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, world));
  CLASS(MPI_ERR_TAG, MPI_Send(&x, 1, MPI_INT, 0, -5, world));
  CLASS(MPI_ERR_TAG, MPI_Send(&x, 1, MPI_INT, 0, MPI_ANY_TAG, world));
  CLASS(MPI_ERR_COMM, MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
  CLASS(MPI_ERR_BUFFER, MPI_Send(nullptr, 1, MPI_INT, 0, 0, world));
  CLASS(MPI_ERR_COUNT, MPI_Recv(&x, -1, MPI_INT, 0, 0, world, &status));
  CLASS(MPI_ERR_RANK, MPI_Recv(&x, 1, MPI_INT, size, 0, world, &status));
  CLASS(MPI_ERR_TAG, MPI_Recv(&x, 1, MPI_INT, 0, -5, world, &status));
  CLASS(MPI_ERR_RANK, MPI_Irecv(&x, 1, MPI_INT, size + 5, 0, world, &request));
  CLASS(MPI_ERR_RANK, MPI_Probe(size, 0, world, &status));
  CLASS(MPI_ERR_COUNT, MPI_Waitall(-1, nullptr, MPI_STATUSES_IGNORE));
  CLASS(MPI_ERR_REQUEST, MPI_Request_free(&request));
  CLASS(MPI_ERR_REQUEST, MPI_Start(&request));
  MPI_Datatype type;
  MUST(MPI_Type_contiguous(2, MPI_INT, &type));  // not committed
  CLASS(MPI_ERR_TYPE, MPI_Send(&x, 1, type, 0, 0, world));
  MUST(MPI_Type_free(&type));
  CLASS(MPI_ERR_TYPE, MPI_Type_commit(&type));
}

static void arguments_of_the_rest() {
  int x[64] = {}, y[64] = {}, n;
  MPI_Comm comm, world = MPI_COMM_WORLD;
  MPI_Group group, sub;
  CLASS(MPI_ERR_ROOT, MPI_Bcast(x, 1, MPI_INT, size, world));
  CLASS(MPI_ERR_ROOT, MPI_Reduce(x, y, 1, MPI_INT, MPI_SUM, -1, world));
  CLASS(MPI_ERR_COUNT, MPI_Bcast(x, -1, MPI_INT, 0, world));
  CLASS(MPI_ERR_OP, MPI_Allreduce(x, y, 1, MPI_INT, MPI_OP_NULL, world));
  CLASS(MPI_ERR_BUFFER, MPI_Allreduce(x, x, 1, MPI_INT, MPI_SUM, world));
  CLASS(MPI_ERR_TYPE, MPI_Bcast(x, 1, MPI_DATATYPE_NULL, 0, world));
  CLASS(MPI_ERR_COMM, MPI_Barrier(MPI_COMM_NULL));
  CLASS(MPI_ERR_COMM, MPI_Comm_dup(MPI_COMM_NULL, &comm));
  CLASS(MPI_ERR_COMM, MPI_Comm_size(MPI_COMM_NULL, &n));
  MUST(MPI_Comm_group(world, &group));
  int ranks[] = {0, 0};
  ranks[1] = size;
  CLASS(MPI_ERR_RANK, MPI_Group_incl(group, 2, ranks, &sub));
  CLASS(MPI_ERR_ARG, MPI_Group_incl(group, -1, ranks, &sub));
  MUST(MPI_Group_free(&group));
  CLASS(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &n));
  int dims[] = {size + 1}, periods[] = {0};
  int code = MPI_Cart_create(world, 1, dims, periods, 0, &comm);
  CHECK(error_class(code) == MPI_ERR_DIMS || error_class(code) == MPI_ERR_ARG ||
            error_class(code) == MPI_ERR_TOPOLOGY,
        "class %d", error_class(code));
  CLASS(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(world, &n));
  CLASS(MPI_ERR_COUNT, MPI_Type_contiguous(-1, MPI_INT, reinterpret_cast<MPI_Datatype*>(x)));
}

static void handlers() {
  MPI_Errhandler own, got;
  MPI_Comm copy;
  MUST(MPI_Comm_create_errhandler(handler, &own));
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  MUST(MPI_Comm_get_errhandler(copy, &got));
  CHECK(got == MPI_ERRORS_RETURN, "dup does not inherit the handler");
  MUST(MPI_Comm_set_errhandler(copy, own));
  int x = 0;
  int code = MPI_Send(&x, 1, MPI_INT, size, 0, copy);
  CHECK(handled == 1 && handled_comm == copy, "handler called %d times, code %d, returned %d",
        handled, handled_code, code);
  CHECK(error_class(handled_code) == MPI_ERR_RANK, "class %d", error_class(handled_code));
  MUST(MPI_Comm_get_errhandler(copy, &got));
  CHECK(got == own);
  MUST(MPI_Errhandler_free(&got));
  MUST(MPI_Errhandler_free(&own));  // still in use by the communicator
  CHECK(own == MPI_ERRHANDLER_NULL);
  MPI_Bcast(&x, 1, MPI_INT, -3, copy);
  CHECK(handled == 2);
  MUST(MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER));
  CHECK(handled == 3 && handled_code == MPI_ERR_OTHER);
  MUST(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_free(&copy));
}

static void codes() {
  int last = 0, flag = 0, new_class, new_code, got;
  void* value = nullptr;
  MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
  CHECK(flag && *static_cast<int*>(value) >= MPI_ERR_LASTCODE);
  last = *static_cast<int*>(value);
  MUST(MPI_Add_error_class(&new_class));
  CHECK(new_class > last);
  MUST(MPI_Add_error_code(new_class, &new_code));
  MUST(MPI_Add_error_string(new_code, "of the test's own"));
  CHECK(error_text(new_code) == "of the test's own");
  MUST(MPI_Error_class(new_code, &got));
  CHECK(got == new_class);
  for (int code : {int(MPI_SUCCESS), int(MPI_ERR_BUFFER), int(MPI_ERR_TRUNCATE), int(MPI_ERR_OTHER),
                   int(MPI_ERR_PENDING)}) {
    CHECK(!error_text(code).empty());
    CHECK(error_class(code) == code);
  }
}

int main(int argc, char** argv) {
  start(argc, argv);
  MPI_Errhandler got;
  MUST(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
  CHECK(got == MPI_ERRORS_ARE_FATAL);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  arguments_of_messages();
  arguments_of_the_rest();
  handlers();
  codes();
  // MPI goes on.
  int sum = 0, one = 1;
  MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == size);
  return finish();
}
