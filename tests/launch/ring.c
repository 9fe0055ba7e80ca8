/* Each rank sends to the next one and receives from the one before, so many times. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size, other;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int left = argc > 1 ? atoi(argv[1]) : 1000; left > 0; --left) {
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &other, 1, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
