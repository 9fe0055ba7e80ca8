#!/usr/bin/env python3
"""Ten thousand thread ranks over four nodes that mpiexec plays: an allreduce, and all get to their end."""

import os
import subprocess
import unittest

from mpiexec import BUILD, THREADS, MpiexecTest

MPICC = os.path.join(BUILD, "bin", "mpicc")
RANKS = 10_000
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(void) {
  int rank, size;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long own = rank, sum = 0;
  MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (sum != (long)size * (size - 1) / 2) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Finalize();
  if (rank == size - 1) printf("%d\\n", size);
  return 0;
}
"""


def available_gibibytes():
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("MemAvailable")) / 2**20


@unittest.skipUnless(THREADS, "needs thread ranks")
@unittest.skipIf(available_gibibytes() < 5, "takes 2.5 GiB")
class Many(MpiexecTest):
    def test_over_four_nodes(self):
        program = self.path("many")
        subprocess.run([MPICC, self.path("many.c", PROGRAM), "-o", program], check=True)
        for ranks_of_host in (2500, 500):
            result = self.run_job("--as", "threads", "--ranks-per-process", ranks_of_host, "-n", RANKS, program, timeout=280,
                                  env=dict(self.environment, MEANTIME_TEST_NODES="4"))
            self.assertEqual((result.status, result.output), (0, f"{RANKS}\n"), result.error)


if __name__ == "__main__":
    unittest.main()
