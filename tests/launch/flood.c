/* Rank 1 sends so many short messages, and then the one that rank 0 waits for. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, word = 0;
  const int many = argc > 1 ? atoi(argv[1]) : 100000;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) {
    for (int i = 0; i < many; ++i) MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Send(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  } else if (rank == 0) {
    MPI_Recv(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < many; ++i)
      MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
