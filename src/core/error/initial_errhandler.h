// The error handler that MPI_COMM_WORLD and MPI_COMM_SELF have at MPI_Init, and whatever fails
// where they are not there (MPI 5.0, 9.3): mpiexec's -initial-errhandler.
#pragma once

namespace meantime {
struct Errhandler;
}

namespace meantime::core {

Errhandler& initial_errhandler();

}  // namespace meantime::core
