// primes: counts primes by trial division, for ever. Needs no library, and no memory. A unit is a
// prime.
#include "units.h"

/// Always as much work: the odd numbers from a million to two, again and again.
static uint64_t number = 1000001;

static int prepare(void) {
  return 0;
}

static uint64_t work(void) {
  const uint64_t tried = number;
  number = number < 2000000 ? number + 2 : 1000001;
  for (uint64_t divisor = 3; divisor * divisor <= tried; divisor += 2) {
    if (tried % divisor == 0) {
      return 0;
    }
  }
  return 1;
}
