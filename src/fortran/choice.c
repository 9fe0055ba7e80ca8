// Scratch copies of subarrays.
#include "choice.h"

#include <stdlib.h>
#include <string.h>

// Assumed-size arrays have an extent of -1 in their last dimension; they are contiguous.
bool meantime_is_contiguous(const CFI_cdesc_t* buffer) {
  ptrdiff_t expected = (ptrdiff_t)buffer->elem_len;
  for (int i = 0; i < buffer->rank; ++i) {
    if (buffer->dim[i].extent == 0) return true;
  }
  for (int i = 0; i < buffer->rank; ++i) {
    if (buffer->dim[i].extent < 0) return true;
    if (buffer->dim[i].extent != 1 && buffer->dim[i].sm != expected) return false;
    expected *= buffer->dim[i].extent;
  }
  return true;
}

enum direction { IN, OUT };

// Copies the subarray that the dimensions 0 … rank-1 span from `base`; returns the scratch copy's
// next place.
static char* copy(const struct meantime_choice* choice, int rank, char* base, char* scratch,
                  enum direction direction) {
  if (rank == 0) {
    if (direction == IN) {
      memcpy(scratch, base, choice->element);
    } else {
      memcpy(base, scratch, choice->element);
    }
    return scratch + choice->element;
  }
  const ptrdiff_t extent = choice->extent[rank - 1];
  const ptrdiff_t stride = choice->stride[rank - 1];
  if (rank == 1 && stride == (ptrdiff_t)choice->element) {
    const size_t bytes = (size_t)extent * choice->element;
    memcpy(direction == IN ? scratch : base, direction == IN ? base : scratch, bytes);
    return scratch + bytes;
  }
  for (ptrdiff_t i = 0; i < extent; ++i) {
    scratch = copy(choice, rank - 1, base + i * stride, scratch, direction);
  }
  return scratch;
}

void meantime_copy_in(const struct meantime_choice* choice) {
  copy(choice, choice->rank, choice->base, choice->scratch, IN);
}

void meantime_copy_out(const struct meantime_choice* choice) {
  copy(choice, choice->rank, choice->base, choice->scratch, OUT);
}

void meantime_open(struct meantime_choice* choice, const CFI_cdesc_t* buffer,
                   enum meantime_use use) {
  choice->address = meantime_address(buffer->base_addr);
  choice->scratch = NULL;
  choice->comes_back = use == MEANTIME_WRITTEN;
  if (choice->address != buffer->base_addr || meantime_is_contiguous(buffer)) return;
  choice->base = buffer->base_addr;
  choice->element = buffer->elem_len;
  choice->rank = buffer->rank;
  size_t elements = 1;
  for (int i = 0; i < buffer->rank; ++i) {
    choice->extent[i] = buffer->dim[i].extent;
    choice->stride[i] = buffer->dim[i].sm;
    elements *= (size_t)buffer->dim[i].extent;
  }
  choice->scratch = meantime_allocate(elements * choice->element);
  choice->address = choice->scratch;
  meantime_copy_in(choice);
}

void meantime_close(struct meantime_choice* choice, bool succeeded) {
  if (choice->scratch == NULL) return;
  if (choice->comes_back && succeeded) meantime_copy_out(choice);
  free(choice->scratch);
  choice->scratch = NULL;
}
