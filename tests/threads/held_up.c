/* A rank holds its worker up in a way that Meantime does not see, until another rank of that worker
 * has done something. Ranks of one host only: they give each other addresses. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* By the instruction itself: nobody interposes that. */
static long ask_kernel(long number, long a, void* b, long c) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c)
                   : "rcx", "r11", "memory");
  return result;
}

struct shared {
  volatile int flag;
  int pipe[2];
  pthread_mutex_t mutex;
};

int main(int count, char** words) {
  MPI_Init(&count, &words);
  const char* const way = count > 1 ? words[1] : "";
  int rank, size, value = 7;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct shared* shared = NULL;
  if (rank == 0) {
    shared = calloc(1, sizeof *shared);
    pthread_mutex_init(&shared->mutex, NULL);
    if (pipe(shared->pipe) != 0) return 1;
  }
  MPI_Bcast(&shared, sizeof shared, MPI_BYTE, 0, MPI_COMM_WORLD);
  const int last = size - 1;
  if (strcmp(way, "flag") == 0) { /* spins on a word that the last rank writes */
    if (rank == 0) {
      while (shared->flag == 0) {
      }
    } else if (rank == last) {
      shared->flag = 1;
    }
  } else if (strcmp(way, "file") == 0) {
    if (rank == 0) {
      while (access("made-by-the-last", F_OK) != 0) {
      }
    } else if (rank == last) {
      close(open("made-by-the-last", O_CREAT | O_WRONLY, 0600));
    }
  } else if (strcmp(way, "pipe") == 0) { /* a system call that nobody interposes */
    char byte;
    if (rank == 0) {
      if (ask_kernel(SYS_read, shared->pipe[0], &byte, 1) != 1) return 1;
    } else if (rank == last) {
      if (ask_kernel(SYS_write, shared->pipe[1], "x", 1) != 1) return 1;
    }
  } else if (strcmp(way, "sleep") == 0) {
    struct timespec time = {0, 600000000};
    if (rank == 0) ask_kernel(SYS_nanosleep, (long)&time, NULL, 0);
    for (int i = 0; i < 100 && rank > 0; i++) {
      MPI_Sendrecv_replace(&value, 1, MPI_INT, rank == last ? 1 : rank + 1, 0,
                           rank == 1 ? last : rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  } else if (strcmp(way, "exchange") == 0) { /* long asleep, which is nothing to the others */
    const double start = MPI_Wtime();
    if (rank == 0) sleep(5);
    for (int i = 0; i < 300 && rank > 0; i++) {
      MPI_Sendrecv_replace(&value, 1, MPI_INT, rank == last ? 1 : rank + 1, 0,
                           rank == 1 ? last : rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank > 0 && MPI_Wtime() - start >= 5) return 1;
  } else if (strcmp(way, "mutex") == 0) { /* held across a receive; all others want it */
    if (rank == 0) {
      pthread_mutex_lock(&shared->mutex);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Recv(&value, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      pthread_mutex_unlock(&shared->mutex);
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank == last) MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
      pthread_mutex_lock(&shared->mutex);
      pthread_mutex_unlock(&shared->mutex);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0) printf(" No Errors\n");
  return 0;
}
