// Run by mpiexec -initial-errhandler mpi_errors_return: the error handler that there is where the
// program has set none, in a session before MPI_Init as well. Without it, errors are fatal.
#include "check.h"

static void there_is_no_world() {
  int number = -1, flag = 0;
  MPI_Comm other = MPI_COMM_NULL;
  void* value = nullptr;
  CHECK(check::error_class(MPI_Comm_rank(MPI_COMM_WORLD, &number)) == MPI_ERR_COMM);
  CHECK(check::error_class(MPI_Comm_dup(MPI_COMM_SELF, &other)) == MPI_ERR_COMM);
  CHECK(check::error_class(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag)) ==
        MPI_ERR_COMM);
  CHECK(number == -1 && other == MPI_COMM_NULL);
}

static void is_returning(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MUST(MPI_Comm_get_errhandler(comm, &handler));
  CHECK(handler == MPI_ERRORS_RETURN);
  MUST(MPI_Errhandler_free(&handler));
}

int main(int argc, char** argv) {
  CHECK(check::error_class(MPI_Info_create(nullptr)) == MPI_ERR_ARG);  // before everything
  MPI_Session session;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  there_is_no_world();
  check::start(argc, argv);
  is_returning(MPI_COMM_WORLD);
  is_returning(MPI_COMM_SELF);
  MPI_Comm copy;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  is_returning(copy);
  CHECK(check::error_class(MPI_Send(nullptr, 1, MPI_INT, 0, 0, copy)) == MPI_ERR_BUFFER);
  MPI_Group none = MPI_GROUP_NULL;
  int rank;
  CHECK(check::error_class(MPI_Group_rank(none, &rank)) == MPI_ERR_GROUP);
  MUST(MPI_Comm_free(&copy));
  MUST(MPI_Session_finalize(&session));
  return check::finish();
}
