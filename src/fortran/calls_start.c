// Beginning, and what only Fortran has: its LOGICALs, statuses in two shapes, the size of a
// variable.
#include <string.h>

#include "choice.h"
#include "fortran.h"

BINDING void FORTRAN(init)(MPI_Fint* ierror) {
  const int error = MPI_CALL(Init)(NULL, NULL);
  if (error == MPI_SUCCESS) meantime_tell_booleans();
  meantime_store(ierror, error);
}
SAME_IN_F08(init)

BINDING void FORTRAN(init_thread)(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror) {
  const int error = MPI_CALL(Init_thread)(NULL, NULL, *required, provided);
  if (error == MPI_SUCCESS) meantime_tell_booleans();
  meantime_store(ierror, error);
}
SAME_IN_F08(init_thread)

BINDING void FORTRAN(session_init)(MPI_Fint* info, MPI_Fint* errhandler, MPI_Fint* session,
                                   MPI_Fint* ierror) {
  MPI_Session c_session = MPI_SESSION_NULL;
  const int error = MPI_CALL(Session_init)(meantime_to_Info(*info),
                                           meantime_to_Errhandler(*errhandler), &c_session);
  if (error == MPI_SUCCESS) {
    *session = meantime_from_Session(c_session);
    meantime_tell_booleans();
  }
  meantime_store(ierror, error);
}
SAME_IN_F08(session_init)

BINDING void FORTRAN(info_create_env)(MPI_Fint* info, MPI_Fint* ierror) {
  MPI_Info c_info = MPI_INFO_NULL;
  const int error = MPI_CALL(Info_create_env)(0, NULL, &c_info);
  if (error == MPI_SUCCESS) *info = meantime_from_Info(c_info);
  meantime_store(ierror, error);
}
SAME_IN_F08(info_create_env)

// The one subroutine without ierror beside MPI_F_SYNC_REG (MPI 5.0, 15.2.4).
BINDING void FORTRAN(pcontrol)(MPI_Fint* level) {
  MPI_PLAIN_CALL(Pcontrol)(*level);
}
SAME_IN_F08(pcontrol)

// That the compiler does not know what it does is all it does (MPI 5.0, 19.1.17).
BINDING void FORTRAN(f_sync_reg)(void* buf) {
  (void)buf;
}
BINDING void F08TS(f_sync_reg)(CFI_cdesc_t* buf) {
  (void)buf;
}

// In the modules only: mpif.h cannot know what is passed.
BINDING void F08TS(sizeof)(CFI_cdesc_t* x, MPI_Fint* size, MPI_Fint* ierror) {
  *size = (MPI_Fint)x->elem_len;
  meantime_store(ierror, MPI_SUCCESS);
}

BINDING void FORTRAN(status_f2f08)(MPI_Fint* f_status, MPI_Fint* f08_status, MPI_Fint* ierror) {
  memcpy(f08_status, f_status, sizeof(MPI_Status));
  meantime_store(ierror, MPI_SUCCESS);
}
SAME_IN_F08(status_f2f08)

BINDING void FORTRAN(status_f082f)(MPI_Fint* f08_status, MPI_Fint* f_status, MPI_Fint* ierror) {
  memcpy(f_status, f08_status, sizeof(MPI_Status));
  meantime_store(ierror, MPI_SUCCESS);
}
SAME_IN_F08(status_f082f)

BINDING void FORTRAN(abi_set_fortran_booleans)(MPI_Fint* logical_size, void* logical_true,
                                               void* logical_false, MPI_Fint* ierror) {
  meantime_store(ierror,
                 MPI_CALL(Abi_set_fortran_booleans)(*logical_size, logical_true, logical_false));
}
SAME_IN_F08(abi_set_fortran_booleans)

BINDING void FORTRAN(abi_get_fortran_booleans)(MPI_Fint* logical_size, void* logical_true,
                                               void* logical_false, MPI_Fint* is_set,
                                               MPI_Fint* ierror) {
  int c_is_set = 0;
  const int error =
      MPI_CALL(Abi_get_fortran_booleans)(*logical_size, logical_true, logical_false, &c_is_set);
  if (error == MPI_SUCCESS) *is_set = meantime_logical(c_is_set);
  meantime_store(ierror, error);
}
SAME_IN_F08(abi_get_fortran_booleans)
