/* Several threads of rank 0 sleep, each for messages of its own; one at a time gets one and
 * answers. Beside them, by the argument, nothing, or a partitioned receive or a collective that the
 * other side joins at the end: what nobody moves meanwhile shall wake nobody. */
#include <mpi.h>
#include <pthread.h>
#include <string.h>

enum { waiters = 4, messages = 100, answers = 100, partitions = 99 };

static void* waiter(void* tag) {
  const int mine = *(int*)tag;
  for (int i = 0, got; i < messages; ++i) {
    MPI_Recv(&got, 1, MPI_INT, 1, mine, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&got, 1, MPI_INT, 1, answers + mine, MPI_COMM_WORLD);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided, rank, value = 0, tags[waiters];
  pthread_t threads[waiters];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int partitioned = argc > 1 && strcmp(argv[1], "partitioned") == 0;
  const int collective = argc > 1 && strcmp(argv[1], "collective") == 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) {
    if (partitioned) {
      MPI_Precv_init(&value, 1, 1, MPI_INT, 1, partitions, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      MPI_Start(&request);
    }
    if (collective) MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int i = 0; i < waiters; ++i) {
      tags[i] = i;
      pthread_create(&threads[i], NULL, waiter, &tags[i]);
    }
    for (int i = 0; i < waiters; ++i) pthread_join(threads[i], NULL);
  } else if (rank == 1) {
    for (int i = 0; i < messages * waiters; ++i) {
      const int tag = i % waiters;
      MPI_Send(&i, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
      MPI_Recv(&value, 1, MPI_INT, 0, answers + tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (partitioned) {
      MPI_Psend_init(&value, 1, 1, MPI_INT, 0, partitions, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      MPI_Start(&request);
      MPI_Pready(0, request);
    }
    if (collective) MPI_Ibarrier(MPI_COMM_WORLD, &request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (partitioned) MPI_Request_free(&request);
  return MPI_Finalize();
}
