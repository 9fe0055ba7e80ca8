/* Waits for so many milliseconds, all ranks but the last, which sleeps. Then, as the second word
 * says: "exit", status 7 without MPI_Finalize; "abort" with 9; "crash"; or all is well. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int milliseconds = argc > 1 ? atoi(argv[1]) : 100;
  const char* end = argc > 2 ? argv[2] : "";
  if (rank == size - 1) {
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    nanosleep(&time, NULL);
    if (strcmp(end, "exit") == 0) exit(7);
    if (strcmp(end, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 9);
    if (strcmp(end, "crash") == 0) *(volatile int*)0 = 0;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
