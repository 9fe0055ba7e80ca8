// What hangs on a request until it is complete: scratch copies of subarrays (choice.h) and lists of
// handles that the library may look at until then (MPI_Ialltoallw's datatypes).
//
// A request is known by its Fortran handle. Only the Fortran calls that complete requests look
// here, so a request with such a copy must be completed in Fortran; one that C has completed leaves
// its entry behind until its handle is given to another request. Another thread may get the handle
// as soon as C has completed the request, so what hangs on it is taken into one's hands before C is
// called, and put back afterwards if the request goes on.
#ifndef MEANTIME_FORTRAN_PENDING_H
#define MEANTIME_FORTRAN_PENDING_H

#include <stdatomic.h>
#include <stdbool.h>

#include "fortran.h"

struct meantime_choice;
struct meantime_hanging;

// How many requests have something hanging on them. Mostly 0, and then none of the calls below
// costs anything.
extern atomic_int meantime_pending_count;

static inline bool meantime_any_pending(void) {
  return atomic_load(&meantime_pending_count) != 0;
}

void meantime_forget_slowly(MPI_Fint request);
struct meantime_hanging* meantime_take_slowly(MPI_Fint request);
void meantime_put_back_slowly(struct meantime_hanging* hanging);
void meantime_arrived_slowly(struct meantime_hanging* hanging);
void meantime_completed_slowly(struct meantime_hanging* hanging);
void meantime_starting_slowly(MPI_Fint request);
void meantime_freed_slowly(struct meantime_hanging* hanging);

// A call has made this request: what hung on an earlier one of the same handle is void.
static inline void meantime_forget(MPI_Fint request) {
  if (meantime_any_pending()) meantime_forget_slowly(request);
}

// What hangs on the request that C is about to be asked for; NULL if nothing does. It goes to one
// of the next functions after C has answered.
static inline struct meantime_hanging* meantime_take(MPI_Fint request) {
  return meantime_any_pending() ? meantime_take_slowly(request) : NULL;
}
// It is not complete.
static inline void meantime_put_back(struct meantime_hanging* hanging) {
  if (hanging != NULL) meantime_put_back_slowly(hanging);
}
// It is complete, but is still to be waited for: copies go back.
static inline void meantime_arrived(struct meantime_hanging* hanging) {
  if (hanging != NULL) meantime_arrived_slowly(hanging);
}
// It is complete: copies go back. What hangs on a persistent request stays for the next time.
static inline void meantime_completed(struct meantime_hanging* hanging) {
  if (hanging != NULL) meantime_completed_slowly(hanging);
}
// The handle is gone. An active request goes on, so what hangs on it stays for ever.
static inline void meantime_freed(struct meantime_hanging* hanging) {
  if (hanging != NULL) meantime_freed_slowly(hanging);
}

// A persistent request is about to start: it takes what the user's memory holds now.
static inline void meantime_starting(MPI_Fint request) {
  if (meantime_any_pending()) meantime_starting_slowly(request);
}

// Takes the scratch copy, if there is one. Call meantime_forget first.
void meantime_keep_choice(MPI_Fint request, bool persistent, struct meantime_choice* choice);
// Takes memory that free() frees.
void meantime_keep_memory(MPI_Fint request, bool persistent, void* memory);

#endif
