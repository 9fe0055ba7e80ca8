/* What a C program keeps is each rank's own, while the ranks take turns at every step. Prints
   " No Errors" or what is wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern int library_counter;
extern int library_table[4];
int bump_library(void);
int bump_library_thread(void);
int sum_of_table(void);

int global = 7;
static int counter;
const char* text = "initial";
int* pointer = &global;
_Thread_local long thread_long = 70;
static _Thread_local char thread_bytes[100] = "thread";
static int errors, rank, size;

static void check(int right, const char* what) {
  if (!right) {
    errors++;
    fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  }
}

static void others(void) {
  int dummy = rank;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &dummy, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(dummy == size * (size - 1) / 2, "a sum over the ranks");
}

static int next(void) {
  static int place = 100;
  return place++;
}

static void globals(void) {
  global += rank;
  counter = rank;
  char mine[20];
  snprintf(mine, sizeof mine, "rank %d", rank);
  text = mine;
  thread_long += rank;
  thread_bytes[0] = (char)('a' + rank % 26);
  library_counter += rank;
  library_table[1] = rank;
  for (int i = 0; i < 5; i++) {
    errno = 1000 + rank;
    others();
    check(errno == 1000 + rank, "errno");
    check(global == 7 + rank + i && *pointer == global, "a global");
    check(counter == rank && strcmp(text, mine) == 0, "a static, a pointer");
    check(next() == 100 + i, "a static of a function");
    check(thread_long == 70 + rank + i && strcmp(thread_bytes + 1, "hread") == 0, "thread-local");
    check(bump_library() == rank + i + 1 && library_counter == rank + i + 1, "a library's global");
    check(bump_library_thread() == 6 + i, "a library's thread-local");
    check(sum_of_table() == 44 + rank, "a library's table (copied to the program)");
    thread_long++;
    global++;
  }
  text = "initial";
}

static void libc_state(int count, char** words) {
  srand(1 + (unsigned)rank);
  const int first = rand();
  srand48(rank);
  const double number = drand48();
  char sentence[] = "one two three";
  char* word = strtok(sentence, " ");
  time_t moment = 86400 * rank;
  struct tm* day = gmtime(&moment);
  others();
  check(day->tm_yday == rank % 365, "gmtime");
  srand(1 + (unsigned)rank);
  check(rand() == first, "rand");
  srand48(rank);
  check(drand48() == number, "drand48");
  word = strtok(NULL, " ");
  others();
  check(word != NULL && strcmp(word, "two") == 0, "strtok");
  /* Each rank reads another number of options before the others go on. */
  char* list[] = {words[0], "file", "-a", "-bvalue", "--long=5", "-c", "x", NULL};
  const struct option longs[] = {{"long", required_argument, NULL, 'l'}, {0, 0, 0, 0}};
  char seen[10] = "";
  int option;
  for (int i = 0; (option = getopt_long(7, list, "ab:c", longs, NULL)) != -1; i++) {
    if (i % (rank + 1) == 0) {
      others();
    }
    strncat(seen, (char[]){(char)option, 0}, 1);
    check(option != 'b' || strcmp(optarg, "value") == 0, "optarg of -b");
    check(option != 'l' || strcmp(optarg, "5") == 0, "optarg of --long");
  }
  for (int i = 0, done = 0; i < 4; i++) {
    done += i % (rank + 1) == 0;
    if (i == 3) {
      for (; done < 4; done++) others();
    }
  }
  check(strcmp(seen, "ablc") == 0, seen);
  check(optind == 5 && strcmp(list[5], "file") == 0 && strcmp(list[6], "x") == 0, "optind");
  (void)count;
}

