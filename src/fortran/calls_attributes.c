// Attributes: keys, and values as integers. attributes.h tells how C and Fortran share them.
#include "attributes.h"
#include "fortran.h"

#define ATTRIBUTES(kind, Kind, Handle)                                                            \
  BINDING void FORTRAN(kind##_create_keyval)(meantime_procedure * copy,                           \
                                             meantime_procedure * erase, MPI_Fint * keyval,       \
                                             MPI_Aint * extra_state, MPI_Fint * ierror) {         \
    meantime_store(                                                                               \
        ierror, MPI_CALL(Kind##_create_keyval)(                                                   \
                    meantime_copy_##kind##_attribute, meantime_delete_##kind##_attribute, keyval, \
                    meantime_keyval(copy, erase, *extra_state, false)));                          \
  }                                                                                               \
  SAME_IN_F08(kind##_create_keyval)                                                               \
                                                                                                  \
  BINDING void FORTRAN(kind##_set_attr)(MPI_Fint * object, MPI_Fint * keyval,                     \
                                        MPI_Aint * attribute_val, MPI_Fint * ierror) {            \
    void* box = meantime_box(*attribute_val);                                                     \
    const int error = MPI_CALL(Kind##_set_attr)(meantime_to_##Kind(*object), *keyval, box);       \
    if (error != MPI_SUCCESS) meantime_free_box(box);                                             \
    meantime_store(ierror, error);                                                                \
  }                                                                                               \
  SAME_IN_F08(kind##_set_attr)                                                                    \
                                                                                                  \
  BINDING void FORTRAN(kind##_get_attr)(MPI_Fint * object, MPI_Fint * keyval,                     \
                                        MPI_Aint * attribute_val, MPI_Fint * flag,                \
                                        MPI_Fint * ierror) {                                      \
    void* attribute = NULL;                                                                       \
    int c_flag = 0;                                                                               \
    const int error =                                                                             \
        MPI_CALL(Kind##_get_attr)(meantime_to_##Kind(*object), *keyval, &attribute, &c_flag);     \
    if (error == MPI_SUCCESS) {                                                                   \
      if (c_flag) *attribute_val = meantime_attribute(*keyval, attribute);                        \
      *flag = meantime_logical(c_flag);                                                           \
    }                                                                                             \
    meantime_store(ierror, error);                                                                \
  }                                                                                               \
  SAME_IN_F08(kind##_get_attr)

ATTRIBUTES(comm, Comm, MPI_Comm)
ATTRIBUTES(type, Type, MPI_Datatype)
ATTRIBUTES(win, Win, MPI_Win)

// --- MPI-1's, with default integers

BINDING void FORTRAN(keyval_create)(meantime_procedure* copy_fn, meantime_procedure* delete_fn,
                                    MPI_Fint* keyval, MPI_Fint* extra_state, MPI_Fint* ierror) {
  meantime_store(ierror, MPI_CALL(Keyval_create)(
                             meantime_copy_comm_attribute, meantime_delete_comm_attribute, keyval,
                             meantime_keyval(copy_fn, delete_fn, *extra_state, true)));
}

BINDING void FORTRAN(attr_put)(MPI_Fint* comm, MPI_Fint* keyval, MPI_Fint* attribute_val,
                               MPI_Fint* ierror) {
  void* box = meantime_box(*attribute_val);
  const int error = MPI_CALL(Attr_put)(meantime_to_Comm(*comm), *keyval, box);
  if (error != MPI_SUCCESS) meantime_free_box(box);
  meantime_store(ierror, error);
}

// What does not fit is cut off (MPI 5.0, 19.3.7).
BINDING void FORTRAN(attr_get)(MPI_Fint* comm, MPI_Fint* keyval, MPI_Fint* attribute_val,
                               MPI_Fint* flag, MPI_Fint* ierror) {
  void* attribute = NULL;
  int c_flag = 0;
  const int error = MPI_CALL(Attr_get)(meantime_to_Comm(*comm), *keyval, &attribute, &c_flag);
  if (error == MPI_SUCCESS) {
    if (c_flag) *attribute_val = (MPI_Fint)meantime_attribute(*keyval, attribute);
    *flag = meantime_logical(c_flag);
  }
  meantime_store(ierror, error);
}

// --- Ready-made functions. They are the program's to call and to pass; passed, they are called
// like any other.

#ifndef MEANTIME_PROFILING
#define READY_MADE(kind, integer)                                                                  \
  BINDING void mpi_##kind##null_copy_fn_(MPI_Fint* object, MPI_Fint* keyval, integer* extra_state, \
                                         integer* in, integer* out, MPI_Fint* flag,                \
                                         MPI_Fint* ierror) {                                       \
    (void)object, (void)keyval, (void)extra_state, (void)in, (void)out;                            \
    *flag = meantime_fortran_false;                                                                \
    meantime_store(ierror, MPI_SUCCESS);                                                           \
  }                                                                                                \
  BINDING void mpi_##kind##dup_fn_(MPI_Fint* object, MPI_Fint* keyval, integer* extra_state,       \
                                   integer* in, integer* out, MPI_Fint* flag, MPI_Fint* ierror) {  \
    (void)object, (void)keyval, (void)extra_state;                                                 \
    *out = *in;                                                                                    \
    *flag = meantime_fortran_true;                                                                 \
    meantime_store(ierror, MPI_SUCCESS);                                                           \
  }                                                                                                \
  BINDING void mpi_##kind##null_delete_fn_(MPI_Fint* object, MPI_Fint* keyval, integer* attribute, \
                                           integer* extra_state, MPI_Fint* ierror) {               \
    (void)object, (void)keyval, (void)attribute, (void)extra_state;                                \
    meantime_store(ierror, MPI_SUCCESS);                                                           \
  }
READY_MADE(comm_, MPI_Aint)
READY_MADE(type_, MPI_Aint)
READY_MADE(win_, MPI_Aint)
READY_MADE(, MPI_Fint)
#endif
