/* Ends in MPI, one way or another; the argument chooses. */
#include <mpi.h>
#include <string.h>

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  MPI_Session session, twin;
  if (strchr(what, 's')) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  if (strchr(what, 'i')) MPI_Init(&argc, &argv);
  if (strchr(what, 't')) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &twin);
  if (strchr(what, 'f')) MPI_Finalize();
  if (strchr(what, 'u')) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &twin);
  if (strchr(what, 'e')) MPI_Session_finalize(&session);
  return 0;
}
