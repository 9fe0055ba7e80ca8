/* Four ranks for whoever looks from outside: rank 0 computes until the file named by the first word
   is there, rank 1 sleeps in the kernel until the pipe named by the second one has something, the
   others wait for rank 0. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int counter = 1;

static void receive_for_ever(int from) {
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void compute_for_ever(const char* end) {
  while (access(end, F_OK) != 0) {
    for (volatile int i = 0; i < 1000000; i = i + 1) {
    }
  }
}

static void sleep_for_ever(int pipe) {
  char byte;
  if (read(pipe, &byte, 1) != 1) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int count, char** words) {
  int rank, size, sum = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  counter += 10 * rank;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Recv(&sum, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compute_for_ever(count > 1 ? words[1] : "/");
    for (int to = 2; to < size; to++) {
      MPI_Send(&to, 1, MPI_INT, to, 7, MPI_COMM_WORLD);
    }
  } else if (rank == 1) {
    const int pipe = count > 2 ? open(words[2], O_RDWR) : -1;
    MPI_Send(&sum, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    if (pipe >= 0) sleep_for_ever(pipe);
  } else {
    receive_for_ever(0);
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && sum == size * (size - 1) / 2 && counter == 1) printf(" No Errors\n");
  return 0;
}
