// Calls that MPI 3.0 removed and that old programs still make, over what replaced them. Addresses
// and extents are default integers here: what does not fit is an error. In mpif.h's style only,
// without interfaces.
#include <limits.h>
#include <stdlib.h>

#include "callbacks.h"
#include "fortran.h"

static int narrow(MPI_Fint* to, MPI_Aint from, const char* complaint) {
  if (from < INT_MIN || from > INT_MAX)
    return meantime_complain(MPI_ERR_VALUE_TOO_LARGE, complaint);
  *to = (MPI_Fint)from;
  return MPI_SUCCESS;
}

BINDING void FORTRAN(address)(void* location, MPI_Fint* address, MPI_Fint* ierror) {
  MPI_Aint wide = 0;
  int error = MPI_CALL(Get_address)(meantime_address(location), &wide);
  if (error == MPI_SUCCESS) {
    error = narrow(address, wide,
                   "MPI_ADDRESS: the address does not fit into an integer; use MPI_GET_ADDRESS");
  }
  meantime_store(ierror, error);
}

// Which number of an extent the removed call wants.
enum part { LOWER, UPPER, EXTENT };

static int extent_of(MPI_Fint datatype, enum part which, MPI_Fint* result) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  const int error = MPI_CALL(Type_get_extent)(meantime_to_Type(datatype), &lower, &extent);
  if (error != MPI_SUCCESS) return error;
  return narrow(result,
                which == LOWER   ? lower
                : which == UPPER ? lower + extent
                                 : extent,
                "MPI_TYPE_EXTENT, _LB, _UB: the extent does not fit into an integer; use "
                "MPI_TYPE_GET_EXTENT");
}

BINDING void FORTRAN(type_extent)(MPI_Fint* datatype, MPI_Fint* extent, MPI_Fint* ierror) {
  meantime_store(ierror, extent_of(*datatype, EXTENT, extent));
}

BINDING void FORTRAN(type_lb)(MPI_Fint* datatype, MPI_Fint* lower, MPI_Fint* ierror) {
  meantime_store(ierror, extent_of(*datatype, LOWER, lower));
}

BINDING void FORTRAN(type_ub)(MPI_Fint* datatype, MPI_Fint* upper, MPI_Fint* ierror) {
  meantime_store(ierror, extent_of(*datatype, UPPER, upper));
}

BINDING void FORTRAN(type_hvector)(MPI_Fint* count, MPI_Fint* blocklength, MPI_Fint* stride,
                                   MPI_Fint* oldtype, MPI_Fint* newtype, MPI_Fint* ierror) {
  MPI_Datatype c_newtype = MPI_DATATYPE_NULL;
  const int error = MPI_CALL(Type_create_hvector)(*count, *blocklength, *stride,
                                                  meantime_to_Type(*oldtype), &c_newtype);
  if (error == MPI_SUCCESS) *newtype = meantime_from_Type(c_newtype);
  meantime_store(ierror, error);
}

BINDING void FORTRAN(type_hindexed)(MPI_Fint* count, MPI_Fint* blocklengths,
                                    MPI_Fint* displacements, MPI_Fint* oldtype, MPI_Fint* newtype,
                                    MPI_Fint* ierror) {
  MPI_Datatype c_newtype = MPI_DATATYPE_NULL;
  MEANTIME_LIST(MPI_Aint, wide, *count);
  for (size_t i = 0; i < wide_length; ++i) wide_list[i] = displacements[i];
  const int error = MPI_CALL(Type_create_hindexed)(*count, blocklengths, wide_list,
                                                   meantime_to_Type(*oldtype), &c_newtype);
  if (error == MPI_SUCCESS) *newtype = meantime_from_Type(c_newtype);
  MEANTIME_END_LIST(wide);
  meantime_store(ierror, error);
}

BINDING void FORTRAN(type_struct)(MPI_Fint* count, MPI_Fint* blocklengths, MPI_Fint* displacements,
                                  MPI_Fint* types, MPI_Fint* newtype, MPI_Fint* ierror) {
  MPI_Datatype c_newtype = MPI_DATATYPE_NULL;
  MEANTIME_LIST(MPI_Aint, wide, *count);
  MEANTIME_LIST(MPI_Datatype, types, *count);
  for (size_t i = 0; i < wide_length; ++i) {
    wide_list[i] = displacements[i];
    types_list[i] = meantime_to_Type(types[i]);
  }
  const int error =
      MPI_CALL(Type_create_struct)(*count, blocklengths, wide_list, types_list, &c_newtype);
  if (error == MPI_SUCCESS) *newtype = meantime_from_Type(c_newtype);
  MEANTIME_END_LIST(wide);
  MEANTIME_END_LIST(types);
  meantime_store(ierror, error);
}

BINDING void FORTRAN(errhandler_create)(meantime_procedure* function, MPI_Fint* errhandler,
                                        MPI_Fint* ierror) {
  extern void FORTRAN(comm_create_errhandler)(meantime_procedure*, MPI_Fint*, MPI_Fint*);
  FORTRAN(comm_create_errhandler)(function, errhandler, ierror);
}

BINDING void FORTRAN(errhandler_set)(MPI_Fint* comm, MPI_Fint* errhandler, MPI_Fint* ierror) {
  meantime_store(ierror, MPI_CALL(Comm_set_errhandler)(meantime_to_Comm(*comm),
                                                       meantime_to_Errhandler(*errhandler)));
}

BINDING void FORTRAN(errhandler_get)(MPI_Fint* comm, MPI_Fint* errhandler, MPI_Fint* ierror) {
  MPI_Errhandler c_errhandler = MPI_ERRHANDLER_NULL;
  const int error = MPI_CALL(Comm_get_errhandler)(meantime_to_Comm(*comm), &c_errhandler);
  if (error == MPI_SUCCESS) *errhandler = meantime_from_Errhandler(c_errhandler);
  meantime_store(ierror, error);
}
