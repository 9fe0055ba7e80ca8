/* Each rank with a team of OpenMP threads of its own: parallel loops, a reduction, and MPI between
 * them, often. Sums of integers, so every order gives the same. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

enum { many = 1000, rounds = 50 };
static long values[many]; /* private: each rank's */

int main(int count, char** words) {
  int provided, rank, size, wrong = 0;
  MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < rounds; ++round) {
    int threads = 0;
    long sum = 0, all = 0, mine = 0;
#pragma omp parallel
    {
#pragma omp for
      for (int i = 0; i < many; ++i) {
        values[i] = rank + i + round;
      }
#pragma omp atomic
      ++threads;
#pragma omp barrier
#pragma omp for reduction(+ : sum)
      for (int i = 0; i < many; ++i) {
        sum += values[many - 1 - i]; /* another thread's */
      }
#pragma omp master
      MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    mine = many * (long)(rank + round) + many * (long)(many - 1) / 2;
    wrong += sum != mine || threads != omp_get_max_threads() ||
             all != size * (many * (long)round + many * (long)(many - 1) / 2) +
                        many * (long)size * (size - 1) / 2;
  }
  if (wrong != 0) {
    fprintf(stderr, "rank %d: wrong in %d rounds\n", rank, wrong);
  }
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &wrong, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && wrong == 0) {
    printf(" No Errors\n");
  }
  MPI_Finalize();
  return wrong != 0;
}
