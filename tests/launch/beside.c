/* PIECE ROUNDS [together]: ranks compute in turns, so many seconds of CPU time each, or all of them
   in each round; who does not waits. At the end rank 0 says what all of them needed for computing:
   CPU time, by the kernel's clock of whatever thread they ran on, and MPIX_Rtime; and how long it
   took. */
#include <meantime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double compute(double seconds) {
  const double start = cpu_time();
  double used = 0;
  while (used < seconds) {
    volatile double x = 1;
    for (int i = 0; i < 20000; ++i) x = x * 1.0000001 + 1e-9;
    used = cpu_time() - start;
  }
  return used;
}

int main(int argc, char** argv) {
  const double piece = argc > 1 ? atof(argv[1]) : 0.004;
  const int rounds = argc > 2 ? atoi(argv[2]) : 150;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  const double wall = MPI_Wtime();
  double mine[2] = {0, -MPIX_Rtime()};
  for (int round = 0; round < rounds; ++round) {
    if (argc > 3 || round % size == rank) mine[0] += compute(piece);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  mine[1] += MPIX_Rtime();
  double all[2];
  MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.6f %.6f %.6f\n", all[0], all[1], MPI_Wtime() - wall);
  MPI_Finalize();
  return 0;
}
