/* Thread-local variables of the program and its libraries are each rank's own and those of each
   thread of a rank. Prints " No Errors" or what is wrong. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#ifndef ROOM
#define ROOM 8
#endif
_Thread_local long of_the_program = 1000;
static _Thread_local char many[ROOM];
static _Thread_local long aligned __attribute__((aligned(ALIGNMENT))) = 77;
static int errors, rank;

#define LIBRARY(name)                      \
  extern _Thread_local long shared_##name; \
  long add_##name(long value);             \
  long* where_##name(void);                \
  int text_##name(long value);
LIBRARY(plain)
LIBRARY(initial)
LIBRARY(descriptor)

static void check(int right, const char* what) {
  if (!right) {
    errors++;
    fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  }
}

/* `before` is what the global variable of the library has been given so far. */
static void look(long add, long before) {
  const long sum = 100 + add + 200 + add + add + 5 + before + add + of_the_program;
  check(add_plain(add) == sum, "general-dynamic");
  check(add_initial(add) == sum, "initial-exec");
  check(add_descriptor(add) == sum, "a descriptor");
  check(shared_plain == 100 + add && shared_initial == 100 + add && shared_descriptor == 100 + add,
        "from the program");
  check(text_plain(add) && text_initial(add) && text_descriptor(add), "a text");
}

static void* thread(void* argument) {
  check(of_the_program == 1000 && aligned == 77 && many[ROOM - 1] == 0,
        "the program's in a thread");
  look(3, rank % 7 + 1);
  return argument;
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  of_the_program += rank;
  aligned += rank;
  many[0] = many[ROOM - 1] = (char)rank;
  MPI_Barrier(MPI_COMM_WORLD);
  look(rank % 7 + 1, 0);
  long* const own = where_plain();
  MPI_Barrier(MPI_COMM_WORLD);
  check(*own == 200 + rank % 7 + 1 && own == where_plain(), "where it is");
  check(dlsym(RTLD_DEFAULT, "shared_plain") == &shared_plain, "dlsym");
  check(aligned == 77 + rank && ((uintptr_t)&aligned & (ALIGNMENT - 1)) == 0, "alignment");
  check(many[0] == (char)rank && many[ROOM - 1] == (char)rank, "many");
  pthread_t made;
  pthread_create(&made, NULL, thread, NULL);
  pthread_join(made, NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  check(shared_plain == 100 + rank % 7 + 1 && of_the_program == 1000 + rank, "beside a thread");
  MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && errors == 0) printf(" No Errors\n");
  return errors != 0;
}
