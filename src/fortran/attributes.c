// Boxes, keys, and the C functions that copy and delete attributes in the name of Fortran
// procedures.
#include "attributes.h"

#include <pthread.h>
#include <stdlib.h>

// --- Boxes

struct box {
  MPI_Aint value;  // first: C gets its address
  struct box* next;
};

enum { CHAINS = 256 };
static struct box* boxes[CHAINS];
static struct meantime_keyval* keyvals;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// With the lock held. Where the pointer to this box is, or the chain's end.
static struct box** place_of(const void* box) {
  struct box** place = &boxes[((uintptr_t)box >> 4) % CHAINS];
  while (*place != NULL && *place != box) place = &(*place)->next;
  return place;
}

void* meantime_box(MPI_Aint value) {
  struct box* box = meantime_allocate(sizeof *box);
  *box = (struct box){value, NULL};
  pthread_mutex_lock(&lock);
  *place_of(box) = box;
  pthread_mutex_unlock(&lock);
  return box;
}

void meantime_free_box(void* memory) {
  pthread_mutex_lock(&lock);
  struct box** place = place_of(memory);
  struct box* box = *place;
  if (box != NULL) *place = box->next;
  pthread_mutex_unlock(&lock);
  free(box);
}

static bool is_box(const void* memory, MPI_Aint* value) {
  pthread_mutex_lock(&lock);
  const struct box* box = *place_of(memory);
  if (box != NULL) *value = box->value;
  pthread_mutex_unlock(&lock);
  return box != NULL;
}

MPI_Aint meantime_attribute(int keyval, void* attribute) {
  MPI_Aint value = (MPI_Aint)attribute;
  switch (keyval) {
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL:
      return *(int*)attribute;
    case MPI_WIN_SIZE:
      return *(MPI_Aint*)attribute;
    case MPI_WIN_BASE:
      return value;
    default:
      is_box(attribute, &value);
      return value;
  }
}

// --- Keys

struct meantime_keyval* meantime_keyval(meantime_procedure* copy, meantime_procedure* erase,
                                        MPI_Aint extra_state, bool narrow) {
  pthread_mutex_lock(&lock);
  struct meantime_keyval* keyval = keyvals;
  while (keyval != NULL && (keyval->copy != copy || keyval->erase != erase ||
                            keyval->extra_state != extra_state || keyval->narrow != narrow)) {
    keyval = keyval->next;
  }
  if (keyval == NULL) {
    keyval = meantime_allocate(sizeof *keyval);
    *keyval = (struct meantime_keyval){keyvals, copy, erase, extra_state, narrow};
    keyvals = keyval;
  }
  pthread_mutex_unlock(&lock);
  return keyval;
}

typedef void copy_function(MPI_Fint* object, MPI_Fint* keyval, MPI_Aint* extra_state, MPI_Aint* in,
                           MPI_Aint* out, MPI_Fint* flag, MPI_Fint* ierror);
typedef void delete_function(MPI_Fint* object, MPI_Fint* keyval, MPI_Aint* attribute,
                             MPI_Aint* extra_state, MPI_Fint* ierror);
typedef void narrow_copy_function(MPI_Fint* object, MPI_Fint* keyval, MPI_Fint* extra_state,
                                  MPI_Fint* in, MPI_Fint* out, MPI_Fint* flag, MPI_Fint* ierror);
typedef void narrow_delete_function(MPI_Fint* object, MPI_Fint* keyval, MPI_Fint* attribute,
                                    MPI_Fint* extra_state, MPI_Fint* ierror);

// What C has stored under a Fortran key goes on as C's address, unless the procedure changes it.
static int copy_attribute(MPI_Fint object, MPI_Fint number, void* state, void* in, void* out,
                          int* flag) {
  const struct meantime_keyval* keyval = state;
  MPI_Aint value = (MPI_Aint)in;
  const bool boxed = is_box(in, &value);
  MPI_Aint copied = value;
  MPI_Fint logical = meantime_fortran_false;
  MPI_Fint ierror = MPI_SUCCESS;
  MPI_Aint extra_state = keyval->extra_state;
  if (keyval->narrow) {
    MPI_Fint narrow_state = (MPI_Fint)extra_state;
    MPI_Fint narrow_value = (MPI_Fint)value;
    MPI_Fint narrow_copied = narrow_value;
    ((narrow_copy_function*)keyval->copy)(&object, &number, &narrow_state, &narrow_value,
                                          &narrow_copied, &logical, &ierror);
    if (narrow_copied != narrow_value) copied = narrow_copied;
  } else {
    MPI_Aint given = value;
    ((copy_function*)keyval->copy)(&object, &number, &extra_state, &given, &copied, &logical,
                                   &ierror);
  }
  *flag = meantime_is_true(logical);
  if (ierror == MPI_SUCCESS && *flag)
    *(void**)out = boxed || copied != value ? meantime_box(copied) : in;
  return ierror;
}

static int delete_attribute(MPI_Fint object, MPI_Fint number, void* attribute, void* state) {
  const struct meantime_keyval* keyval = state;
  MPI_Aint value = (MPI_Aint)attribute;
  is_box(attribute, &value);
  MPI_Fint ierror = MPI_SUCCESS;
  MPI_Aint extra_state = keyval->extra_state;
  if (keyval->narrow) {
    MPI_Fint narrow_state = (MPI_Fint)extra_state;
    MPI_Fint narrow_value = (MPI_Fint)value;
    ((narrow_delete_function*)keyval->erase)(&object, &number, &narrow_value, &narrow_state,
                                             &ierror);
  } else {
    ((delete_function*)keyval->erase)(&object, &number, &value, &extra_state, &ierror);
  }
  if (ierror == MPI_SUCCESS) meantime_free_box(attribute);
  return ierror;
}

int meantime_copy_comm_attribute(MPI_Comm comm, int keyval, void* state, void* in, void* out,
                                 int* flag) {
  return copy_attribute(meantime_from_Comm(comm), keyval, state, in, out, flag);
}
int meantime_copy_type_attribute(MPI_Datatype type, int keyval, void* state, void* in, void* out,
                                 int* flag) {
  return copy_attribute(meantime_from_Type(type), keyval, state, in, out, flag);
}
int meantime_copy_win_attribute(MPI_Win win, int keyval, void* state, void* in, void* out,
                                int* flag) {
  return copy_attribute(meantime_from_Win(win), keyval, state, in, out, flag);
}

int meantime_delete_comm_attribute(MPI_Comm comm, int keyval, void* attribute, void* state) {
  return delete_attribute(meantime_from_Comm(comm), keyval, attribute, state);
}
int meantime_delete_type_attribute(MPI_Datatype type, int keyval, void* attribute, void* state) {
  return delete_attribute(meantime_from_Type(type), keyval, attribute, state);
}
int meantime_delete_win_attribute(MPI_Win win, int keyval, void* attribute, void* state) {
  return delete_attribute(meantime_from_Win(win), keyval, attribute, state);
}
