/* closes FOLDER: a program that closes all descriptors but the standard ones after MPI_Init, as
   closefrom(3) does, and opens files of its own, which get those numbers. Then there are more
   messages than the job's shared memory had room for so far. Prints "kept" if its files are as it
   wrote them. With a second word: at the end all wait for rank 0, for ever. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { files = 40, messages = 4000, bytes = 4000 };

int main(int count, char** words) {
  static char out[bytes], in[bytes];
  static MPI_Request requests[messages];
  int rank, ranks, kept = 1;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int descriptor = 3; descriptor < 256; ++descriptor) close(descriptor);
  for (int i = 0; i < files; ++i) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%d.%d", words[1], rank, i);
    if (write(open(name, O_RDWR | O_CREAT | O_TRUNC, 0644), "user data\n", 10) != 10) abort();
  }
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  for (int i = 0; i < messages; ++i) {
    MPI_Isend(out, bytes, MPI_CHAR, to, 0, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < messages; ++i) {
    MPI_Recv(in, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (count > 2) MPI_Recv(in, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  for (int descriptor = 3; descriptor < 256; ++descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink != 0) {
      kept = kept && status.st_size == 10;
    }
  }
  MPI_Finalize();
  puts(kept ? "kept" : "changed");
  return 0;
}
