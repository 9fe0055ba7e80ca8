/* Calls that this version does not have; the first argument chooses, a second one makes errors
 * return. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  int word = 0, code = MPI_SUCCESS;
  MPI_Comm comm;
  MPI_File file;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  if (argc > 2) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  } else {
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
  }
  if (!strcmp(argv[1], "file"))
    code = MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  if (!strcmp(argv[1], "spawn"))
    code = MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm,
                          MPI_ERRCODES_IGNORE);
  if (!strcmp(argv[1], "put")) {
    MPI_Win_create(&word, sizeof word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, argc > 2 ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL);
    code = MPI_Put(&word, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_free(&win);
  }
  if (!strcmp(argv[1], "lock")) {
    MPI_Win_create(&word, sizeof word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, argc > 2 ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL);
    code = MPI_Win_lock_all(0, win);
    MPI_Win_free(&win);
  }
  printf("%s\n", code == MPI_ERR_UNSUPPORTED_OPERATION ? "unsupported" : "something else");
  MPI_Finalize();
  return 0;
}
