/* Page faults from both points of view: rank 0 touches 1000 blocks of memory and waits in a barrier
 * for rank 1, which touches 2000 (each block is two faults).
 *
 *   taskset -c 0 mpiexec --as threads -n 2 ./faults */
#include <meantime.h>
#include <stdio.h>
#include <stdlib.h>

static char* volatile blocks[2000]; /* volatile: an unused block would never be made */

int main(int argc, char** argv) {
  int rank;
  MPI_Count mine, core;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPIX_Counter_start("page-faults");
  for (int i = 0; i < 1000 * (rank + 1) && i < 2000; ++i) {
    blocks[i] = malloc(1 << 20);
    blocks[i][4096] = 1;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPIX_Counter_read("page-faults", &mine, &core);
  printf("rank %d: %lld, its core: %lld\n", rank, (long long)mine, (long long)core);
  MPIX_Counter_stop("page-faults");
  for (int i = 0; i < 2000; ++i) free(blocks[i]);
  MPI_Finalize();
  return 0;
}
