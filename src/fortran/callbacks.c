// The C functions that MPI calls in place of a Fortran program's.
#define _GNU_SOURCE  // dladdr
#include "callbacks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

// M(0) M(1) … M(63): one function for each slot.
#define EIGHT(M, a) M(a##0) M(a##1) M(a##2) M(a##3) M(a##4) M(a##5) M(a##6) M(a##7)
#define EACH_SLOT(M) \
  EIGHT(M, 00)       \
  EIGHT(M, 01) EIGHT(M, 02) EIGHT(M, 03) EIGHT(M, 04) EIGHT(M, 05) EIGHT(M, 06) EIGHT(M, 07)
_Static_assert(MEANTIME_SLOTS == 64, "EACH_SLOT counts to 077, in octal");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// The slot of this procedure, or -1. A slot is written once, before its function is given to
// anyone.
static int slot_of(meantime_procedure* slots[MEANTIME_SLOTS], meantime_procedure* user) {
  int slot = 0;
  pthread_mutex_lock(&lock);
  while (slot < MEANTIME_SLOTS && slots[slot] != NULL && slots[slot] != user) ++slot;
  if (slot < MEANTIME_SLOTS) slots[slot] = user;
  pthread_mutex_unlock(&lock);
  return slot < MEANTIME_SLOTS ? slot : -1;
}

// --- Operations

typedef void user_function(void* invec, void* inoutvec, MPI_Fint* len, MPI_Fint* datatype);
typedef void user_function_c(void* invec, void* inoutvec, MPI_Count* len, MPI_Fint* datatype);

static meantime_procedure* ops[MEANTIME_SLOTS];
static meantime_procedure* large_ops[MEANTIME_SLOTS];

#define OP(slot)                                                                         \
  static void op_##slot(void* invec, void* inoutvec, int* len, MPI_Datatype* datatype) { \
    MPI_Fint type = meantime_from_Type(*datatype);                                       \
    ((user_function*)ops[slot])(invec, inoutvec, len, &type);                            \
  }                                                                                      \
  static void large_op_##slot(void* invec, void* inoutvec, MPI_Count* len,               \
                              MPI_Datatype* datatype) {                                  \
    MPI_Fint type = meantime_from_Type(*datatype);                                       \
    ((user_function_c*)large_ops[slot])(invec, inoutvec, len, &type);                    \
  }
EACH_SLOT(OP)

#define OP_NAME(slot) op_##slot,
#define LARGE_OP_NAME(slot) large_op_##slot,
static MPI_User_function* const op_functions[] = {EACH_SLOT(OP_NAME)};
static MPI_User_function_c* const large_op_functions[] = {EACH_SLOT(LARGE_OP_NAME)};

MPI_User_function* meantime_op(meantime_procedure* user) {
  const int slot = slot_of(ops, user);
  return slot < 0 ? NULL : op_functions[slot];
}

MPI_User_function_c* meantime_large_op(meantime_procedure* user) {
  const int slot = slot_of(large_ops, user);
  return slot < 0 ? NULL : large_op_functions[slot];
}

// --- Error handlers

typedef void errhandler_function(MPI_Fint* object, MPI_Fint* error_code);

#define ERRHANDLERS(kind, Kind)                                                      \
  static meantime_procedure* kind##_errhandlers[MEANTIME_SLOTS];                     \
  static void handle_##kind##_error(int slot, MPI_##Kind* object, int* error_code) { \
    MPI_Fint number = meantime_from_##Kind(*object);                                 \
    ((errhandler_function*)kind##_errhandlers[slot])(&number, error_code);           \
  }
ERRHANDLERS(comm, Comm)
ERRHANDLERS(file, File)
ERRHANDLERS(win, Win)
ERRHANDLERS(session, Session)

#define ERRHANDLER(slot)                                             \
  static void comm_##slot(MPI_Comm* comm, int* code, ...) {          \
    handle_comm_error(slot, comm, code);                             \
  }                                                                  \
  static void file_##slot(MPI_File* file, int* code, ...) {          \
    handle_file_error(slot, file, code);                             \
  }                                                                  \
  static void win_##slot(MPI_Win* win, int* code, ...) {             \
    handle_win_error(slot, win, code);                               \
  }                                                                  \
  static void session_##slot(MPI_Session* session, int* code, ...) { \
    handle_session_error(slot, session, code);                       \
  }
EACH_SLOT(ERRHANDLER)

