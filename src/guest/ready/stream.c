// stream: a = b + c over arrays that no cache holds, for ever: the bad neighbour, which takes
// memory's bandwidth from the ranks. A unit is a MiB that was read or written.
#include "units.h"

enum { elements = 8 << 20 };  // 64 MiB each
enum { piece = 1 << 17 };     // 3 MiB of all three

int main(void) {
  volatile uint64_t* const units = counted_units();
  double* const memory = malloc(3 * sizeof(double) * elements);
  if (memory == NULL) {
    fprintf(stderr, "stream: no memory\n");
    return 1;
  }
  double* const a = memory;
  double* const b = a + elements;
  double* const c = b + elements;
  for (long i = 0; i < elements; ++i) {
    b[i] = 1;
    c[i] = 2;
  }
  for (long first = 0; !told_to_end; first = (first + piece) % elements) {
    for (long i = first; i < first + piece; ++i) {
      a[i] = b[i] + c[i];
    }
    __asm__ volatile("" : : "r"(a) : "memory");
    *units += 3 * sizeof(double) * piece >> 20;
  }
  return done(units);
}
