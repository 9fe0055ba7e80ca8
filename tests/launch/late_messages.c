/* Rank 1 waits for 4 bytes and for 4 MiB from rank 0, which is late, and rank 0 until rank 1, which
 * is late with its receive, has got 4 MiB. A receive that does not block is never served by a pipe
 * where its message can be copied directly. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static void receive(char* buffer, int bytes, int tag) {
  MPI_Request request;
  MPI_Irecv(buffer, bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  const struct timespec late = {0, 5000000};
  const int large = 4 << 20, rounds = 10;
  char* buffer = calloc(1, large);
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD); /* to who has not begun nothing goes directly */
  for (int i = 0; i < rounds; ++i) {
    for (int bytes = 4; bytes <= large; bytes += large - 4) {
      if (rank == 0) nanosleep(&late, NULL);
      if (rank == 0) MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
      if (rank == 1) receive(buffer, bytes, 0);
    }
    if (rank == 0) MPI_Send(buffer, large, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    if (rank == 1) nanosleep(&late, NULL);
    if (rank == 1) receive(buffer, large, 1);
  }
  MPI_Finalize();
  free(buffer);
  return 0;
}
