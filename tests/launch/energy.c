/* The energy framework: a handler of the program, one that comes and goes, one that answers
 * nonsense. Rank 0 is late, so that the others wait. */
#include <meantime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int errors = 0;

struct seen {
  int asked, left, answer;
  double longest;
};

#define CHECK(condition)                                           \
  do {                                                             \
    if (!(condition)) {                                            \
      printf("energy.c:%d: not true: %s\n", __LINE__, #condition); \
      ++errors;                                                    \
    }                                                              \
  } while (0)

static int enter(const MPIX_Energy_info* info, void* argument) {
  struct seen* seen = argument;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(info->size == (int)sizeof *info);
  CHECK(info->rank == rank);
  CHECK(info->channel == MPIX_ENERGY_SHARED_MEMORY || info->channel == MPIX_ENERGY_DIRECT_COPY);
  CHECK(strncmp(info->call, "MPI_", 4) == 0);
  CHECK(info->call_site != NULL);
  CHECK(info->turns > 0);
  CHECK(info->waited > 0);
  CHECK(info->busy >= 0 && info->busy <= info->waited);
  CHECK(info->last_busy >= 0 && info->last_busy <= info->last_wait);
  if (strcmp(info->call, "MPI_Recv") == 0) {
    CHECK(info->peer == 0);
    CHECK(info->bytes == 4);
    CHECK(strcmp(info->communicator, "MPI_COMM_WORLD") == 0);
  }
  if (info->waited > seen->longest) seen->longest = info->waited;
  ++seen->asked;
  return seen->answer;
}

/* Takes longer than any sleep it could save. */
static int slow(const MPIX_Energy_info* info, void* argument) {
  const struct timespec long_time = {0, 2000000};
  nanosleep(&long_time, NULL);
  return enter(info, argument);
}

static int leave(const MPIX_Energy_info* info, void* argument) {
  CHECK(info->waited > 0);
  ++((struct seen*)argument)->left;
  return 12345; /* nobody cares */
}

static int slow_leave(const MPIX_Energy_info* info, void* argument) {
  return slow(info, argument);
}

/* So often for very long: the second time it is the handler's doing. */
static int very_slow_calls;
static int very_slow(const MPIX_Energy_info* info, void* argument) {
  const struct timespec very_long_time = {0, 300000000};
  if (very_slow_calls > 0) {
    --very_slow_calls;
    nanosleep(&very_long_time, NULL);
  }
  return enter(info, argument);
}

static void wait_for_zero(int rounds) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < rounds; ++round) {
    int value = round;
    if (rank != 0) {
      MPI_Recv(&value, 1, MPI_INT, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(value == round);
      continue;
    }
    for (double until = MPI_Wtime() + 1e-3; MPI_Wtime() < until;) {
    }
    for (int other = 1; other < size; ++other)
      MPI_Send(&value, 1, MPI_INT, other, round, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static int by_shared_memory(const MPIX_Energy_info* info, void* argument) {
  CHECK(info->channel == MPIX_ENERGY_SHARED_MEMORY);
  return leave(info, argument);
}

/* Waits for rank 0 with a short persistent send that has left already. */
static void exchange_with_zero(int rank) {
  char out[100] = "", in[100];
  MPI_Request requests[2];
  MPI_Recv_init(in, sizeof in, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out, sizeof out, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
  if (rank == 0)
    for (double until = MPI_Wtime() + 1e-3; MPI_Wtime() < until;) {
    }
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int rank, class, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1 && strcmp(argv[1], "plain") == 0) {
    wait_for_zero(argc > 2 ? atoi(argv[2]) : 20);
  } else if (argc > 1 && strcmp(argv[1], "persistent") == 0) {
    struct seen seen = {0, 0, MPIX_ENERGY_DEFAULT, 0};
    MPIX_Energy_handler_reg(enter, by_shared_memory, &seen);
    int enough = 0;
    do {
      if (rank < 2) exchange_with_zero(rank);
      enough = rank != 1 || seen.left > 0;
      MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    } while (!enough);
    MPIX_Energy_handler_dereg();
  } else if (argc > 1 && (strcmp(argv[1], "nonsense") == 0 || strcmp(argv[1], "slow") == 0)) {
    const int is_slow = strcmp(argv[1], "slow") == 0;
    struct seen* seen = calloc(1, sizeof *seen); /* the handler stays to the end */
    int enough = 0;
    seen->answer = is_slow ? MPIX_ENERGY_SLEEP : 77;
    const char* how = argc > 2 ? argv[2] : "";
    const int at_the_end = strcmp(how, "leave") == 0;
    very_slow_calls = strcmp(how, "once") == 0 ? 1 : strcmp(how, "twice") == 0 ? 2 : 0;
    MPIX_Energy_handler_reg(!is_slow || at_the_end ? enter
                            : very_slow_calls > 0  ? very_slow
                                                   : slow,
                            at_the_end ? slow_leave : NULL, seen);
    while (!enough) {
      wait_for_zero(5);
      if (argc > 2 && !is_slow) MPIX_Energy_handler_reg(enter, NULL, seen); /* as a new one */
      enough = rank != 1 || seen->asked > (is_slow ? 5 : argc > 2 ? 20 : 0);
      MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
  } else {
    const int answers[] = {MPIX_ENERGY_DEFAULT, MPIX_ENERGY_POLL, MPIX_ENERGY_YIELD,
                           MPIX_ENERGY_SLEEP};
    for (int i = 0; i < 4; ++i) {
      struct seen seen = {0, 0, answers[i], 0};
      CHECK(MPIX_Energy_handler_reg(enter, leave, &seen) == MPI_SUCCESS);
      int enough = 0;
      do { /* a rank that comes late to its wait is not asked: so again, where it matters */
        wait_for_zero(5);
        enough = rank != 1 || seen.asked > 0 || argc == 1;
        MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
      } while (!enough);
      CHECK(MPIX_Energy_handler_dereg() == MPI_SUCCESS);
      const struct seen before = seen;
      CHECK(seen.left <= seen.asked);
      CHECK((seen.left > 0) == (seen.asked > 0));
      wait_for_zero(2);
      CHECK(seen.asked == before.asked && seen.left == before.left);
    }
    MPI_Error_class(MPIX_Energy_handler_reg(NULL, leave, NULL), &class);
    CHECK(class == MPI_ERR_ARG);
  }
  MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf(" No Errors\n");
  MPI_Finalize();
  return all != 0;
}
