// Fortran procedures that MPI calls, and the C functions that stand for them.
//
// Where the C function gets an extra state (attributes, generalised requests), that holds the
// Fortran procedure. A user's operation and an error handler have none, so each Fortran procedure
// has a C function of its own, out of a fixed number (MEANTIME_SLOTS). A slot belongs to a
// procedure, not to an operation: a program that makes an operation of the same procedure a million
// times needs one slot.
#ifndef MEANTIME_FORTRAN_CALLBACKS_H
#define MEANTIME_FORTRAN_CALLBACKS_H

#include "fortran.h"

#define MEANTIME_SLOTS 64

typedef void meantime_procedure(void);

// The C function that calls `user`; NULL if all slots are taken by other procedures.
MPI_User_function* meantime_op(meantime_procedure* user);
MPI_User_function_c* meantime_large_op(meantime_procedure* user);
MPI_Comm_errhandler_function* meantime_comm_errhandler(meantime_procedure* user);
MPI_File_errhandler_function* meantime_file_errhandler(meantime_procedure* user);
MPI_Win_errhandler_function* meantime_win_errhandler(meantime_procedure* user);
MPI_Session_errhandler_function* meantime_session_errhandler(meantime_procedure* user);

// What a generalised request, or a data representation, calls. The extra state is an IN argument of
// MPI_GREQUEST_START: its value counts, and the variable may be gone when the procedures are
// called. But other MPIs hand on its address, and programs have procedures that leave a result
// there: what a procedure changes is stored in the variable, if that is a static one, which is
// there until the end, and still has the value it gave.
struct meantime_grequest {
  meantime_procedure *query, *free, *cancel;
  MPI_Aint extra_state;
  MPI_Aint* variable;
};
MPI_Grequest_query_function meantime_grequest_query;
MPI_Grequest_free_function meantime_grequest_free;  // frees the struct
MPI_Grequest_cancel_function meantime_grequest_cancel;

struct meantime_datarep {
  meantime_procedure *read, *write, *extent;
  MPI_Aint extra_state;
};
MPI_Datarep_conversion_function meantime_datarep_read, meantime_datarep_write;
MPI_Datarep_conversion_function_c meantime_datarep_read_c, meantime_datarep_write_c;
MPI_Datarep_extent_function meantime_datarep_extent;

#endif
