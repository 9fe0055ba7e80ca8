// The program of the profiling test: each rank makes another number of calls, one of them by a
// pointer.
#include <mpi.h>

void meet_all(void);
static int (*volatile by_pointer)(const void*, int, MPI_Datatype, int, int, MPI_Comm) = MPI_Send;

int main(int argc, char** argv) {
  int rank, word = 0, got;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 3 + rank; ++i) {
    if (i == 0)
      by_pointer(&word, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    else
      MPI_Send(&word, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  meet_all();
  MPI_Finalize();
  return 0;
}
