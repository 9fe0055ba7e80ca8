// A library of the program that calls MPI, too.
#include <mpi.h>

void meet_all(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}
