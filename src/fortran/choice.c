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

// Both copies walk the subarray that the dimensions 0 … rank-1 span from `base`, run by run of
// neighbouring elements, and return the scratch copy's next place.
typedef void visit(char* base, char* scratch, size_t bytes, const struct meantime_choice* choice);

static char* walk(const struct meantime_choice* choice, int rank, char* base, char* scratch,
                  visit* visit) {
  const ptrdiff_t extent = rank == 0 ? 1 : choice->extent[rank - 1];
  const ptrdiff_t stride = rank == 0 ? 0 : choice->stride[rank - 1];
  if (rank == 0 || (rank == 1 && stride == (ptrdiff_t)choice->element)) {
    const size_t bytes = (size_t)extent * choice->element;
    visit(base, scratch, bytes, choice);
    return scratch + bytes;
  }
  for (ptrdiff_t i = 0; i < extent; ++i) {
    scratch = walk(choice, rank - 1, base + i * stride, scratch, visit);
  }
  return scratch;
}

static void copy_in(char* base, char* scratch, size_t bytes, const struct meantime_choice* choice) {
  memcpy(scratch, base, bytes);
  if (choice->comes_back) memcpy(scratch + choice->bytes, scratch, bytes);
}

static void copy_out(char* base, char* scratch, size_t bytes,
                     const struct meantime_choice* choice) {
  char* before = scratch + choice->bytes;
  enum { AT_ONCE = 8 };
  for (size_t i = 0; i < bytes; i += AT_ONCE) {
    const size_t part = bytes - i < AT_ONCE ? bytes - i : AT_ONCE;
    if (memcmp(scratch + i, before + i, part) == 0) continue;
    for (size_t j = i; j < i + part; ++j) {
      if (scratch[j] != before[j]) base[j] = before[j] = scratch[j];
    }
  }
}

void meantime_copy_in(const struct meantime_choice* choice) {
  walk(choice, choice->rank, choice->base, choice->scratch, copy_in);
}

void meantime_copy_out(const struct meantime_choice* choice) {
  walk(choice, choice->rank, choice->base, choice->scratch, copy_out);
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
  choice->bytes = elements * choice->element;
  choice->scratch = meantime_allocate(choice->comes_back ? 2 * choice->bytes : choice->bytes);
  choice->address = choice->scratch;
  meantime_copy_in(choice);
}

void meantime_close(struct meantime_choice* choice, bool succeeded) {
  if (choice->scratch == NULL) return;
  if (choice->comes_back && succeeded) meantime_copy_out(choice);
  free(choice->scratch);
  choice->scratch = NULL;
}
