/* Descriptors by number: a rank finds them as a process does, whatever the others do to theirs.
   Standard input is a file for rank 0; descriptor 5 is one that all inherit. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

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
/* The rank's own file of that name, open and empty. */
static int file(const char* name) {
  char path[100];
  snprintf(path, sizeof path, "%s.%d", name, rank);
  unlink(path);
  return open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
}
static int holds(int descriptor, const char* text) {
  char bytes[200] = "";
  const ssize_t count = pread(descriptor, bytes, sizeof bytes - 1, 0);
  return count == (ssize_t)strlen(text) && memcmp(bytes, text, strlen(text)) == 0;
}
static int is_open(int descriptor) {
  return fcntl(descriptor, F_GETFD) >= 0;
}

/* What is closed of 0, 1 and 2 is the next that is made. */
static void standard_numbers(void) {
  struct stat status;
  int ends[2];
  const int in = dup(0), out = dup(1);
  check(in > 2 && out > 2, "dup");
  check(close(0) == 0 && close(0) == -1 && errno == EBADF, "close(0), twice");
  others();
  check(!is_open(0) && fstat(0, &status) == -1 && errno == EBADF, "fstat of closed 0");
  check(read(0, &status, 1) == -1 && errno == EBADF, "read of closed 0");
  struct pollfd look = {0, POLLIN, 0};
  check(poll(&look, 1, 0) == 1 && look.revents == POLLNVAL, "poll of closed 0");
  check(file("zero") == 0, "open after close(0)");
  check(write(0, "zero", 4) == 4 && lseek(0, 0, SEEK_SET) == 0 && holds(0, "zero"), "0 is a file");
  char line[20] = "";
  clearerr(stdin);
  check(fgets(line, sizeof line, stdin) != NULL && strcmp(line, "zero") == 0, "stdin is the file");
  others();
  close(0);
  check(dup(out) == 0, "dup after close(0)");
  close(0);
  check(pipe(ends) == 0 && ends[0] == 0 && ends[1] > 2, "pipe after close(0)");
  check(write(ends[1], "x", 1) == 1 && read(0, line, 1) == 1 && line[0] == 'x', "a pipe at 0");
  close(ends[1]);
  close(0);
  check(socket(AF_UNIX, SOCK_STREAM, 0) == 0, "socket after close(0)");
  close(0);
  FILE* const stream = fopen("/dev/null", "r");
  check(stream != NULL && fileno(stream) == 0, "fopen after close(0)");
  fclose(stream);
  check(!is_open(0), "fclose closes 0");
  DIR* const folder = opendir("/");
  check(folder != NULL && dirfd(folder) == 0 && readdir(folder) != NULL, "opendir after close(0)");
  closedir(folder);
  check(!is_open(0), "closedir closes 0");
  check(fcntl(in, F_DUPFD, 0) == 0, "F_DUPFD");
  check(fcntl(0, F_GETFD) == 0 && fcntl(0, F_SETFD, FD_CLOEXEC) == 0 &&
            fcntl(0, F_GETFD) == FD_CLOEXEC,
        "FD_CLOEXEC");
  check(dup2(in, 0) == 0 && fcntl(0, F_GETFD) == 0, "dup2 to 0");
  check(dup2(0, 0) == 0 && dup3(0, 0, 0) == -1 && errno == EINVAL, "dup2 to itself");
  check(dup2(999999, 0) == -1 && errno == EBADF && is_open(0), "dup2 of nothing");
  close(in);
  close(out);
}

static void redirected_output(void) {
  fflush(stdout);
  const int before = dup(1), here = file("output");
  check(dup2(here, 1) == 1, "dup2 to 1");
  others();
  printf("printf %d\n", rank);
  fflush(stdout);
  check(write(STDOUT_FILENO, "write\n", 6) == 6, "write to 1");
  FILE* const again = fopen("/dev/stdout", "a");
  check(again != NULL && fprintf(again, "path\n") == 5 && fclose(again) == 0, "/dev/stdout");
  struct stat one, other;
  check(fstat(1, &one) == 0 && fstat(here, &other) == 0 && one.st_ino == other.st_ino, "fstat");
  check(!isatty(1) && lseek(1, 0, SEEK_CUR) > 0, "isatty, lseek");
  void* const place = mmap(NULL, 10, PROT_READ, MAP_SHARED, 1, 0);
  check(place != MAP_FAILED && memcmp(place, "printf", 6) == 0, "mmap");
  check(fileno(stdin) == 0 && fileno(stdout) == 1 && fileno(stderr) == 2, "fileno");
  others();
  char text[100];
  snprintf(text, sizeof text, "printf %d\nwrite\npath\n", rank);
  check(holds(here, text), "what was written");
  check(dup2(before, 1) == 1, "dup2 back");
  close(before);
  close(here);
}

