/* Energy handlers come and go while other threads of the rank wait. A handler's argument is freed
 * as soon as another one has taken its place: nobody may use it any more by then. */
#include <meantime.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { waiters = 3, messages = 400, alive = 0x11fe, dead = 0xdead };

struct argument {
  atomic_int state;
  int answer;
};

static atomic_int errors, asked, finished;
static int rank;

static int enter(const MPIX_Energy_info* info, void* argument) {
  struct argument* mine = argument;
  if (atomic_load(&mine->state) != alive) atomic_fetch_add(&errors, 1);
  if (info->rank != rank) atomic_fetch_add(&errors, 1);
  atomic_fetch_add(&asked, 1);
  return mine->answer;
}

static int leave(const MPIX_Energy_info* info, void* argument) {
  (void)info;
  if (atomic_load(&((struct argument*)argument)->state) != alive) atomic_fetch_add(&errors, 1);
  return 0;
}

/* Rank 0's threads wait for those of rank 1, which take their time. */
static void* waiter(void* tag) {
  const struct timespec late = {0, 100000};
  for (int i = 0; i < messages; ++i) {
    int got = i;
    if (rank == 1) nanosleep(&late, NULL);
    MPI_Sendrecv(&i, 1, MPI_INT, 1 - rank, *(int*)tag, &got, 1, MPI_INT, 1 - rank, *(int*)tag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (got != i) atomic_fetch_add(&errors, 1);
  }
  atomic_fetch_add(&finished, 1);
  return NULL;
}

int main(int argc, char** argv) {
  int provided, tags[waiters], all = 0, changes = 0;
  pthread_t threads[waiters];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < waiters; ++i) {
    tags[i] = i;
    pthread_create(&threads[i], NULL, waiter, &tags[i]);
  }
  struct argument* before = NULL;
  while (atomic_load(&finished) < waiters) {
    struct argument* now = malloc(sizeof *now);
    atomic_init(&now->state, alive);
    now->answer = changes % 4; /* DEFAULT, POLL, YIELD, SLEEP */
    MPIX_Energy_handler_reg(enter, changes % 3 ? leave : NULL, now);
    if (before != NULL) {
      atomic_store(&before->state, dead);
      free(before);
    }
    before = now;
    if (++changes % 5 == 0) {
      MPIX_Energy_handler_dereg();
      atomic_store(&before->state, dead);
      free(before);
      before = NULL;
    }
    sched_yield();
  }
  MPIX_Energy_handler_dereg();
  free(before);
  for (int i = 0; i < waiters; ++i) pthread_join(threads[i], NULL);
  int mine = atomic_load(&errors);
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf(" No Errors\n");
  MPI_Finalize();
  return all != 0;
}
