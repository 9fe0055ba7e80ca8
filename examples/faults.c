/* Page faults from both points of view: rank 0 touches 1000 blocks of memory and waits in a barrier
 * for rank 1, which touches 2000 (each block is two faults).
 *
 *   taskset -c 0 mpiexec --as threads -n 2 ./faults */
#include <meantime.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Count mine, core;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPIX_Counter_start("page-faults");
  for (long i = 0, pages = 1000 * (rank + 1); i < pages; ++i)
    ((volatile char*)malloc(1 << 20))[4096] = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPIX_Counter_read("page-faults", &mine, &core);
  printf("rank %d: %lld, its core: %lld\n", rank, (long long)mine, (long long)core);
  MPIX_Counter_stop("page-faults");
  MPI_Finalize();
  return 0;
}
