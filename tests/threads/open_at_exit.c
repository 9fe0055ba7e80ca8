/* What a rank has open when it ends is written out and closed then, and only what is its own. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank;
static char buffer[4096];

static void flush(void) {
  fflush(NULL);
}
static void print_more(void) {
  printf(", quick");
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char name[40], text[100];
  snprintf(name, sizeof name, "open.%d", rank);
  FILE* const file = fopen(name, "w");
  setvbuf(file, buffer, _IOFBF, sizeof buffer);
  fprintf(file, "rank %d\n", rank);
  printf("unflushed %d", rank);
  /* fflush(NULL) of rank 1 is nobody else's. */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) fflush(NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  struct stat status;
  if (stat(name, &status) != 0 || (status.st_size != 0) != (rank == 1))
    MPI_Abort(MPI_COMM_WORLD, 2);
  if (rank == 0) mkfifo("fifo", 0600);
  MPI_Barrier(MPI_COMM_WORLD);
  /* Rank 0 reads until ranks 1 and 2, who write, have ended; the others have nothing of it. */
  int end = -1;
  if (rank <= 2) end = open("fifo", rank == 0 ? O_RDONLY : O_WRONLY);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0) {
    int bytes = 0;
    ssize_t more;
    while ((more = read(end, text, sizeof text)) > 0) bytes += (int)more;
    fprintf(file, "%d bytes\n", bytes);
    if (bytes != 2) return 3;
    unlink("fifo");
  } else if (rank <= 2 && write(end, "x", 1) != 1) {
    return 4;
  }
  if (rank == 3) _exit(0); /* what was not written is lost */
  if (rank == 4) exit(0);
  if (rank == 5) {
    at_quick_exit(flush);
    at_quick_exit(print_more);
    quick_exit(0);
  }
  return 0;
}
