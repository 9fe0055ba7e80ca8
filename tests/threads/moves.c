/* Ranks that change workers: what is theirs goes with them. The first word says by what they move.
 *   always    a setting moves them whenever they wait; the program shows that some moved, and
 *             that those that asked to stay did not
 *   balance   the ranks of one worker have much to do, the others nothing: some must be moved */
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <meantime.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Thread_local long mine = -1;
static int moves;
static int last_cpu = -1;

static void note_cpu(void) {
  const int cpu = sched_getcpu();
  moves += last_cpu >= 0 && cpu != last_cpu;
  last_cpu = cpu;
}

static void check(int good, const char* what) {
  if (!good) {
    fprintf(stderr, "lost in a move: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static double work(double seconds) {
  struct timespec begin, now;
  double sum = 0;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    for (int i = 1; i < 2000; i++) sum += sqrt(i + sum);
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) <
           seconds);
  return sum;
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  const int balance = count > 1 && strcmp(words[1], "balance") == 0;
  const int turns = count > 2 ? atoi(words[2]) : 1000;
  int rank, size, all_moves = 0, value;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const pthread_t self = pthread_self();
  int* const my_errno = &errno;
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  const int rounding = rank % 2 ? FE_UPWARD : FE_DOWNWARD;
  fesetround(rounding);
  const int stays = !balance && rank % 3 == 1;
  if (stays) MPIX_Stay(1);
  for (int turn = 0; turn < turns; turn++) {
    mine = rank * 1000000L + turn;
    errno = 1 + rank % 100;
    note_cpu();
    if (balance && rank < size / 2) mine += work(0.005) < 0;
    value = rank + turn;
    MPI_Sendrecv_replace(&value, 1, MPI_INT, next, 0, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    note_cpu();
    check(value == before + turn, "a message");
    check(mine == rank * 1000000L + turn, "a thread-local variable");
    check(&errno == my_errno && errno == 1 + rank % 100, "errno");
    check(pthread_equal(self, pthread_self()), "the thread");
    check(fegetround() == rounding, "the rounding mode");
    if (balance || turn % 10 == 0) {
      MPI_Allreduce(&moves, &all_moves, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      note_cpu();
      if (balance && all_moves > 0) break;
    }
  }
  check(!stays || moves == 0, "the place of one that stays");
  MPI_Allreduce(&moves, &all_moves, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0) {
    cpu_set_t mask;
    sched_getaffinity(0, sizeof mask, &mask);
    printf("%d moves\n No Errors\n", all_moves);
  }
  return 0;
}
