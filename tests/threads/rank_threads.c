/* Threads that a rank starts are of that rank: they see its folder, streams and answers, and what
   they end is the rank. The first word says what they do. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int errors, rank, size;
static const char* way;
static pthread_t main_thread;
static int turn[2][2];

static void check(int right, const char* what) {
  if (!right) {
    errors++;
    dprintf(2, "rank %d: wrong: %s\n", rank, what);
  }
}

static void at_exit(void) {
  if (strcmp(way, "exit") == 0) printf("handler of %d\n", rank);
}

static void* ask(void* argument) {
  int flag = 0, provided = -1, version, subversion;
  MPI_Initialized(&flag);
  check(flag, "MPI_Initialized");
  MPI_Finalized(&flag);
  check(!flag, "MPI_Finalized");
  MPI_Is_thread_main(&flag);
  check(!flag && !pthread_equal(main_thread, pthread_self()), "MPI_Is_thread_main");
  MPI_Query_thread(&provided);
  check(provided >= MPI_THREAD_FUNNELED, "MPI_Query_thread");
  MPI_Get_version(&version, &subversion);
  check(version >= 4 && MPI_Wtime() > 0, "MPI_Get_version, MPI_Wtime");
  /* A session of its own: a process may have it, a thread rank says no, and goes on as before. */
  MPI_Session session;
  int class = MPI_SUCCESS;
  const int code = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Error_class(code, &class);
  check(code == MPI_SUCCESS || class == MPI_ERR_OTHER, "MPI_Session_init");
  if (code == MPI_SUCCESS) MPI_Session_finalize(&session);
  return argument;
}

/* Goes on beside the others, who have folders of their own, in steps: one while all are in it. */
static void* folders(void* argument) {
  char here[300], expected[300], byte;
  for (int i = 0; i < 3; i++) {
    if (read(turn[0][0], &byte, 1) != 1) return NULL;
    check(getcwd(here, sizeof here) != NULL, "getcwd");
    snprintf(expected, sizeof expected, "/thread.%d", rank);
    const char* const last = strrchr(here, '/');
    check(last != NULL && strcmp(last, expected) == 0, here);
    struct stat status;
    unlink("made");
    const int file = open("made", O_CREAT | O_WRONLY, 0666);
    check(fstat(file, &status) == 0 && (status.st_mode & 0777) == (rank % 2 ? 0600 : 0640),
          "umask");
    close(file);
    printf("thread of %d in step %d\n", rank, i);
    if (write(turn[1][1], "x", 1) != 1) return NULL;
  }
  unlink("made");
  return argument;
}

static int recurse(int depth) {
  volatile char bytes[4096];
  bytes[depth % 4096] = (char)depth;
  return recurse(depth + 1) + bytes[1];
}

static void* end(void* argument) {
  (void)argument;
  if (strcmp(way, "stack") == 0) exit(recurse(0));
  if (strcmp(way, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 42);
  if (strcmp(way, "call") == 0) MPI_Barrier(MPI_COMM_WORLD);
  printf("thread of %d", rank);
  if (strcmp(way, "_exit") == 0) {
    fflush(stdout);
    _exit(0);
  }
  exit(strcmp(way, "status") == 0 ? 7 : 0);
}

static void run(void* (*function)(void*)) {
  pthread_t thread;
  pthread_create(&thread, NULL, function, NULL);
  pthread_join(thread, NULL);
}

int main(int count, char** words) {
  int provided;
  MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  way = count > 1 ? words[1] : "";
  main_thread = pthread_self();
  atexit(at_exit);
  if (*way == '\0') {
    char name[30], byte;
    pthread_t thread;
    run(ask);
    snprintf(name, sizeof name, "thread.%d", rank);
    check(mkdir(name, 0700) == 0 && chdir(name) == 0, "a folder");
    umask(rank % 2 ? 0077 : 0027);
    check(pipe(turn[0]) == 0 && pipe(turn[1]) == 0, "pipes");
    pthread_create(&thread, NULL, folders, NULL);
    for (int i = 0; i < 3; i++) {
      MPI_Barrier(MPI_COMM_WORLD);
      check(write(turn[0][1], "x", 1) == 1 && read(turn[1][0], &byte, 1) == 1, "a turn");
    }
    pthread_join(thread, NULL);
    check(chdir("..") == 0 && rmdir(name) == 0, "the folder goes");
    MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0 && errors == 0) printf(" No Errors\n");
    return errors != 0;
  }
  if (strcmp(way, "abort") == 0 || strcmp(way, "call") == 0 || strcmp(way, "stack") == 0) {
    if (rank == 1) run(end);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  if (rank % 2) {
    run(end);
    return 9; /* nobody comes here */
  }
  printf("rank %d\n", rank);
  return 0;
}
