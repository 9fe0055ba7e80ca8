/* Rank 0 looks for messages again and again and does nothing else: one thread for many of them in
 * turn, or several threads for one each; rank 1 sends them late. Says how much CPU time a second of
 * looking took, and how late a message is seen (median). */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { most = 1024, messages = 60, second = 1000 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double cpu(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_utime.tv_sec + used.ru_stime.tv_sec +
         1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void sleep_ms(int ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static const char* way;
static int things;
static double late[messages];
static double began;

static int is(const char* name) {
  return strcmp(way, name) == 0;
}

/* Which of them comes next: both ranks know. */
static int next_of(int message) {
  return is("half") ? message * 74 % things : message * 37 % things;
}

static double sent[most];
static MPI_Request requests[most];

/* It was seen: the next one may be sent. */
static void seen(int message, int thing) {
  late[message] = now() - sent[thing];
  if (message == 0) printf("cpu %.3f\n", cpu() - began);
  MPI_Send(NULL, 0, MPI_INT, 1, most, MPI_COMM_WORLD);
}

static void post(int thing) {
  MPI_Irecv(&sent[thing], 1, MPI_DOUBLE, 1, thing, MPI_COMM_WORLD, &requests[thing]);
}

/* One look for each, in turn. Returns whether `wanted` was there. */
static int look_for_each(int wanted) {
  int found = 0, flag, index, count, indices[2];
  MPI_Status status;
  for (int i = 0; i < things; ++i) {
    flag = 0;
    if (is("probes") || (is("mixed") && i % 4 == 0)) {
      MPI_Iprobe(1, i, MPI_COMM_WORLD, &flag, &status);
      if (flag) MPI_Recv(&sent[i], 1, MPI_DOUBLE, 1, i, MPI_COMM_WORLD, &status);
    } else if (is("mixed") && i % 4 == 1) {
      MPI_Testany(1, &requests[i], &index, &flag, &status);
    } else if (is("mixed") && i % 4 == 2) {
      MPI_Testsome(1, &requests[i], &count, indices, &status);
      flag = count == 1;
    } else if (is("mixed")) {
      MPI_Request_get_status(requests[i], &flag, &status);
      if (flag) MPI_Wait(&requests[i], &status);
    } else {
      MPI_Test(&requests[i], &flag, &status);
      flag = flag && (!is("half") || i % 2 == 0); /* the others are null */
    }
    if (flag && i == wanted) found = 1;
  }
  return found;
}

static void look_in_turn(void) {
  for (int i = 0; i < things; ++i) {
    requests[i] = MPI_REQUEST_NULL;
    if (!is("probes") && !(is("mixed") && i % 4 == 0) && !(is("half") && i % 2 == 1)) post(i);
  }
  for (int message = 0; message < messages; ++message) {
    const int wanted = next_of(message);
    while (!look_for_each(wanted)) continue;
    seen(message, wanted);
    if (!is("probes") && !(is("mixed") && wanted % 4 == 0)) post(wanted);
  }
  for (int i = 0; i < things; ++i) {
    if (requests[i] != MPI_REQUEST_NULL) {
      MPI_Cancel(&requests[i]);
      MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
  }
}

static void* look_for_own(void* place) {
  const int own = *(int*)place;
  for (int message = 0; message < messages; ++message) {
    if (next_of(message) != own) continue;
    int flag = 0;
    post(own);
    if (is("sleeper") && own == 1)
      MPI_Wait(&requests[own], MPI_STATUS_IGNORE);
    else
      while (!flag) MPI_Test(&requests[own], &flag, MPI_STATUS_IGNORE);
    seen(message, own);
  }
  return NULL;
}

static void look_by_threads(void) {
  pthread_t threads[most];
  int places[most];
  for (int i = 0; i < things; ++i) {
    places[i] = i;
    pthread_create(&threads[i], NULL, look_for_own, &places[i]);
  }
  for (int i = 0; i < things; ++i) pthread_join(threads[i], NULL);
}

/* Computes for 20 us once a round: such looks do not sleep. */
static void compute_in_between(void) {
  for (int i = 0; i < things; ++i) post(i);
  const double end = now() + 0.5;
  while (now() < end) {
    const double until = now() + 20e-6;
    while (now() < until) continue;
    look_for_each(-1);
  }
  for (int i = 0; i < things; ++i) {
    MPI_Cancel(&requests[i]);
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  }
}

static double steps_take(MPI_Request* request) {
  const double start = now();
  for (int step = 0; step < 20000; ++step) {
    volatile double x = 1;
    int flag = 0;
    for (int i = 0; i < 200; ++i) x = x * 1.0000001 + 1e-9;
    if (request != NULL) MPI_Test(request, &flag, MPI_STATUS_IGNORE);
  }
  return now() - start;
}

/* Works in steps of about a microsecond, with a look after each: such work is not held up. */
static void work_in_steps(void) {
  const double plain = steps_take(NULL);
  post(0);
  printf("slower %.2f\n", steps_take(&requests[0]) / plain);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

/* Looks for a hundred thousand messages, of so many tags in turn. */
static void look_for_many_tags(void) {
  int flag;
  for (int i = 0; i < 100000; ++i)
    MPI_Iprobe(1, i % things, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  printf("cpu %.3f\nlate 0\n", cpu() - began);
}

/* Asks for what never comes, perhaps with a break now and then; or finds it after a while, and then
 * computes for as long as it may. */
static void ask(int rank, int is_found) {
  MPI_Request request;
  int word = 0, flag = 0;
  MPI_Irecv(&word, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &request);
  double last_break = now();
  for (const double start = now(); !flag;) {
    if (is("breaks") && now() - last_break > 0.3) {
      for (last_break = now(); now() - last_break < 0.02;) continue;
      last_break = now();
    }
    if (is_found && now() - start > 0.05)
      MPI_Send(&word, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD), is_found = 0;
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  }
  if (is_found) MPI_Send(&word, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
  for (volatile int work = 0;;) work = work + word;
}

static int by_value(const void* one, const void* other) {
  const double a = *(const double*)one, b = *(const double*)other;
  return a < b ? -1 : a > b;
}

int main(int argc, char** argv) {
  int provided, rank;
  way = argc > 1 ? argv[1] : "turn";
  things = argc > 2 ? atoi(argv[2]) : 1;
  const int threads = is("threads") || is("sleeper");
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  began = cpu();
  if (is("computes")) {
    if (rank == 0) compute_in_between();
  } else if (is("steps")) {
    if (rank == 0) work_in_steps();
  } else if (is("never") || is("breaks") || is("found")) {
    ask(rank, is("found"));
  } else if (is("beside")) {
    if (rank == 0) ask(rank, 0);
    for (volatile int work = 0;;) work = work + 1;
  } else if (is("tags")) {
    if (rank == 0) look_for_many_tags();
  } else if (rank == 0) {
    if (threads)
      look_by_threads();
    else
      look_in_turn();
    qsort(late, messages, sizeof *late, by_value);
    printf("late %.6f\n", late[messages / 2]);
  } else if (rank == 1) {
    for (int message = 0; message < messages; ++message) {
      sleep_ms(message == 0 ? second : 10);
      const double time = now();
      MPI_Send(&time, 1, MPI_DOUBLE, 0, next_of(message), MPI_COMM_WORLD);
      MPI_Recv(NULL, 0, MPI_INT, 0, most, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  MPI_Finalize();
  return 0;
}
