// What every Fortran binding is made of: the names of the procedures, and the conversions between
// what Fortran hands over and what C takes.
//
//   binding     a C function that a Fortran compiler calls: mpi_send_ for mpif.h and `use mpi`,
//   mpi_send_f08ts_ for
//               mpi_f08; pmpi_... are the same over PMPI_. They use names of the standard ABI only,
//               so they work over every libmpi_abi. Most are generated (generated/calls_*.c);
//               calls_*.c have those that are like no other.
//   sentinel    a variable that stands for "nothing" or for a place (MPI_BOTTOM, MPI_IN_PLACE,
//   ...). Fortran passes its
//               address, and by that it is recognised. It is a common block, so it lies wherever
//               the linker put it: in the program, where that has one, once for each thread rank.
//   character   passed as an address, and its length by value after all other arguments (gfortran 8
//   and later, and every
//               other compiler of today).
//
// C and not C++, because `meantime fortran` compiles it on users' machines, with the
// ISO_Fortran_binding.h of their Fortran compiler: what that needs is a C compiler.
#ifndef MEANTIME_FORTRAN_H
#define MEANTIME_FORTRAN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

// Each file of bindings is compiled twice: as the calls, and with MEANTIME_PROFILING as their
// profiling twins.
#ifdef MEANTIME_PROFILING
#define MPI_PLAIN_CALL(name) PMPI_##name
#define FORTRAN(name) pmpi_##name##_
#define F08(name) pmpi_##name##_f08_
#define F08TS(name) pmpi_##name##_f08ts_
#define BINDING __attribute__((visibility("default")))
#else
#define MPI_PLAIN_CALL(name) MPI_##name
#define FORTRAN(name) mpi_##name##_
#define F08(name) mpi_##name##_f08_
#define F08TS(name) mpi_##name##_f08ts_
#define BINDING __attribute__((visibility("default"), weak))
#endif

// A call on behalf of whoever called the binding: Meantime's library, if it is the one below,
// charges it to that line of the program. MPI_PLAIN_CALL is for calls that are over at once and are
// not charged (MPI_Wtime): the announcement would stay for the next call.
#define MPI_CALL(name) (meantime_on_behalf_of(__builtin_return_address(0)), MPI_PLAIN_CALL(name))

extern void meantime_announce_call_site(const void* site) __attribute__((weak));

static inline void meantime_on_behalf_of(const void* caller) {
  if (meantime_announce_call_site != NULL) meantime_announce_call_site(caller);
}

// Without choice buffers mpi_f08's procedure is the same function: TYPE(MPI_Comm) is one integer,
// passed by address, and the address of an ierror that was left out is NULL in both.
#define MEANTIME_TEXT(words) MEANTIME_TEXT_OF(words)
#define MEANTIME_TEXT_OF(words) #words
#define SAME_IN_F08(name)                    \
  extern __typeof__(FORTRAN(name)) F08(name) \
      __attribute__((visibility("default"), weak, alias(MEANTIME_TEXT(FORTRAN(name)))));

