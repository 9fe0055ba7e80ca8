/* Names and texts with what would move a terminal's cursor or begin a line: argv[1] says where they
 * come up. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

#define ODD "\033[2J\033]0;owned\007\n  rank 9 (pid 1) forged\x7f\xc2\x9b\xff"

int main(int argc, char** argv) {
  int rank, value = 0, class, code;
  MPI_Comm comm;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, ODD);
  if (strcmp(argv[1], "deadlock") == 0) {
    MPI_Recv(&value, 1, MPI_INT, rank, 1, comm, MPI_STATUS_IGNORE);
  } else if (strcmp(argv[1], "late") == 0 && rank == 0) {
    for (;;) {
      pause();
    }
  } else if (strcmp(argv[1], "error") == 0) {
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, ODD);
    MPI_Comm_call_errhandler(comm, code);
  } else if (strcmp(argv[1], "window") == 0) {
    MPI_Win_create(&value, sizeof value, sizeof value, MPI_INFO_NULL, comm, &window);
    MPI_Win_set_name(window, ODD);
    MPI_Win_call_errhandler(window, MPI_ERR_OTHER);
  }
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
