/* Large messages that are looked at; or two ranks of which a thread wakes one after a while
   (thread), or whom nobody wakes (deadlock). */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int word = 7;

static void* later(void* unused) {
  sleep(3);
  MPI_Send(&word, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
  return unused;
}

int main(int argc, char** argv) {
  enum { bytes = 1 << 20 };
  int rank, size, level, wrong = 0, sum = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && strcmp(argv[1], "deadlock") == 0) {
    MPI_Recv(&word, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (argc > 1 && rank == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, later, NULL);
    MPI_Recv(&word, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
  } else if (argc > 1) {
    MPI_Recv(&word, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
  }
  const int left = (rank + size - 1) % size;
  char* mine = malloc(bytes);
  char* theirs = malloc((size_t)bytes * size);
  memset(mine, 'a' + rank, bytes);
  for (int i = 0; i < 5; ++i) {
    memset(theirs, 0, bytes);
    MPI_Sendrecv(mine, bytes, MPI_BYTE, (rank + 1) % size, 1, theirs, bytes, MPI_BYTE, left, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int j = 0; j < bytes; ++j) wrong += theirs[j] != 'a' + left;
  }
  MPI_Allgather(mine, bytes, MPI_BYTE, theirs, bytes, MPI_BYTE, MPI_COMM_WORLD);
  for (int k = 0; k < size; ++k)
    for (int j = 0; j < bytes; ++j) wrong += theirs[(size_t)k * bytes + j] != 'a' + k;
  MPI_Reduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", sum);
  free(mine);
  free(theirs);
  MPI_Finalize();
  return 0;
}
