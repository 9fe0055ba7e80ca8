/* Rank 1 waits for late messages, with no handler, one that answers DEFAULT, or one that says SLEEP
 * or POLL: then it has been told how busy it was. */
#include <meantime.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int idle = 0, busy = 0; /* waits of which it was awake for less than half, or more */

static int says(const MPIX_Energy_info* info, void* answer) {
  if (info->last_wait > 1e-3) ++*(info->last_busy < info->last_wait / 2 ? &idle : &busy);
  return *(int*)answer;
}

int main(int argc, char** argv) {
  int rank, word = 0;
  static int answer = MPIX_ENERGY_DEFAULT;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(argv[1], "sleep") == 0) answer = MPIX_ENERGY_SLEEP;
  if (strcmp(argv[1], "poll") == 0) answer = MPIX_ENERGY_POLL;
  if (strcmp(argv[1], "none") != 0) MPIX_Energy_handler_reg(says, NULL, &answer);
  for (int i = 0; i < 300; ++i) {
    if (rank == 0) {
      usleep(2000);
      MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  if (rank == 1 && answer == MPIX_ENERGY_SLEEP && idle == 0) printf("never idle\n");
  if (rank == 1 && answer == MPIX_ENERGY_POLL && busy == 0) printf("never busy\n");
  if (rank == 0) printf(" No Errors\n");
  MPI_Finalize();
  return 0;
}
