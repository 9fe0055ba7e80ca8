// primes: counts primes by trial division, for ever. Needs no library, and no memory. A unit is a
// prime.
#include "units.h"

static int is_prime(uint64_t number) {
  for (uint64_t divisor = 3; divisor * divisor <= number; divisor += 2) {
    if (number % divisor == 0) {
      return 0;
    }
  }
  return 1;
}

int main(void) {
  volatile uint64_t* const units = counted_units();
  // Always as much work: the odd numbers from a million to two, again and again.
  for (uint64_t number = 1000001; !told_to_end; number = number < 2000000 ? number + 2 : 1000001) {
    if (is_prime(number)) {
      ++*units;
    }
  }
  return done(units);
}
