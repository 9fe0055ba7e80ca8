// A profiling library: counts calls and keeps their time, as a measurement system does, and writes
// its profile when the rank leaves.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { init, send, receive, barrier, regions };
static struct {
  int calls;
  double seconds;
} profile[regions];

static int done(int region, double began, int code) {
  profile[region].calls += 1;
  profile[region].seconds += PMPI_Wtime() - began;
  return code;
}

int MPI_Init(int* count, char*** words) {
  return done(init, PMPI_Wtime(), PMPI_Init(count, words));
}

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  const double began = PMPI_Wtime();
  return done(send, began, PMPI_Send(buffer, count, type, to, tag, comm));
}

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status) {
  const double began = PMPI_Wtime();
  return done(receive, began, PMPI_Recv(buffer, count, type, from, tag, comm, status));
}

int MPI_Barrier(MPI_Comm comm) {
  const double began = PMPI_Wtime();
  return done(barrier, began, PMPI_Barrier(comm));
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int region = 0; region < regions; ++region) {
    if (profile[region].seconds < 0) printf("rank %d: time ran backwards\n", rank);
  }
  printf("rank %d: %d MPI_Send, %d MPI_Recv, %d MPI_Barrier, %d MPI_Init\n", rank,
         profile[send].calls, profile[receive].calls, profile[barrier].calls, profile[init].calls);
  return PMPI_Finalize();
}
