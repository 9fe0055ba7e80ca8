/* pi as the integral of 4 / (1 + x^2) from 0 to 1 by the midpoint rule, strips dealt out in turn.
 *
 *   mpiexec -n 4 ./pi [strips]      (default 10000000) */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const double pi = 3.14159265358979323846;
  int rank, ranks, status = 0;
  long strips = argc > 1 ? atol(argv[1]) : 10000000;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Bcast(&strips, 1, MPI_LONG, 0, MPI_COMM_WORLD);

  const double width = 1.0 / (double)strips;
  double mine = 0, sum = 0;
  for (long i = rank; i < strips; i += ranks) {
    const double x = width * ((double)i + 0.5);
    mine += 4 / (1 + x * x);
  }
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);

  if (rank == 0) {
    const double found = sum * width;
    /* The rule's error is about width^2 / 12, rounding about 1e-13. */
    const int right = fabs(found - pi) < width * width + 1e-10;
    printf("pi is about %.10f with %d ranks: %s\n", found, ranks, right ? "right" : "WRONG");
    printf("checksum: %.9f\n", found);
    status = right ? 0 : 1;
  }
  MPI_Finalize();
  return status;
}
