// Choice buffers of mpi_f08: TYPE(*), DIMENSION(..), which C sees as a descriptor.
//
// A buffer that is contiguous, or a scalar, is used where it is. Of any other (every second column
// of a matrix) MPI gets a scratch copy in array element order: that is what the standard says count
// and datatype are about (MPI 5.0, 19.1.12). So each subarray goes with each datatype, operation
// and call.
//   - a blocking call copies before and after; what comes back is what MPI has changed, because the
//   rest of the memory is the program's, which may have written to it meanwhile (a datatype with
//   gaps, two receives side by side, a message that is shorter)
//   - a call that starts a request leaves the copy to it (pending.h)
//   - what has neither (one-sided, split collectives, partitioned) refuses such a buffer:
//   MPI_ERR_BUFFER
#ifndef MEANTIME_FORTRAN_CHOICE_H
#define MEANTIME_FORTRAN_CHOICE_H

#include <ISO_Fortran_binding.h>
#include <stdbool.h>

#include "fortran.h"

#define MEANTIME_DIMENSIONS 15  // Fortran's most

struct meantime_choice {
  void* address;  // what C gets: the user's memory, a constant such as MPI_IN_PLACE, or the scratch
                  // copy
  char* scratch;  // NULL if there is none
  size_t bytes;   // of it; if it comes back, as many follow: what it was made with
  bool comes_back;  // the scratch copy is copied back
  // The layout of the user's memory, where it is not contiguous. The descriptor does not outlive
  // the call.
  char* base;
  size_t element;
  int rank;
  ptrdiff_t extent[MEANTIME_DIMENSIONS];
  ptrdiff_t stride[MEANTIME_DIMENSIONS];  // in bytes
};

enum meantime_use { MEANTIME_READ, MEANTIME_WRITTEN };

// Copies into a scratch copy if it needs one: also for a buffer that is written, because MPI may
// write part of it.
void meantime_open(struct meantime_choice* choice, const CFI_cdesc_t* buffer,
                   enum meantime_use use);
// Copies back what MPI changed, if it is to come back and the call succeeded; frees the scratch
// copy.
void meantime_close(struct meantime_choice* choice, bool succeeded);

void meantime_copy_in(const struct meantime_choice* choice);
void meantime_copy_out(const struct meantime_choice* choice);

bool meantime_is_contiguous(const CFI_cdesc_t* buffer);

#endif