#define COMM_NAME(slot) comm_##slot,
#define FILE_NAME(slot) file_##slot,
#define WIN_NAME(slot) win_##slot,
#define SESSION_NAME(slot) session_##slot,
static MPI_Comm_errhandler_function* const comm_functions[] = {EACH_SLOT(COMM_NAME)};
static MPI_File_errhandler_function* const file_functions[] = {EACH_SLOT(FILE_NAME)};
static MPI_Win_errhandler_function* const win_functions[] = {EACH_SLOT(WIN_NAME)};
static MPI_Session_errhandler_function* const session_functions[] = {EACH_SLOT(SESSION_NAME)};

#define FIND_ERRHANDLER(kind, Kind)                                                          \
  MPI_##Kind##_errhandler_function* meantime_##kind##_errhandler(meantime_procedure* user) { \
    const int slot = slot_of(kind##_errhandlers, user);                                      \
    return slot < 0 ? NULL : kind##_functions[slot];                                         \
  }
FIND_ERRHANDLER(comm, Comm)
FIND_ERRHANDLER(file, File)
FIND_ERRHANDLER(win, Win)
FIND_ERRHANDLER(session, Session)

// --- Generalised requests. A procedure that sets no ierror has succeeded.

typedef void query_function(MPI_Aint* extra_state, MPI_Fint* status, MPI_Fint* ierror);
typedef void free_function(MPI_Aint* extra_state, MPI_Fint* ierror);
typedef void cancel_function(MPI_Aint* extra_state, MPI_Fint* complete, MPI_Fint* ierror);

/* A variable that lies in a program or a library is there until the end; any other may be gone. */
static int is_static(const void* variable) {
  Dl_info object;
  return dladdr(variable, &object) != 0;
}

static void tell_caller(struct meantime_grequest* request, MPI_Aint before) {
  if (request->extra_state == before) return;
  if (is_static(request->variable) && *request->variable == before)
    *request->variable = request->extra_state;
}

int meantime_grequest_query(void* extra_state, MPI_Status* status) {
  struct meantime_grequest* request = extra_state;
  const MPI_Aint before = request->extra_state;
  MPI_Fint ierror = MPI_SUCCESS;
  ((query_function*)request->query)(&request->extra_state, (MPI_Fint*)status, &ierror);
  tell_caller(request, before);
  return ierror;
}

int meantime_grequest_free(void* extra_state) {
  struct meantime_grequest* request = extra_state;
  const MPI_Aint before = request->extra_state;
  MPI_Fint ierror = MPI_SUCCESS;
  ((free_function*)request->free)(&request->extra_state, &ierror);
  tell_caller(request, before);
  free(request);
  return ierror;
}

int meantime_grequest_cancel(void* extra_state, int complete) {
  struct meantime_grequest* request = extra_state;
  const MPI_Aint before = request->extra_state;
  MPI_Fint ierror = MPI_SUCCESS;
  MPI_Fint logical = meantime_logical(complete);
  ((cancel_function*)request->cancel)(&request->extra_state, &logical, &ierror);
  tell_caller(request, before);
  return ierror;
}

// --- Data representations

typedef void conversion_function(void* userbuf, MPI_Fint* datatype, MPI_Fint* count, void* filebuf,
                                 MPI_Offset* position, MPI_Aint* extra_state, MPI_Fint* ierror);
typedef void conversion_function_c(void* userbuf, MPI_Fint* datatype, MPI_Count* count,
                                   void* filebuf, MPI_Offset* position, MPI_Aint* extra_state,
                                   MPI_Fint* ierror);
typedef void extent_function(MPI_Fint* datatype, MPI_Aint* extent, MPI_Aint* extra_state,
                             MPI_Fint* ierror);

#define CONVERSION(direction, suffix, count_type)                                                  \
  int meantime_datarep_##direction##suffix(void* userbuf, MPI_Datatype datatype, count_type count, \
                                           void* filebuf, MPI_Offset position,                     \
                                           void* extra_state) {                                    \
    struct meantime_datarep* datarep = extra_state;                                                \
    MPI_Fint ierror = MPI_SUCCESS;                                                                 \
    MPI_Fint type = meantime_from_Type(datatype);                                                  \
    ((conversion_function##suffix*)datarep->direction)(userbuf, &type, &count, filebuf, &position, \
                                                       &datarep->extra_state, &ierror);            \
    return ierror;                                                                                 \
  }
CONVERSION(read, , int)
CONVERSION(write, , int)
CONVERSION(read, _c, MPI_Count)
CONVERSION(write, _c, MPI_Count)

int meantime_datarep_extent(MPI_Datatype datatype, MPI_Aint* extent, void* extra_state) {
  struct meantime_datarep* datarep = extra_state;
  MPI_Fint ierror = MPI_SUCCESS;
  MPI_Fint type = meantime_from_Type(datatype);
  ((extent_function*)datarep->extent)(&type, extent, &datarep->extra_state, &ierror);
  return ierror;
}
