/* System calls by syscall(2) are about the rank: its descriptors, its folder; and those about a
   process are refused to thread ranks. Prints " No Errors" or what is wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int errors, rank;
static int word;

static void check(int right, const char* what) {
  if (!right) {
    errors++;
    fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  }
}

static void* wakes(void* argument) {
  usleep(2000);
  __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  return argument;
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char text[50], name[50];
  const int length = snprintf(text, sizeof text, "raw %d\n", rank);
  check(syscall(SYS_write, 1, text, (size_t)length) == length, "write to 1");
  snprintf(name, sizeof name, "raw.%d", rank);
  /* Numbers that all ranks choose. */
  const int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  check(dup2(file, 9) == 9, "dup2");
  MPI_Barrier(MPI_COMM_WORLD);
  check(syscall(SYS_write, 9, text, (size_t)length) == length, "write to 9");
  check(syscall(SYS_lseek, 9, 0L, SEEK_SET) == 0, "lseek");
  struct stat status;
  check(syscall(SYS_fstat, 9, &status) == 0 && status.st_size == length, "fstat");
  MPI_Barrier(MPI_COMM_WORLD);
  char back[50] = "";
  check(syscall(SYS_read, 9, back, sizeof back) == length && strcmp(back, text) == 0, "read");
  check(syscall(SYS_close, 9) == 0 && syscall(SYS_close, 9) == -1 && errno == EBADF, "close");
  snprintf(name, sizeof name, "folder.%d", rank);
  check(mkdir(name, 0700) == 0 && syscall(SYS_chdir, name) == 0, "chdir");
  MPI_Barrier(MPI_COMM_WORLD);
  char here[300] = "";
  check(getcwd(here, sizeof here) && strstr(here, name) != NULL, "the folder");
  check(chdir("..") == 0 && rmdir(name) == 0, "chdir ..");
  pthread_t thread;
  pthread_create(&thread, NULL, wakes, NULL);
  while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0)
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  pthread_join(thread, NULL);
  struct timespec time = {0, 1000};
  check(syscall(SYS_nanosleep, &time, NULL) == 0, "nanosleep");
  check(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL) == 0, "clock_nanosleep");
  check(syscall(SYS_getpid) == getpid(), "getpid");
  if (count > 1) check(syscall(SYS_fork) == -1 && errno == ENOSYS, "fork is refused");
  MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && errors == 0) printf(" No Errors\n");
  if (rank % 2 == 1 && errors == 0) syscall(SYS_exit_group, 0);
  return errors != 0;
}
