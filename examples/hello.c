/* Every rank says hello, in the order of the ranks: rank 0 receives and prints. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  char host[MPI_MAX_PROCESSOR_NAME], line[MPI_MAX_PROCESSOR_NAME + 64];
  int rank, ranks, length;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Get_processor_name(host, &length);
  snprintf(line, sizeof line, "Hello from rank %d of %d on %s", rank, ranks, host);

  if (rank != 0) {
    MPI_Send(line, (int)strlen(line) + 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  } else {
    printf("%s\n", line);
    for (int from = 1; from < ranks; from++) {
      MPI_Recv(line, (int)sizeof line, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      printf("%s\n", line);
    }
    printf("checksum: %d\n", ranks * (ranks - 1) / 2);
  }
  MPI_Finalize();
  return 0;
}
