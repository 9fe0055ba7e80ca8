/* What a program asks about itself: its file, by /proc/self/exe and its like; keys of values of its
   threads, of which a process has 1024. Prints " No Errors" or what is wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

extern char** environ;
/* As programs of before glibc 2.33 call them; 1 is x86-64's struct stat. */
int __xstat(int version, const char* path, struct stat* status);
int __fxstatat(int version, int folder, const char* path, struct stat* status, int flags);
int __fxstatat64(int version, int folder, const char* path, struct stat64* status, int flags);
static int errors, rank;

static void check(int right, const char* what) {
  if (!right) {
    errors++;
    fprintf(stderr, "rank %d: wrong: %s (errno %d)\n", rank, what, errno);
  }
}
static void others(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}

static void is_mine(const struct stat* found, const char* name, const char* how) {
  struct stat mine;
  check(stat(name, &mine) == 0 && found->st_ino == mine.st_ino && found->st_dev == mine.st_dev,
        how);
}

static void file(const char* name) {
  char by_pid[100], text[PATH_MAX + 1], real[PATH_MAX];
  struct stat status;
  snprintf(by_pid, sizeof by_pid, "/proc/%d/exe", (int)getpid());
  check(realpath(name, real) != NULL && chdir("/") == 0, "realpath, chdir");
  const char* const paths[] = {"/proc/self/exe", "/proc/thread-self/exe", by_pid};
  for (int i = 0; i < 3; i++) {
    others();
    const ssize_t length = readlink(paths[i], text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    check(strcmp(text, real) == 0, "readlink");
    check(readlink(paths[i], text, 3) == 3 && memcmp(text, real, 3) == 0, "readlink, cut off");
    check(readlinkat(AT_FDCWD, paths[i], text, sizeof text) == length, "readlinkat");
    check(realpath(paths[i], text) != NULL && strcmp(text, real) == 0, "realpath");
    check(stat(paths[i], &status) == 0, "stat");
    is_mine(&status, real, "stat's");
    check(fstatat(AT_FDCWD, paths[i], &status, 0) == 0, "fstatat");
    is_mine(&status, real, "fstatat's");
    check(__xstat(1, paths[i], &status) == 0, "__xstat");
    is_mine(&status, real, "__xstat's");
    check(__fxstatat(1, AT_FDCWD, paths[i], &status, 0) == 0, "__fxstatat");
    is_mine(&status, real, "__fxstatat's");
    struct stat64 status64;
    const int folder = open("/proc/self", O_RDONLY | O_DIRECTORY);
    check(__fxstatat64(1, folder, paths[i], &status64, 0) == 0, "__fxstatat64");
    check(status64.st_ino == status.st_ino, "__fxstatat64's");
    check(__fxstatat64(1, folder, "stat", &status64, 0) == 0 && close(folder) == 0,
          "__fxstatat64 in a folder");
    const int opened = open(paths[i], O_RDONLY);
    check(opened >= 0 && fstat(opened, &status) == 0 && close(opened) == 0, "open");
    is_mine(&status, real, "open's");
  }
  check(realpath((const char*)getauxval(AT_EXECFN), text) != NULL && strcmp(text, real) == 0,
        "AT_EXECFN");
  check(readlink("/proc/self/exe", text, 0) == -1 && errno == EINVAL, "readlink into nothing");
  errno = 0;
  check(readlink("/proc/self/no-such", text, 9) == -1 && errno == ENOENT, "readlink of nothing");
  /* Once more, as a child that is no rank. */
  char word[] = "child";
  char* words[] = {real, word, NULL};
  pid_t child;
  int result = -1;
  check(posix_spawn(&child, "/proc/self/exe", NULL, NULL, words, environ) == 0 &&
            waitpid(child, &result, 0) == child && WIFEXITED(result) && WEXITSTATUS(result) == 33,
        "itself as a child");
}

static pthread_key_t kept;
static tss_t of_c11;
static int destroyed;

static void destroy(void* value) {
  destroyed += *(int*)value == rank;
  if (destroyed == 1) pthread_setspecific(kept, value); /* once more, please */
}
static void* thread(void* argument) {
  check(pthread_getspecific(kept) == NULL && tss_get(of_c11) == NULL, "values of a new thread");
  pthread_setspecific(kept, argument);
  tss_set(of_c11, argument);
  check(pthread_getspecific(kept) == argument, "a value of a thread");
  return NULL;
}

static void keys(void) {
  enum { many = 40 };
  pthread_key_t all[many], other;
  pthread_t made;
  check(pthread_key_create(&kept, destroy) == 0 && tss_create(&of_c11, destroy) == thrd_success,
        "keys with destructors");
  for (int i = 0; i < many; i++) {
    check(pthread_key_create(&all[i], NULL) == 0, "a key");
    check(pthread_setspecific(all[i], &all[i]) == 0, "a value");
  }
  others();
  for (int i = 0; i < many; i++) check(pthread_getspecific(all[i]) == &all[i], "a value, kept");
  pthread_create(&made, NULL, thread, &rank);
  pthread_join(made, NULL);
  check(destroyed == 3, "destructors");
  for (int i = 0; i < 3000; i++) { /* again and again */
    check(pthread_key_create(&other, NULL) == 0 && pthread_getspecific(other) == NULL, "a new key");
    check(pthread_setspecific(other, &other) == 0 && pthread_key_delete(other) == 0, "a key's end");
  }
  for (int i = 0; i < many; i++) {
    check(pthread_getspecific(all[i]) == &all[i], "a value beside others' ends");
    check(pthread_key_delete(all[i]) == 0, "the end of a key");
  }
  check(pthread_key_delete(all[0]) == EINVAL, "the end of no key");
  tss_delete(of_c11);
}

int main(int count, char** words) {
  if (count == 2 && strcmp(words[1], "child") == 0) {
    return 33;
  }
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  keys();
  file(words[0]);
  MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && errors == 0) printf(" No Errors\n");
  return errors != 0;
}
