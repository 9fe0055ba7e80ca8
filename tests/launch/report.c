/* Rank 0 is late for the others, again and again. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { rounds = 200 };

static __attribute__((noinline)) void wait_for_zero(int round) {
  int got = -1;
  MPI_Recv(&got, 1, MPI_INT, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* waited for here */
  if (got != round) abort();
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < rounds; ++round) {
    if (rank != 0) {
      wait_for_zero(round);
    } else {
      for (double until = MPI_Wtime() + 200e-6; MPI_Wtime() < until;) {
      }
      for (int other = 1; other < size; ++other)
        MPI_Send(&round, 1, MPI_INT, other, round, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (argc > 1 && rank == 1) exit(3);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("done\n");
  MPI_Finalize();
  return 0;
}
