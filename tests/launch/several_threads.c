/* Four threads of each rank wait at the same time, in two calls. */
#include <mpi.h>
#include <pthread.h>
#include <stddef.h>

static int rank, size;
static MPI_Comm comms[4];

static void* make_calls(void* argument) {
  const int tag = (int)(size_t)argument;
  int got = 0, sum = 0;
  for (int turn = 0; turn < 500; ++turn) {
    MPI_Sendrecv(&turn, 1, MPI_INT, (rank + 1) % size, tag, &got, 1, MPI_INT,
                 (rank + size - 1) % size, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (turn % 10 == 0) MPI_Allreduce(&turn, &sum, 1, MPI_INT, MPI_SUM, comms[tag]);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  pthread_t threads[4];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 4; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (size_t i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, make_calls, (void*)i);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; ++i) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return 0;
}
