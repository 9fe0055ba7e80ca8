/* The first library: it has functions by names of libc and libm, calls what the program defines
   again, and asks for the next definition of a name. */
#define _GNU_SOURCE
#include "names.h"

#include <dlfcn.h>
#include <stddef.h>

int noted[10], notes;
static int calls;
void note(int who) {
  noted[notes++] = who;
}
__attribute__((constructor)) static void begin(void) {
  note(1);
}
double gamma(double value) {
  return 1000 + value;
}
long random(void) {
  return 4242 + calls++;
}
char* index(const char* text, int wanted) {
  return (char*)text + wanted;
}
int chosen(void) {
  return 1;
}
int pass_on(void) {
  int (*const next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "pass_on");
  return next == NULL ? -1 : 10 + next();
}
int first_says(int what) {
  switch (what) {
    case 0:
      return random() >= 4242;
    case 1:
      return gamma(1) == 1001;
    case 2:
      return chosen() == 7; /* the program's */
    case 3:
      return exp(2) == 7389; /* the program's */
    case 4:
      return dlsym(RTLD_DEFAULT, "random") == (void*)random;
    case 5:
      return y0(1) == 55; /* the second library's */
    default:
      return not_there == NULL;
  }
}
