/* Two threads per rank, each with its own communicator, pass heap blocks around a ring: short ones,
 * and long ones that another process puts in place. Run under users' tools. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static MPI_Comm communicators[2];

static void* pass_around(void* communicator) {
  MPI_Comm own = *(MPI_Comm*)communicator;
  int rank, size;
  MPI_Comm_rank(own, &rank);
  MPI_Comm_size(own, &size);
  for (int turn = 0; turn < 30; ++turn) {
    int count = turn % 2 ? 100 : 200000, before = (rank + size - 1) % size, one = 1, sum = 0;
    int* mine = malloc(count * sizeof *mine);
    int* theirs = malloc(count * sizeof *theirs);
    for (int k = 0; k < count; ++k) mine[k] = rank + turn + k;
    MPI_Sendrecv(mine, count, MPI_INT, (rank + 1) % size, 3, theirs, count, MPI_INT, before, 3, own,
                 MPI_STATUS_IGNORE);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, own);
    if (sum != size) abort();
    for (int k = 0; k < count; ++k) {
      if (theirs[k] != before + turn + k) abort();
    }
    free(mine);
    free(theirs);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  pthread_t threads[2];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  for (int t = 0; t < 2; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &communicators[t]);
  for (int t = 0; t < 2; ++t) pthread_create(&threads[t], NULL, pass_around, &communicators[t]);
  for (int t = 0; t < 2; ++t) pthread_join(threads[t], NULL);
  for (int t = 0; t < 2; ++t) MPI_Comm_free(&communicators[t]);
  MPI_Finalize();
  puts(" No Errors");
  return 0;
}
