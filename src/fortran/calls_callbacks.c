// Calls that are given a procedure of the program: operations, error handlers, generalised
// requests, data representations. callbacks.h tells how C gets to it.
#include <stdlib.h>

#include "callbacks.h"
#include "fortran.h"
#include "pending.h"

#define NO_SLOT(call)              \
  meantime_complain(MPI_ERR_OTHER, \
                    call ": all 64 C functions that can stand for Fortran procedures are in use")

BINDING void FORTRAN(op_create)(meantime_procedure* user_fn, MPI_Fint* commute, MPI_Fint* op,
                                MPI_Fint* ierror) {
  MPI_User_function* function = meantime_op(user_fn);
  MPI_Op c_op = MPI_OP_NULL;
  const int error = function == NULL
                        ? NO_SLOT("MPI_Op_create")
                        : MPI_CALL(Op_create)(function, meantime_is_true(*commute), &c_op);
  if (error == MPI_SUCCESS) *op = meantime_from_Op(c_op);
  meantime_store(ierror, error);
}
SAME_IN_F08(op_create)

BINDING void F08(op_create_c)(meantime_procedure* user_fn, MPI_Fint* commute, MPI_Fint* op,
                              MPI_Fint* ierror) {
  MPI_User_function_c* function = meantime_large_op(user_fn);
  MPI_Op c_op = MPI_OP_NULL;
  const int error = function == NULL
                        ? NO_SLOT("MPI_Op_create_c")
                        : MPI_CALL(Op_create_c)(function, meantime_is_true(*commute), &c_op);
  if (error == MPI_SUCCESS) *op = meantime_from_Op(c_op);
  meantime_store(ierror, error);
}

#define CREATE_ERRHANDLER(kind, Kind)                                                        \
  BINDING void FORTRAN(kind##_create_errhandler)(meantime_procedure * user_fn,               \
                                                 MPI_Fint * errhandler, MPI_Fint * ierror) { \
    MPI_##Kind##_errhandler_function* function = meantime_##kind##_errhandler(user_fn);      \
    MPI_Errhandler c_errhandler = MPI_ERRHANDLER_NULL;                                       \
    const int error = function == NULL                                                       \
                          ? NO_SLOT("MPI_" #Kind "_create_errhandler")                       \
                          : MPI_CALL(Kind##_create_errhandler)(function, &c_errhandler);     \
    if (error == MPI_SUCCESS) *errhandler = meantime_from_Errhandler(c_errhandler);          \
    meantime_store(ierror, error);                                                           \
  }                                                                                          \
  SAME_IN_F08(kind##_create_errhandler)
CREATE_ERRHANDLER(comm, Comm)
CREATE_ERRHANDLER(file, File)
CREATE_ERRHANDLER(win, Win)
CREATE_ERRHANDLER(session, Session)

BINDING void FORTRAN(grequest_start)(meantime_procedure* query_fn, meantime_procedure* free_fn,
                                     meantime_procedure* cancel_fn, MPI_Aint* extra_state,
                                     MPI_Fint* request, MPI_Fint* ierror) {
  struct meantime_grequest* functions = meantime_allocate(sizeof *functions);
  *functions = (struct meantime_grequest){query_fn, free_fn, cancel_fn, *extra_state, extra_state};
  MPI_Request c_request = MPI_REQUEST_NULL;
  const int error = MPI_CALL(Grequest_start)(meantime_grequest_query, meantime_grequest_free,
                                             meantime_grequest_cancel, functions, &c_request);
  if (error == MPI_SUCCESS) {
    *request = meantime_from_Request(c_request);
    meantime_forget(*request);
  } else {
    free(functions);
  }
  meantime_store(ierror, error);
}
SAME_IN_F08(grequest_start)

// MPI_CONVERSION_FN_NULL says that nothing is to be converted; MPI never calls it.
#ifndef MEANTIME_PROFILING
BINDING void mpi_conversion_fn_null_(void) {}
BINDING void mpi_conversion_fn_null_c_(void) {}
#else
extern void mpi_conversion_fn_null_(void);
extern void mpi_conversion_fn_null_c_(void);
#endif

// A data representation stays until the program ends, and so does what it calls.
BINDING void FORTRAN(register_datarep)(char* datarep, meantime_procedure* read_fn,
                                       meantime_procedure* write_fn, meantime_procedure* extent_fn,
                                       MPI_Aint* extra_state, MPI_Fint* ierror,
                                       size_t datarep_length) {
  char* c_datarep = meantime_string(datarep, datarep_length);
  struct meantime_datarep* functions = meantime_allocate(sizeof *functions);
  *functions = (struct meantime_datarep){read_fn, write_fn, extent_fn, *extra_state};
  const int error = MPI_CALL(Register_datarep)(
      c_datarep,
      read_fn == mpi_conversion_fn_null_ ? MPI_CONVERSION_FN_NULL : meantime_datarep_read,
      write_fn == mpi_conversion_fn_null_ ? MPI_CONVERSION_FN_NULL : meantime_datarep_write,
      meantime_datarep_extent, functions);
  if (error != MPI_SUCCESS) free(functions);
  free(c_datarep);
  meantime_store(ierror, error);
}
SAME_IN_F08(register_datarep)

BINDING void F08(register_datarep_c)(char* datarep, meantime_procedure* read_fn,
                                     meantime_procedure* write_fn, meantime_procedure* extent_fn,
                                     MPI_Aint* extra_state, MPI_Fint* ierror,
                                     size_t datarep_length) {
  char* c_datarep = meantime_string(datarep, datarep_length);
  struct meantime_datarep* functions = meantime_allocate(sizeof *functions);
  *functions = (struct meantime_datarep){read_fn, write_fn, extent_fn, *extra_state};
  const int error = MPI_CALL(Register_datarep_c)(
      c_datarep,
      read_fn == mpi_conversion_fn_null_c_ ? MPI_CONVERSION_FN_NULL_C : meantime_datarep_read_c,
      write_fn == mpi_conversion_fn_null_c_ ? MPI_CONVERSION_FN_NULL_C : meantime_datarep_write_c,
      meantime_datarep_extent, functions);
  if (error != MPI_SUCCESS) free(functions);
  free(c_datarep);
  meantime_store(ierror, error);
}
