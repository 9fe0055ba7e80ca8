/* Rank 1 waits for late messages, with no handler, one that answers DEFAULT, or one that says
 * SLEEP. */
#include <meantime.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int says(const MPIX_Energy_info* info, void* answer) {
  (void)info;
  return *(int*)answer;
}

int main(int argc, char** argv) {
  int rank, word = 0;
  static int answer = MPIX_ENERGY_DEFAULT;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(argv[1], "sleep") == 0) answer = MPIX_ENERGY_SLEEP;
  if (strcmp(argv[1], "none") != 0) MPIX_Energy_handler_reg(says, NULL, &answer);
  for (int i = 0; i < 300; ++i) {
    if (rank == 0) {
      usleep(2000);
      MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  if (rank == 0) printf(" No Errors\n");
  MPI_Finalize();
  return 0;
}
