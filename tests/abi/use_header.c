/* Uses a bit of everything in mpi.h, in what is common to all versions of C and C++. */
#include <meantime.h>
#include <mpi.h>

static void reduce(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
}

int use_header(void) {
  static MPI_User_function* const function = &reduce;
  const MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL};
  const void* const buffers[] = {MPI_BOTTOM, MPI_IN_PLACE};
  MPI_Fint integer = MPI_Comm_c2f(comms[0]);
  MPI_Fint statuses[MPI_F_STATUS_SIZE];
  MPI_Status status;
  MPI_Op op = MPI_OP_NULL;
  switch (MPI_Op_create(function, 1, &op)) {
    case MPI_SUCCESS:
    case MPI_ERR_OP:
      break;
    default:
      return MPI_ERR_UNKNOWN;
  }
  status.MPI_SOURCE = MPI_ANY_SOURCE;
  return MPI_Status_c2f(&status, statuses) == MPI_SUCCESS && MPI_Comm_f2c(integer) == comms[0] &&
         buffers[0] != buffers[1] && PMPI_Comm_c2f(comms[1]) != 0;
}
