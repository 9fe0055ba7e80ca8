/* The children of a rank: what they inherit is the rank's, and it hears of its own only.
   With the word "says": what they print goes where the rank's output goes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;
static int errors, rank, size;

static void check(int right, const char* what) {
  if (!right) {
    errors++;
    dprintf(2, "rank %d: wrong: %s (errno %d)\n", rank, what, errno);
  }
}
static void others(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}

static void says(void) {
  printf("printf %d\n", rank);
  fflush(stdout);
  check(system("echo system; echo error >&2") == 0, "system");
  FILE* child = popen("cat", "w");
  check(child != NULL && fprintf(child, "popen %d\n", rank) > 0 && pclose(child) == 0, "popen");
  char* words[] = {"sh", "-c", "echo spawn", NULL};
  pid_t pid;
  int status;
  check(posix_spawnp(&pid, "sh", NULL, NULL, words, environ) == 0 &&
            waitpid(pid, &status, 0) == pid && status == 0,
        "posix_spawnp");
  char name[30], line[100] = "";
  snprintf(name, sizeof name, "said.%d", rank);
  check(freopen(name, "w+", stdout) != NULL && system("echo hidden") == 0, "freopen");
  rewind(stdout);
  check(fgets(line, sizeof line, stdout) != NULL && strcmp(line, "hidden\n") == 0, "a file's");
  unlink(name);
}

static void streams(void) {
  char line[100] = "", command[100];
  for (int i = 0; i < 5; i++) {
    snprintf(command, sizeof command, "echo $((%d + %d)); exit 3", rank, i);
    FILE* const child = popen(command, "r");
    FILE* const other = popen("cat >/dev/null", "w"); /* does not keep the first's pipe */
    check(child != NULL && other != NULL && fgets(line, sizeof line, child) != NULL &&
              atoi(line) == rank + i,
          "popen to read");
    const int status = pclose(child);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 3, "pclose");
    check(pclose(other) == 0, "pclose of another");
  }
  others();
}

static void descriptors(void) {
  char name[30], bytes[100] = "";
  snprintf(name, sizeof name, "child.%d", rank);
  const int made = open(name, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
  const int file = fcntl(made, F_DUPFD, 20), secret = fcntl(made, F_DUPFD_CLOEXEC, 20);
  close(made);
  check(dup2(file, 9) == 9, "dup2");
  others();
  snprintf(
      bytes, sizeof bytes,
      "echo nine >&9; echo file >>/proc/self/fd/%d; test ! -e /proc/self/fd/%d && echo closed >&9",
      file, secret);
  check(system(bytes) == 0, "system with descriptors");
  memset(bytes, 0, sizeof bytes);
  check(pread(file, bytes, sizeof bytes, 0) == 17 && strcmp(bytes, "nine\nfile\nclosed\n") == 0,
        "what a child wrote to them");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, file, 1);
  posix_spawn_file_actions_addopen(&actions, 0, name, O_RDONLY, 0);
  posix_spawn_file_actions_addclose(&actions, 9);
  check(ftruncate(9, 0) == 0 && write(9, "tail\n", 5) == 5, "a text");
  char* words[] = {"sh", "-c", "read a; test -e /proc/self/fd/9 || echo is $a", NULL};
  pid_t pid;
  int status = -1;
  check(posix_spawn(&pid, "/bin/sh", &actions, NULL, words, environ) == 0 &&
            waitpid(pid, &status, 0) == pid && status == 0,
        "posix_spawn with actions");
  posix_spawn_file_actions_destroy(&actions);
  memset(bytes, 0, sizeof bytes);
  check(pread(9, bytes, sizeof bytes, 0) > 0 && strstr(bytes, "is tail\n") != NULL, bytes);
  close(9);
  close(file);
  close(secret);
  unlink(name);
  others();
}

/* Whatever numbers are free in the system, or were another's when this rank took them. */
static void numbers_of_another(void) {
  enum { many = 40 };
  int numbers[many];
  for (int i = 0; i < many; i++) numbers[i] = dup(0);
  MPI_Bcast(numbers, many, MPI_INT, 0, MPI_COMM_WORLD);
  const int file = open("/dev/null", O_RDWR);
  for (int i = 0; i < many && rank != 0; i++) check(dup2(file, numbers[i]) == numbers[i], "dup2");
  others();
  for (int i = 0; i < many && rank == 0; i++) close(numbers[i]);
  others();
  for (int i = 0; i < 2; i++) {
    char line[20] = "";
    FILE* const child = popen("echo heard", "r");
    check(child != NULL && fgets(line, sizeof line, child) != NULL && pclose(child) == 0, "a pipe");
    for (int k = 0; k < many && rank != 0 && i == 0; k++) close(numbers[k]);
    others();
  }
  close(file);
}

