// Calls that MPI 3.0 removed and the standard ABI does not have, for MPICH's test suite, parts of
// which still use them: mpich_suite.py has it included in front of every program.
#pragma once

#include <mpi.h>

static inline int MPI_Type_hindexed(int count, int lengths[], MPI_Aint displacements[],
                                    MPI_Datatype type, MPI_Datatype* made) {
  return MPI_Type_create_hindexed(count, lengths, displacements, type, made);
}
static inline int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype type,
                                   MPI_Datatype* made) {
  return MPI_Type_create_hvector(count, length, stride, type, made);
}
static inline int MPI_Type_struct(int count, int lengths[], MPI_Aint displacements[],
                                  MPI_Datatype types[], MPI_Datatype* made) {
  return MPI_Type_create_struct(count, lengths, displacements, types, made);
}
static inline int MPI_Address(void* location, MPI_Aint* address) {
  return MPI_Get_address(location, address);
}
static inline int MPI_Type_extent(MPI_Datatype type, MPI_Aint* extent) {
  MPI_Aint lower;
  return MPI_Type_get_extent(type, &lower, extent);
}
static inline int MPI_Type_lb(MPI_Datatype type, MPI_Aint* lower) {
  MPI_Aint extent;
  return MPI_Type_get_extent(type, lower, &extent);
}
static inline int MPI_Type_ub(MPI_Datatype type, MPI_Aint* upper) {
  MPI_Aint lower, extent;
  const int error = MPI_Type_get_extent(type, &lower, &extent);
  *upper = lower + extent;
  return error;
}
static inline int MPI_Errhandler_create(MPI_Comm_errhandler_function* function,
                                        MPI_Errhandler* made) {
  return MPI_Comm_create_errhandler(function, made);
}
static inline int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler) {
  return MPI_Comm_set_errhandler(comm, handler);
}
static inline int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler* handler) {
  return MPI_Comm_get_errhandler(comm, handler);
}
typedef MPI_Comm_errhandler_function MPI_Handler_function;
