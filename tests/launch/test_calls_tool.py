"""The example tool by the profiling interface (examples/calls.c): built as its head says, put in front of a program."""

import os
import re
import subprocess
import unittest

from mpiexec import BUILD, CFLAGS, SOURCE, THREADS, MpiexecTest, main

MPICC = os.path.join(BUILD, "bin", "mpicc")
TOOL = os.path.join(SOURCE, "examples", "calls.c")
ORACLE = os.path.join(SOURCE, "build", "oracle")

# Rank 0 waits in a barrier for the others, which compute.
PROGRAM = """
#include <mpi.h>
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (double begun = MPI_Wtime(); rank != 0 && MPI_Wtime() - begun < 0.2;) continue;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""


class CallsTool(MpiexecTest):
    def build(self, name, *words):
        source = self.path("program.c")
        with open(source, "w") as file:
            file.write(PROGRAM)
        result = self.path(name)
        subprocess.run([MPICC, "-O2", "-Wall", "-Wextra", "-Werror", *CFLAGS, *words, "-o", result], check=True)
        return result

    def times(self, output, calls):
        """Of all ranks in MPI_Barrier: clock, rank, core."""
        found = re.findall(r"^ +(\d+) +([\d.]+) +([\d.]+) +([\d.]+)  MPI_Barrier$", output, re.MULTILINE)
        self.assertEqual(len(found), 1, output)
        self.assertEqual(int(found[0][0]), calls, output)
        return [float(number) for number in found[0][1:]]

    @unittest.skipIf(CFLAGS, "a sanitizer's runtime wants to be loaded first")
    def test_before_a_program_of_process_ranks(self):
        program = self.build("program", self.path("program.c"))
        tool = self.build("libcalls.so", "-shared", "-fPIC", TOOL)
        result = self.run_job("-genv", "LD_PRELOAD", tool, "-n", 2, program)
        self.assertEqual((result.status, result.error), (0, ""), result)
        clock, rank, core = self.times(result.output, 2)
        self.assertGreater(clock, 0.15)
        self.assertLess(rank, clock / 2)
        self.assertAlmostEqual(core, rank, delta=0.01)

    @unittest.skipUnless(THREADS, "no thread ranks here")
    def test_linked_into_a_program_of_thread_ranks(self):
        program = self.build("program", self.path("program.c"), TOOL)
        cpu = min(os.sched_getaffinity(0))
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {cpu})
        try:
            result = self.run_job("--as", "threads", "-n", 2, program)
        finally:
            os.sched_setaffinity(0, before)
        self.assertEqual((result.status, result.error), (0, ""), result)
        clock, rank, core = self.times(result.output, 2)
        # Its core had the other rank to run while rank 0 waited.
        self.assertGreater(clock, 0.15)
        self.assertLess(rank, 0.05)
        self.assertGreater(core, 2 * rank)

    @unittest.skipUnless(os.path.exists(os.path.join(ORACLE, "bin", "mpiexec")), "no other library of the standard ABI")
    def test_with_another_library(self):
        program = self.build("program", self.path("program.c"), TOOL)
        result = subprocess.run([os.path.join(ORACLE, "bin", "mpiexec"), "-n", "2", program], capture_output=True, text=True,
                                timeout=60, stdin=subprocess.DEVNULL,
                                env={**os.environ, "LD_LIBRARY_PATH": os.path.join(ORACLE, "lib")})
        self.assertEqual(result.returncode, 0, result.stderr)
        clock, rank, core = self.times(result.stdout, 2)
        self.assertGreater(clock, 0.15)
        self.assertAlmostEqual(rank, clock, delta=0.01)
        self.assertAlmostEqual(core, clock, delta=0.01)


if __name__ == "__main__":
    main()