/* Of mpiexec's variables each rank has its own, and so have its children. */
static void variables(char** given) {
  const char* const number = getenv("MEANTIME_RANK");
  if (number == NULL) {
    return; /* another MPI */
  }
  check(atoi(number) == rank, "MEANTIME_RANK");
  char command[100], line[40];
  snprintf(line, sizeof line, "MEANTIME_RANK=%d", rank);
  int found = 0;
  for (char** each = environ; *each != NULL; each++) found += strcmp(*each, line) == 0;
  for (char** each = given; *each != NULL; each++) found += strcmp(*each, line) == 0;
  check(found == 2, "in environ, and in main's third argument");
  snprintf(command, sizeof command, "test \"$MEANTIME_RANK $MPI_LOCALRANKID\" = '%d %d'", rank,
           rank);
  check(system(command) == 0, "a child's variables");
  char* own[] = {"OWN=1", "PATH=/bin:/usr/bin", line, NULL};
  char** const before = environ;
  environ = own;
  check(getenv("MPI_LOCALRANKID") == NULL && getenv("OWN") != NULL, "another list");
  check(setenv("MORE", "2", 1) == 0, "setenv");
  snprintf(command, sizeof command, "test \"$OWN$MORE$MPI_LOCALRANKID$MEANTIME_RANK\" = 12%d",
           rank);
  check(system(command) == 0, "a child's variables of another list");
  environ = before;
  check(unsetenv("MEANTIME_RANK") == 0 && getenv("MEANTIME_RANK") == NULL, "unsetenv");
  check(system("test \"${MEANTIME_RANK-none}$OWN\" = none") == 0, "a child of an unset variable");
  others();
}

static pid_t begin(const char* command) {
  char* words[] = {"sh", "-c", (char*)command, NULL};
  pid_t pid = -1;
  check(posix_spawn(&pid, "/bin/sh", NULL, NULL, words, environ) == 0, "posix_spawn");
  return pid;
}

static void only_ones_own(void) {
  int status = 0;
  check(waitpid(-1, &status, 0) == -1 && errno == ECHILD, "waitpid without a child");
  others();
  char command[100];
  snprintf(command, sizeof command, "exit %d", 10 + rank % 100);
  for (int i = 0; i < 3; i++) {
    const pid_t pid = begin(command);
    int foreign = (int)pid;
    MPI_Bcast(&foreign, 1, MPI_INT, 0, MPI_COMM_WORLD);
    check(rank == 0 || (waitpid(foreign, &status, 0) == -1 && errno == ECHILD), "another's child");
    struct rusage usage;
    siginfo_t info = {0};
    switch (i) {
      case 0:
        check(waitpid(-1, &status, 0) == pid, "waitpid(-1)");
        break;
      case 1:
        check(wait4(0, &status, 0, &usage) == pid, "wait4(0)");
        break;
      default:
        check(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0 && info.si_pid == pid, "waitid");
        check(wait(&status) == pid, "wait");
    }
    check(WIFEXITED(status) && WEXITSTATUS(status) == 10 + rank % 100, "its status");
    check(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD, "no child more");
    others();
  }
  const pid_t sleeper = begin("read x; exit 4 < /dev/null"), quick = begin("sleep 100");
  check(waitpid(quick, &status, WNOHANG) == 0, "WNOHANG");
  kill(quick, SIGTERM);
  kill(sleeper, SIGTERM);
  check(waitpid(quick, &status, 0) == quick && WIFSIGNALED(status), "a killed child");
  check(waitpid(sleeper, &status, 0) == sleeper, "the other one");
  others();
}

/* Waits while its rank has one child, that another thread ends when it has had another one. */
static sem_t waits;
static void* waiter(void* result) {
  int status;
  sem_post(&waits);
  *(pid_t*)result = waitpid(-1, &status, 0);
  return NULL;
}
static void of_another_thread(void) {
  int ends[2];
  check(pipe2(ends, O_CLOEXEC) == 0, "pipe2");
  const pid_t long_one = begin("sleep 1000");
  pthread_t thread;
  pid_t heard = 0;
  sem_init(&waits, 0, 0);
  pthread_create(&thread, NULL, waiter, &heard);
  sem_wait(&waits);
  usleep(20000); /* it waits by now, mostly */
  const pid_t short_one = begin("exit 0");
  pthread_join(thread, NULL);
  check(heard == short_one, "a thread hears of another's child");
  kill(long_one, SIGKILL);
  check(waitpid(-1, NULL, 0) == long_one, "and this one of the first");
  close(ends[0]);
  close(ends[1]);
  others();
}

/* What another thread has open at one moment it may have closed at the next. */
static volatile int opens;
static void* opener(void* unused) {
  while (opens) close(open("/dev/null", O_RDONLY));
  return unused;
}
static void beside_another_thread(void) {
  pthread_t thread;
  opens = 1;
  pthread_create(&thread, NULL, opener, NULL);
  for (int i = 0; i < 300; i++) check(system("exit 3") == 0x300, "system beside another thread");
  opens = 0;
  pthread_join(thread, NULL);
}

static int cpus_of_child(void) {
  char line[20] = "";
  FILE* child = popen("nproc", "r");
  check(child != NULL && fgets(line, sizeof line, child) != NULL && pclose(child) == 0, "nproc");
  return atoi(line);
}
/* Whatever thread runs the rank: after so long it is another if other ranks want to run. */
static void cpus(void) {
  const int before = cpus_of_child();
  others();
  struct timespec now, start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 <
           start.tv_sec * 1000 + start.tv_nsec / 1000000 + 300);
  check(cpus_of_child() == before, "a child has all CPUs of the job");
  others();
}

int main(int count, char** words, char** given) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int only_says = count > 1;
  if (only_says) {
    says();
  } else {
    streams();
    descriptors();
    numbers_of_another();
    only_ones_own();
    of_another_thread();
    if (rank == 0) beside_another_thread();
    variables(given);
    cpus();
  }
  MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && errors == 0 && !only_says) printf(" No Errors\n");
  return errors != 0;
}
