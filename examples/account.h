/* Where the CPU time of a program went, found by the program itself: so it works with any MPI.
 *
 * CPU in MPI = all CPU time of the process (getrusage) - CPU time of the sections that compute
 * (CLOCK_THREAD_CPUTIME_ID). Time in MPI is mostly waiting; moving the messages is in it too.
 * For programs with one thread. */
#ifndef EXAMPLES_ACCOUNT_H
#define EXAMPLES_ACCOUNT_H

#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

struct account {
  double wall_start, cpu_start; /* seconds, at account_start */
  double compute;               /* seconds of CPU in sections that computed */
  double section_start;
};

static inline double account_thread_cpu(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline double account_process_cpu(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static inline void account_start(struct account* account) {
  account->compute = 0;
  account->cpu_start = account_process_cpu();
  account->wall_start = MPI_Wtime();
}

/* Around every section that computes and does not call MPI. */
static inline void account_compute_begin(struct account* account) {
  account->section_start = account_thread_cpu();
}
static inline void account_compute_end(struct account* account) {
  account->compute += account_thread_cpu() - account->section_start;
}

/* Collective. Rank 0 prints one line; CPU times are sums over all ranks. */
static inline void account_print(const struct account* account, MPI_Comm comm) {
  double wall = MPI_Wtime() - account->wall_start, slowest = 0;
  double mine[2] = {account_process_cpu() - account->cpu_start, account->compute};
  double all[2] = {0, 0};
  int rank;
  MPI_Comm_rank(comm, &rank);
  MPI_Reduce(&wall, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
  MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, comm);
  if (rank == 0) {
    const double in_mpi = all[0] > all[1] ? all[0] - all[1] : 0;
    printf("account: wall %.3f s, cpu %.3f s, computing %.3f s, in MPI %.3f s (%.1f %%)\n", slowest,
           all[0], all[1], in_mpi, all[0] > 0 ? 100 * in_mpi / all[0] : 0);
  }
}

#endif
