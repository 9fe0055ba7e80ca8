// The tool of with_tool.f90.
#include <mpi.h>

static int sends;
int sends_seen(void);
int sends_seen(void) {
  return sends;
}

int MPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(buf, count, datatype, dest, tag, comm);
}
