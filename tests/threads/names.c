/* Names are looked for in the program, then in its libraries in their order, then in libc and libm:
   by the linker and by dlsym, in a rank as in a process. Prints " No Errors" or what is wrong. */
#define _GNU_SOURCE
#include "names.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int errors;

static void check(int right, const char* what, int number) {
  if (!right) {
    errors++;
    fprintf(stderr, "wrong: %s %d\n", what, number);
  }
}
int chosen(void) {
  return 7;
}
double exp(double value) {
  return value == 2 ? 7389 : 0;
}
/* In front of libc's: counts, and passes on. */
static int lines;
int puts(const char* text) {
  int (*const next)(const char*) = (int (*)(const char*))dlsym(RTLD_NEXT, "puts");
  lines++;
  return next(text);
}
__attribute__((constructor)) static void begin(void) {
  note(3);
}

int main(int count, char** words) {
  int rank;
  check(notes == 3 && noted[0] == 2 && noted[1] == 1 && noted[2] == 3, "constructors", notes);
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 7; i++) check(first_says(i), "the first library", i);
  for (int i = 0; i < 4; i++) check(second_says(i), "the second library", i);
  volatile double one = 1, two = 2;
  check(gamma(one) == 1001 && y0(one) == 55 && exp(two) == 7389, "the program's calls", 0);
  for (int i = 0; i < rank; i++) random();
  MPI_Barrier(MPI_COMM_WORLD);
  check(random() == 4242 + rank + 2, "random of the library", rank);
  check(pass_on() == 12, "the next one", pass_on());
  check(dlsym(RTLD_DEFAULT, "no_such_name") == NULL && dlerror() != NULL, "no such name", 0);
  check(dlvsym(RTLD_DEFAULT, "getpid", "GLIBC_2.2.5") != NULL, "a version", 0);
  check(dlvsym(RTLD_DEFAULT, "getpid", "GLIBC_9.9") == NULL, "no such version", 0);
  MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && errors == 0) puts(" No Errors");
  return errors != 0 || lines != (rank == 0);
}
