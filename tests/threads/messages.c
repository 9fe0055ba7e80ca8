/* What libc says on standard error for a program is the rank's, by its own program's name; and the
   rank ends by it as a process would. */
#define _GNU_SOURCE
#include <assert.h>
#include <err.h>
#include <errno.h>
#include <error.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** words) {
  int rank;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (count > 1 && strcmp(words[1], "assert") == 0) {
    if (rank == 1) assert(rank == 7);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  char name[30];
  snprintf(name, sizeof name, "errors.%d", rank);
  if (count > 1 && strcmp(words[1], "files") == 0 && freopen(name, "w", stderr) == NULL) return 9;
  errno = ENOENT;
  warn("warn %d", rank);
  warnx("warnx %d", rank);
  errno = EACCES;
  perror("perror");
  psignal(SIGINT, "psignal");
  error(0, ENOENT, "error %d", rank);
  error_at_line(0, 0, "file", 7, "line");
  MPI_Finalize();
  errno = ENOENT;
  switch (rank % 3) {
    case 0:
      err(0, "err %d", rank);
    case 1:
      errx(0, "errx %d", rank);
    default:
      error(0, 0, "last");
  }
  return 0;
}
