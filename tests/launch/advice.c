/* Who waits for whom, for the advice of --report. "alone": rank 0 waits for the others, and
 * computes on when all have met. "asleep": all but the last are asleep outside of MPI, and it
 * waits. "even": all do the same. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

static void compute(double seconds) {
  for (double until = MPI_Wtime() + seconds; MPI_Wtime() < until;) {
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(argv[1], "even") == 0) {
    for (int round = 0; round < 30; ++round) {
      for (volatile int turn = 0; turn < 1000000; ++turn) {
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
  } else if (strcmp(argv[1], "asleep") == 0) {
    if (rank != size - 1) usleep(300000);
  } else if (rank != 0) {
    compute(0.3);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(argv[1], "alone") == 0 && rank == 0) compute(0.8);
  MPI_Finalize();
  return 0;
}