/* Every rank has what it wants at numbers of its choice. */
static void chosen_numbers(void) {
  char text[20];
  snprintf(text, sizeof text, "seven %d", rank);
  const int made = file("chosen");
  check(dup2(made, 70) == 70 && dup2(made, 71) == 71, "dup2 to 70, 71");
  close(made);
  others();
  check(write(70, text, strlen(text)) == (ssize_t)strlen(text) && holds(71, text), "write to 70");
  others();
  FILE* const stream = fdopen(71, "r");
  check(stream != NULL && fileno(stream) == 71, "fdopen of 71");
  check(fclose(stream) == 0 && !is_open(71) && is_open(70), "fclose of 71");
  check(dup2(0, 70) == 70 && dup2(70, 71) == 71 && close(71) == 0, "dup2 over 70");
  for (int i = 0; i < 60; i++) { /* none of the numbers below is given out twice */
    const int other = open("/dev/null", O_RDONLY);
    check(other >= 0 && other != 70 && (rank % 2 || close(other) == 0), "open beside 70");
  }
  others();
  check(close(70) == 0 && close(70) == -1 && !is_open(70), "close of 70");
  others();
  closefrom(3);
}

static void inherited(int expected) {
  if (!expected) return;
  char text[20];
  snprintf(text, sizeof text, "rank %d\n", rank);
  check(is_open(5) && write(5, text, strlen(text)) > 0, "the inherited descriptor");
  others();
  if (rank % 2 == 0) {
    check(close(5) == 0 && close(5) == -1 && errno == EBADF && !is_open(5), "close of it");
  }
  others();
  check(is_open(5) == rank % 2, "it is open where it was not closed");
  check(rank % 2 == 0 || write(5, text, strlen(text)) > 0, "it can be written to");
}

/* Programs that begin so mean their own. */
static void close_all_from_three(void) {
  int ends[2], value = rank, sum = 0;
  check(pipe(ends) == 0, "pipe");
  others();
  if (rank % 2 == 0) {
    for (int i = 3; i < 1024; i++) close(i);
    check(!is_open(ends[0]) || rank % 2, "a pipe after all were closed");
  }
  others();
  if (rank % 2 == 1) {
    char byte = 0;
    check(write(ends[1], "y", 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 'y',
          "a pipe after others closed all of theirs");
    check(close_range(3, ~0U, 0) == 0 && !is_open(ends[0]), "close_range");
  }
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(sum == size * (size - 1) / 2, "MPI after all were closed");
}

static void polling(void) {
  int ends[2];
  fd_set set;
  check(pipe(ends) == 0 && dup2(ends[0], 0) == 0, "a pipe at 0");
  FD_ZERO(&set);
  FD_SET(0, &set);
  struct timeval limit = {0, 1000};
  check(select(1, &set, NULL, NULL, &limit) == 0 && !FD_ISSET(0, &set), "select of nothing");
  check(write(ends[1], "z", 1) == 1, "write");
  FD_SET(0, &set);
  FD_SET(ends[0], &set);
  check(select(ends[0] + 1, &set, NULL, NULL, NULL) == 2 && FD_ISSET(0, &set), "select");
  const int events = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = 0};
  check(epoll_ctl(events, EPOLL_CTL_ADD, 0, &event) == 0, "epoll_ctl");
  check(epoll_wait(events, &event, 1, -1) == 1 && event.data.fd == 0, "epoll_wait");
  close(events);
  close(ends[0]);
  close(ends[1]);
  char byte;
  check(read(0, &byte, 1) == 1 && read(0, &byte, 1) == 0, "the end of a pipe at 0");
}

static void closed_streams(void) {
  fclose(stdin);
  check(!is_open(0), "fclose(stdin)");
  others();
  check(open("/dev/null", O_RDONLY) == 0, "open after fclose(stdin)");
  others();
  FILE* const stream = rank % 2 == 0 ? fopen("/dev/null", "w") : NULL;
  others();
  if (stream != NULL) close(fileno(stream)); /* behind its back */
  others();
  const int mine = rank % 2 == 1 ? file("mine") : -1;
  others();
  if (stream != NULL) fclose(stream);
  others();
  check(mine < 0 || (write(mine, "mine", 4) == 4 && holds(mine, "mine")),
        "a file after another rank's fclose");
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  standard_numbers();
  others();
  redirected_output();
  others();
  inherited(count > 1);
  others();
  if (count <= 2) { /* as processes it would close MPI's own */
    chosen_numbers();
    close_all_from_three();
  }
  polling();
  others();
  closed_streams();
  check(close(-1) == -1 && errno == EBADF, "close of none"); /* all have closed the inherited one */
  MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && errors == 0) printf(" No Errors\n");
  return errors != 0;
}
