/* Functions that are chosen at the start (IFUNC) read the program's variables while its image is
 * being relocated, before any constructor: of the program, of a library of its own, by a pointer.
 */
#include <cpuid.h>
#include <mpi.h>
#include <stdio.h>

int library_sum(const int* values, int count);
int library_chosen(void);

static int base = 3;
static int table[4] = {1, 2, 3, 4};

__attribute__((target_clones("default", "avx2"))) int sum(const int* values, int count) {
  int result = 0;
  for (int i = 0; i < count; i++) result += values[i];
  return result;
}

static int wrong_one(void) {
  return -1;
}
static int right_one(void) {
  return 2 + base;
}
static int (*choose(void))(void) {
  unsigned a, b, c, d;
  return __get_cpuid(0, &a, &b, &c, &d) && table[3] == 4 ? right_one : wrong_one;
}
int chosen(void) __attribute__((ifunc("choose")));
int (*pointer)(void) = chosen;

__attribute__((constructor)) static void early(void) {
  base += chosen();
}

int main(int count, char** words) {
  int rank, wrong;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  base += rank;
  MPI_Barrier(MPI_COMM_WORLD);
  const int values[] = {rank, 1, 2, 3};
  wrong = sum(values, 4) != rank + 6 || library_sum(values, 4) != rank + 6 ||
          chosen() != 10 + rank || pointer() != 10 + rank || library_chosen() != 12;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && !wrong) printf(" No Errors\n");
  MPI_Finalize();
  return wrong;
}
