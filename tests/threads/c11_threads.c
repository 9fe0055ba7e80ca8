/* Threads of C11 and the ends of threads: each is of the rank that made it, and the rank's own ends
   its program when the last of them has ended. The first word says what the ranks do. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

static int errors, rank, hits;
static _Thread_local int own = 5;
static pthread_t of_rank;
static int line[2];

static void check(int right, const char* what) {
  if (!right) {
    errors++;
    fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  }
}

static int of_c11(void* argument) {
  check(own == 5 && *(int*)argument == rank, "what a thread begins with");
  check(getenv("OWN") != NULL && atoi(getenv("OWN")) == rank, "getenv");
  own = 6;
  hits++;
  printf("thread of %d\n", rank);
  if (hits == 2) thrd_exit(-7);
  return 1000 + rank;
}
static void* exits(void* argument) {
  pthread_exit(argument);
}
static void* reads(void* argument) {
  char byte;
  check(read(line[0], &byte, 1) == 9, "read");
  return argument;
}
static void* sleeps(void* argument) {
  sleep(1000);
  return argument;
}
static void* cancels_the_rank(void* argument) {
  check(pthread_cancel(of_rank) == ENOTSUP, "pthread_cancel of the rank");
  return argument;
}
static void* says(void* argument) {
  char byte;
  if (read(line[0], &byte, 1) == 1) printf("last of %d\n", rank);
  return argument;
}
static void handler(void) {
  printf("handler of %d\n", rank);
}

static void join(pthread_t thread, void* expected, const char* what) {
  void* result = NULL;
  pthread_join(thread, &result);
  check(result == expected, what);
}

int main(int count, char** words) {
  int size;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int as_threads = getenv("MEANTIME_TEST_THREADS") != NULL;
  char text[10];
  snprintf(text, sizeof text, "%d", rank);
  setenv("OWN", text, 1);
  of_rank = pthread_self();
  if (pipe(line) != 0) return 1;
  if (count > 1) { /* ends by pthread_exit */
    pthread_t thread;
    atexit(handler);
    pthread_create(&thread, NULL, says, NULL);
    pthread_detach(thread);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    check(write(line[1], "x", 1) == 1, "write");
    pthread_exit(&count);
  }
  for (int i = 0; i < 2; i++) {
    thrd_t made;
    int result = 0, number = rank;
    check(thrd_create(&made, of_c11, &number) == thrd_success, "thrd_create");
    check(thrd_join(made, &result) == thrd_success, "thrd_join");
    check(result == (i == 0 ? 1000 + rank : -7), "thrd_join's result");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  check(hits == 2 && own == 5, "what is left");
  pthread_t thread;
  pthread_create(&thread, NULL, exits, &hits);
  join(thread, &hits, "pthread_exit's result");
  pthread_create(&thread, NULL, reads, NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  pthread_cancel(thread);
  join(thread, PTHREAD_CANCELED, "cancelled in read");
  pthread_create(&thread, NULL, sleeps, NULL);
  pthread_cancel(thread);
  join(thread, PTHREAD_CANCELED, "cancelled in sleep");
  if (as_threads) {
    pthread_create(&thread, NULL, cancels_the_rank, NULL);
    pthread_join(thread, NULL);
  }
  MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && errors == 0) printf(" No Errors\n");
  return errors != 0;
}