static void numbers(void) {
  fesetround(rank % 2 ? FE_UPWARD : FE_DOWNWARD);
  others();
  check(fegetround() == (rank % 2 ? FE_UPWARD : FE_DOWNWARD), "the rounding mode");
  fesetround(FE_TONEAREST);
  volatile double zero = 0;
  feclearexcept(FE_ALL_EXCEPT);
  if (rank == 0) {
    volatile double infinite = 1 / zero;
    (void)infinite;
  }
  others();
  check((fetestexcept(FE_DIVBYZERO) != 0) == (rank == 0), "floating-point exceptions");
  if (rank != 0) feenableexcept(FE_DIVBYZERO); /* rank 0 divides by zero again, and goes on */
  others();
  if (rank == 0) {
    volatile double infinite = 1 / zero;
    (void)infinite;
  }
  others();
  check(fegetexcept() == (rank != 0 ? FE_DIVBYZERO : 0), "traps");
  fedisableexcept(FE_ALL_EXCEPT);
}

static void* thread(void* argument) {
  long* result = argument;
  result[0] = thread_long;
  thread_long = 1;
  result[1] = global;
  return NULL;
}

static void threads(void) {
  pthread_t made;
  long result[2];
  pthread_create(&made, NULL, thread, result);
  pthread_join(made, NULL);
  check(result[0] == 70 && result[1] == global, "a thread of the rank");
  check(thread_long == 75 + rank, "thread-local beside a thread");
}

static void files(void) {
  char name[200];
  snprintf(name, sizeof name, "%s/lock", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
  const int file = open(name, O_RDWR | O_CREAT, 0600);
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
  const int got = fcntl(file, F_SETLK, &lock) == 0;
  int sum = 0;
  MPI_Allreduce(&got, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(sum == 1, "a record lock is one rank's");
  others();
  close(file);
  snprintf(name, sizeof name, "%s/out.%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", rank);
  fflush(stdout);
  const int before = dup(1);
  check(freopen(name, "w", stdout) != NULL, "freopen");
  others();
  printf("%d\n", rank);
  fflush(stdout);
  check(dup2(before, 1) == 1, "dup2");
  FILE* again = fopen(name, "r");
  int number = -1;
  check(again != NULL && fscanf(again, "%d", &number) == 1 && number == rank,
        "a redirected stdout");
  if (again != NULL) fclose(again);
  unlink(name);
  if (rank == 0) {
    snprintf(name, sizeof name, "%s/lock", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    unlink(name);
  }
  stdout = fdopen(before, "w");
}

static void process_state(void) {
  char name[200], here[300], value[20];
  snprintf(name, sizeof name, "%s/folder.%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", rank);
  check(mkdir(name, 0700) == 0 && chdir(name) == 0, "mkdir, chdir");
  const mode_t before = umask(rank % 2 ? 0077 : 0027);
  snprintf(value, sizeof value, "%d", rank);
  setenv("MEANTIME_TEST_OWN", value, 1);
  for (int i = 0; i < 3; i++) {
    others();
    check(getcwd(here, sizeof here) != NULL && strcmp(here, name) == 0, "the working directory");
    check(getenv("MEANTIME_TEST_OWN") && atoi(getenv("MEANTIME_TEST_OWN")) == rank, "setenv");
    usleep(1000);
    check(access(".", W_OK) == 0 && getcwd(here, sizeof here) && strcmp(here, name) == 0,
          "the working directory after a sleep");
  }
  struct stat status;
  close(open("file", O_CREAT | O_WRONLY, 0666));
  check(stat("file", &status) == 0 && (status.st_mode & 0777) == (rank % 2 ? 0600 : 0640), "umask");
  check(system("test $MEANTIME_TEST_OWN = $(basename $PWD | cut -d. -f2) && rm file") == 0,
        "system");
  check(umask(before) == (rank % 2 ? 0077 : 0027), "umask's result");
  unsetenv("MEANTIME_TEST_OWN");
  check(getenv("MEANTIME_TEST_OWN") == NULL, "unsetenv");
  check(chdir("..") == 0 && rmdir(name) == 0, "chdir ..");
}

static void at_exit(void) {
  if (counter != rank || strcmp(text, "initial") != 0) {
    _exit(9);
  }
  if (rank == 0) {
    printf(" No Errors\n");
  }
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int level;
  MPI_Query_thread(&level);
  globals();
  libc_state(count, words);
  numbers();
  threads();
  files();
  process_state();
  MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (errors == 0) {
    atexit(at_exit);
  }
  if (rank % 2) {
    exit(errors != 0);
  }
  return errors != 0;
}
