/* So many rounds of so many microseconds: the last rank computes, then sends to each of the others,
   which wait for that. With a third word they answer, and it waits for that. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size, word = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = atoi(argv[1]);
  const double seconds = atoi(argv[2]) * 1e-6;
  for (int round = 0; round < rounds; ++round) {
    if (rank == size - 1) {
      for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {
      }
      for (int to = 0; to < size - 1; ++to) MPI_Send(&word, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
      for (int from = 0; argc > 3 && from < size - 1; ++from)
        MPI_Recv(&word, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&word, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (argc > 3) MPI_Send(&word, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD);
    }
  }
  MPI_Finalize();
  return 0;
}