// The module mpi's second form of calls that give memory: TYPE(C_PTR) instead of an integer
// (MPI 5.0, 9.2).
#define SAME_WITH_CPTR(name)                            \
  extern __typeof__(FORTRAN(name)) FORTRAN(name##_cptr) \
      __attribute__((visibility("default"), weak, alias(MEANTIME_TEXT(FORTRAN(name)))));

// --- Sentinels

extern MPI_Fint mpi_fortran_bottom_, mpi_fortran_in_place_, mpi_fortran_automatic_;
extern MPI_Fint mpi_fortran_unweighted_[1], mpi_fortran_weights_empty_[1];
extern MPI_Fint mpi_fortran_errcodes_ignore_[1];
extern MPI_Fint mpi_fortran_status_ignore_[MPI_F_STATUS_SIZE];
extern MPI_Fint mpi_fortran_statuses_ignore_[MPI_F_STATUS_SIZE];
extern char mpi_fortran_argv_null_[1], mpi_fortran_argvs_null_[1];

static inline void* meantime_address(void* buffer) {
  if (buffer == &mpi_fortran_in_place_) return MPI_IN_PLACE;
  if (buffer == &mpi_fortran_bottom_) return MPI_BOTTOM;
  if (buffer == &mpi_fortran_automatic_) return MPI_BUFFER_AUTOMATIC;
  return buffer;
}

// A status has the same eight integers in all three languages.
static inline MPI_Status* meantime_status(MPI_Fint* status) {
  return status == mpi_fortran_status_ignore_ || status == mpi_fortran_statuses_ignore_
             ? MPI_STATUS_IGNORE
             : (MPI_Status*)status;
}

static inline int* meantime_weights(MPI_Fint* weights) {
  if (weights == mpi_fortran_unweighted_) return MPI_UNWEIGHTED;
  if (weights == mpi_fortran_weights_empty_) return MPI_WEIGHTS_EMPTY;
  return weights;
}

// --- Integers, logicals

static inline void meantime_store(MPI_Fint* ierror, int error) {
  if (ierror != NULL) *ierror = error;
}

// The compiler's .true. and .false. (logical_values.f90). Whatever is not .false. is true.
extern MPI_Fint meantime_fortran_true, meantime_fortran_false;

static inline int meantime_is_true(MPI_Fint logical) {
  return logical != meantime_fortran_false;
}
static inline MPI_Fint meantime_logical(int flag) {
  return flag ? meantime_fortran_true : meantime_fortran_false;
}

// --- Handles: a predefined one is its own integer in C and in Fortran (MPI 5.0, chapter 20), the
// others are asked for.

#define MEANTIME_HANDLE(type, name)                                                                \
  static inline type meantime_to_##name(MPI_Fint handle) {                                         \
    return handle > 0 && handle < 0x1000 ? (type)(intptr_t)handle : PMPI_##name##_fromint(handle); \
  }                                                                                                \
  static inline MPI_Fint meantime_from_##name(type handle) {                                       \
    return (uintptr_t)handle < 0x1000 ? (MPI_Fint)(intptr_t)handle : PMPI_##name##_toint(handle);  \
  }
MEANTIME_HANDLE(MPI_Comm, Comm)
MEANTIME_HANDLE(MPI_Datatype, Type)
MEANTIME_HANDLE(MPI_Errhandler, Errhandler)
MEANTIME_HANDLE(MPI_File, File)
MEANTIME_HANDLE(MPI_Group, Group)
MEANTIME_HANDLE(MPI_Info, Info)
MEANTIME_HANDLE(MPI_Message, Message)
MEANTIME_HANDLE(MPI_Op, Op)
MEANTIME_HANDLE(MPI_Request, Request)
MEANTIME_HANDLE(MPI_Session, Session)
MEANTIME_HANDLE(MPI_Win, Win)

// --- Memory for the length of a call. Running out of it ends the program, as it does for a Fortran
// allocate.

// At least one byte. Free it with free().
void* meantime_allocate(size_t bytes);

// Short lists of handles need no malloc. Lengths below zero count as zero: the C call complains
// about them.
#define MEANTIME_LIST(type, name, length)                           \
  type name##_few[16];                                              \
  const size_t name##_length = (length) > 0 ? (size_t)(length) : 0; \
  type* name##_list =                                               \
      name##_length <= 16 ? name##_few : (type*)meantime_allocate(name##_length * sizeof(type))
#define MEANTIME_END_LIST(name) \
  if (name##_list != name##_few) free(name##_list)

// How many members a list of handles of this communicator has that are there for each of its peers;
// 0 if it has none.
enum meantime_peers { MEANTIME_ALL, MEANTIME_SOURCES, MEANTIME_DESTINATIONS };
int meantime_peers(MPI_Comm comm, enum meantime_peers which);
// Of a Cartesian communicator; 0 if it is none.
int meantime_dimensions(MPI_Comm comm);

// --- Characters

// A copy without trailing blanks, closed by a zero byte; free it with free().
char* meantime_string(const char* text, size_t length);
// The same without leading blanks too, as info keys and values are (MPI 5.0, chapter 10).
char* meantime_stripped(const char* text, size_t length);
// Fills up with blanks; what does not fit is cut off.
void meantime_fill(char* text, size_t length, const char* string);

// Tells the library what this compiler's LOGICALs are (MPI_Abi_set_fortran_booleans). After
// MPI_Init: MPICH refuses to be told before.
void meantime_tell_booleans(void);

// Reports an error that a binding found itself through the error handler of MPI_COMM_SELF; returns
// `error`.
int meantime_complain(int error, const char* text);

#endif
