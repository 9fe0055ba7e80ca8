/* The second library: the first one's functions come before libc's. */
#define _GNU_SOURCE
#include "names.h"

#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>

__attribute__((constructor)) static void begin(void) {
  note(2);
}
double y0(double value) {
  return 54 + value;
}
int pass_on(void) {
  int (*const next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "getpid");
  return dlsym(RTLD_NEXT, "pass_on") == NULL && next != NULL && next() == getpid() ? 2 : -100;
}
int second_says(int what) {
  switch (what) {
    case 0:
      return random() >= 4242;
    case 1:
      return gamma(1) == 1001;
    case 2:
      return index("abcd", 2)[0] == 'c';
    default:
      return dlsym(RTLD_DEFAULT, "chosen") == (void*)chosen && chosen() == 7;
  }
}
