// Run with MEANTIME_CHECKS=0: values that make no sense are let through, so one buffer for both
// sides of a collective works as it does without any check; what a call cannot do without is still
// asked for.
#include "check.h"

using namespace check;

int main(int argc, char** argv) {
  start(argc, argv);
  int sum = rank;
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MUST(MPI_Allreduce(&sum, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == size * (size - 1) / 2, "%d", sum);
  // No element is sent, whatever the count says.
  MUST(MPI_Send(nullptr, -1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
  MUST(MPI_Send(&sum, 1, MPI_INT, MPI_PROC_NULL, -5, MPI_COMM_WORLD));

  CHECK(error_class(MPI_Barrier(MPI_COMM_NULL)) == MPI_ERR_COMM);
  CHECK(error_class(MPI_Send(&sum, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD)) ==
        MPI_ERR_TYPE);
  CHECK(error_class(MPI_Comm_rank(MPI_COMM_WORLD, nullptr)) == MPI_ERR_ARG);

  int provided, count = 0, found = 0;
  CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
  CHECK(MPI_T_cvar_get_index("MEANTIME_CHECKS", &found) == MPI_SUCCESS);
  MPI_T_cvar_handle handle;
  int value = -1;
  CHECK(MPI_T_cvar_handle_alloc(found, nullptr, &handle, &count) == MPI_SUCCESS && count == 1);
  CHECK(MPI_T_cvar_read(handle, &value) == MPI_SUCCESS && value == 0, "%d", value);
  CHECK(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS);
  CHECK(MPI_T_finalize() == MPI_SUCCESS);
  return finish();
}
