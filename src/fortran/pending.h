// What hangs on a request until it is complete: scratch copies of subarrays (choice.h) and lists of
// handles that the library may look at until then (MPI_Ialltoallw's datatypes).
//
// A request is known by its Fortran handle. Only the Fortran calls that complete requests look
// here, so a request with such a copy must be completed in Fortran; one that C has completed leaves
// its entry behind until its handle is given to another request.
#ifndef MEANTIME_FORTRAN_PENDING_H
#define MEANTIME_FORTRAN_PENDING_H

#include <stdatomic.h>
#include <stdbool.h>

#include "fortran.h"

struct meantime_choice;

// How many requests have something hanging on them. Mostly 0, and then none of the calls below
// costs anything.
extern atomic_int meantime_pending_count;

void meantime_forget_slowly(MPI_Fint request);
void meantime_completed_slowly(MPI_Fint request);
void meantime_starting_slowly(MPI_Fint request);

// A call has made this request: what hung on an earlier one of the same handle is void.
static inline void meantime_forget(MPI_Fint request) {
  if (atomic_load(&meantime_pending_count) != 0) meantime_forget_slowly(request);
}

// It is complete: copies go back. What hangs on a persistent request stays for the next time.
static inline void meantime_completed(MPI_Fint request) {
  if (atomic_load(&meantime_pending_count) != 0) meantime_completed_slowly(request);
}

// A persistent request is about to start: it takes what the user's memory holds now.
static inline void meantime_starting(MPI_Fint request) {
  if (atomic_load(&meantime_pending_count) != 0) meantime_starting_slowly(request);
}

// Takes the scratch copy, if there is one. Call meantime_forget first.
void meantime_keep_choice(MPI_Fint request, bool persistent, struct meantime_choice* choice);
// Takes memory that free() frees.
void meantime_keep_memory(MPI_Fint request, bool persistent, void* memory);

#endif
