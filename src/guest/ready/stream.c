// stream: a = b + c over arrays that no cache holds, for ever: the bad neighbour, which takes
// memory's bandwidth from the ranks. A unit is a KiB that was read or written.
#include "units.h"

enum { elements = 8 << 20 };  // 64 MiB each
enum { piece = 1 << 10 };     // 24 KiB of all three

static double* a;
static double* b;
static double* c;
static long next;

static int prepare(void) {
  double* const memory = malloc(3 * sizeof(double) * elements);
  if (memory == NULL) {
    fprintf(stderr, "stream: no memory\n");
    return 1;
  }
  a = memory;
  b = a + elements;
  c = b + elements;
  for (long i = 0; i < elements; ++i) {
    b[i] = 1;
    c[i] = 2;
  }
  return 0;
}

static uint64_t work(void) {
  for (long i = next; i < next + piece; ++i) {
    a[i] = b[i] + c[i];
  }
  __asm__ volatile("" : : "r"(a) : "memory");
  next = (next + piece) % elements;
  return 3 * sizeof(double) * piece >> 10;
}
