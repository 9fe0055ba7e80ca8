/* Both languages compile it. Says which library answered: a run path can bring in another one
 * silently. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0, rank = -1, size = 0;
  MPI_Init(&argc, &argv);
  MPI_Get_library_version(version, &length);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("rank %d of %d: %s\n", rank, size, version);
  MPI_Finalize();
  return 0;
}
