#!/usr/bin/env python3
"""The clocks and counters of meantime.h with thread ranks: tests/mpi/clocks and counters on one worker and on several."""

import os
import subprocess
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MEANTIME_BUILD", os.path.join(SOURCE, "build"))
BIN = os.path.join(BUILD, "bin")

UNMATCHED = """
#include <meantime.h>
int main(int c, char** v) {
  MPI_Init(&c, &v);
  MPIX_%s_processor_timer();
  MPIX_%s_processor_timer();
  MPI_Finalize();
  return 0;
}
"""

# The paper's Listing 1: both ranks of a core sleep, then meet.
LISTING_1 = """
#include <meantime.h>
#include <stdio.h>
#include <unistd.h>
int main(int c, char** v) {
  MPI_Init(&c, &v);
  MPI_Barrier(MPI_COMM_WORLD);
  MPIX_Start_processor_timer();
  const double start = MPIX_Rtime(), core = MPIX_Ptime();
  usleep(300000);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("%.3f %.3f\\n", MPIX_Rtime() - start, MPIX_Ptime() - core);
  MPIX_Stop_processor_timer();
  MPI_Finalize();
  return 0;
}
"""

# Whoever comes last to the barrier has computed so long that its worker went to another thread, and waits for nothing.
LAST_AND_SLEEPY = """
#include <meantime.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static double cpu(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}
int main(int c, char** v) {
  MPI_Init(&c, &v);
  MPIX_Rtime();
  for (double begun = cpu(), now = begun; now - begun < 0.3 && now >= begun; now = cpu());
  MPI_Barrier(MPI_COMM_WORLD);
  const double before = MPIX_Rtime();
  usleep(500000);
  const double slept = MPIX_Rtime() - before;
  if (slept < 0.499) printf("a sleep of 0.5 s took %.3f\\n", slept);
  MPI_Finalize();
  return slept < 0.499;
}
"""


class Clocks(unittest.TestCase):
    def setUp(self):
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("MEANTIME_") and name != "LD_LIBRARY_PATH"}

    def run_ranks(self, kind, ranks, *words, cpus=None):
        bind = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
        return subprocess.run([os.path.join(BIN, "mpiexec"), "--as", kind, "-n", str(ranks), *words],
                              capture_output=True, text=True, timeout=60, env=self.environment,
                              stdin=subprocess.DEVNULL, preexec_fn=bind)

    def test_on_one_worker_and_on_all(self):
        one = {min(os.sched_getaffinity(0))}
        for name in ("clocks", "counters"):
            program = os.path.join(BUILD, "tests/mpi", name)
            for ranks in (1, 2, 4, 16):
                for arguments, cpus in ((["--cores=1"], one), ([], None)):
                    result = self.run_ranks("threads", ranks, program, *arguments, cpus=cpus)
                    text = f"{name}, {ranks} ranks, {arguments}: {result.stdout}{result.stderr}"
                    self.assertEqual(result.returncode, 0, text)
                    self.assertIn(" No Errors\n", result.stdout, text)

    def test_while_ranks_move_at_every_wait(self):
        self.environment["MEANTIME_TEST_ALWAYS_MOVE"] = "1"
        for name in ("clocks", "counters"):
            for ranks in (2, 5, 16):
                result = self.run_ranks("threads", ranks, os.path.join(BUILD, "tests/mpi", name))
                self.assertIn(" No Errors\n", result.stdout, name + result.stdout + result.stderr)

    def test_unmatched_calls_end_the_job_by_default(self):
        with tempfile.TemporaryDirectory() as folder:
            for word, text in (("Start", "this rank is in a timed section already"),
                               ("Stop", "this rank is in no timed section")):
                source = os.path.join(folder, word + ".c")
                with open(source, "w") as file:
                    file.write(UNMATCHED % (word, word))
                program = os.path.join(folder, word)
                subprocess.run([os.path.join(BIN, "mpicc"), source, "-o", program], check=True)
                for kind in ("threads", "processes"):
                    result = self.run_ranks(kind, 2, program)
                    self.assertNotEqual(result.returncode, 0)
                    self.assertIn(f"MPIX_{word}_processor_timer: MPI_ERR_OTHER: {text}", result.stderr)

    def test_listing_1_with_its_sleep(self):
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "listing_1.c"), os.path.join(folder, "listing_1")
            with open(source, "w") as file:
                file.write(LISTING_1)
            subprocess.run([os.path.join(BIN, "mpicc"), source, "-o", program], check=True)
            for kind in ("processes", "threads"):
                result = self.run_ranks(kind, 2, program, cpus={min(os.sched_getaffinity(0))})
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                lines = [[float(word) for word in line.split()] for line in result.stdout.splitlines()]
                self.assertEqual(len(lines), 2, result.stdout)
                for rank, core in lines:
                    self.assertGreaterEqual(rank, 0.299, result.stdout)
                    # A process rank is a core of its own; a thread rank's has its other ranks meanwhile.
                    if kind == "processes":
                        self.assertGreaterEqual(core, 0.299, result.stdout)
                    else:
                        self.assertLess(core, 0.299, result.stdout)

    def test_a_sleep_counts_also_for_who_held_its_worker_up(self):
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "last.c"), os.path.join(folder, "last")
            with open(source, "w") as file:
                file.write(LAST_AND_SLEEPY)
            subprocess.run([os.path.join(BIN, "mpicc"), source, "-o", program], check=True)
            for kind, ranks in (("threads", 2), ("threads", 5), ("processes", 2)):
                result = self.run_ranks(kind, ranks, program, cpus={min(os.sched_getaffinity(0))})
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
