"""MEANTIME_ENERGY=countdown of thread ranks: the CPU of a worker that has nothing to run is lowered."""

import os
import subprocess
import unittest

from machine import CFLAGS, CPUS, MPICC, NORMAL, MachineTest
from mpiexec import THREADS, main


@unittest.skipUnless(THREADS, "built without thread ranks")
class MachineOfThreads(MachineTest):
    """Two workers, on the first two CPUs: mpiexec may use no others, so each worker has one."""

    # On a busy machine an idle worker may get a rank that its own worker has not come to yet.
    kind = ("--as", "threads", "--balance", "none")

    def start(self, *words, **options):
        options.setdefault("preexec_fn", lambda: os.sched_setaffinity(0, CPUS[:2]))
        return super().start(*words, **options)

    def wait_for_lowered(self, *cpus):
        self.wait_for(lambda: self.lowered() == list(cpus), f"the lower frequency of CPU {cpus} alone")

    def finish(self, job):
        self.assertEqual(self.end(job, 0), ("done\n", ""))
        self.assertEqual(self.values(), [NORMAL] * len(CPUS))

    def test_lowered_while_a_worker_idles(self):
        for wait in ("event", "poll", "adaptive", "predicted", "yield"):
            with self.subTest(wait):
                job = self.start_job(MEANTIME_WAIT=wait, MEANTIME_COUNTDOWN="2000")
                self.wait_for_lowered(CPUS[0])  # rank 1 does not wait in MPI
                self.let_go(job)
                self.wait_for_lowered(CPUS[0])
                self.finish(job)

    def test_restored_before_a_rank_runs(self):
        fifo = self.use_once()
        job = self.start_job()
        self.wait_for_lowered(CPUS[0])
        self.let_go(job)
        self.assertEqual(job.stdout.readline(), b"met\n")
        self.wait_for(lambda: self.value(CPUS[0]) == NORMAL, "the normal frequency")
        with open(fifo, "w") as file:
            file.write("go\n")
        self.end(job, 0)
        self.assertEqual(self.values(), [NORMAL] * len(CPUS))

    def test_several_ranks_of_a_worker(self):
        # Ranks 0 and 1 begin on one worker: one of them is not in MPI.
        job = self.start_job(options=("-n", 4, "-stdin", 1))
        self.wait_for_lowered(CPUS[1])
        self.let_go(job)
        self.wait_for_lowered(CPUS[1])
        self.finish(job)

    def test_several_processes_of_thread_ranks(self):
        # The second one's only worker is the node's second.
        job = self.start_job("first", options=("-n", 2, "-stdin", 0, "--ranks-per-process", 1))
        self.wait_for_lowered(CPUS[1])
        self.finish(job)

    def test_timers(self):
        job = self.start_job(MEANTIME_TIMEOUT="20000")
        self.wait_for_lowered(CPUS[0])
        self.finish(job)

    def test_a_rank_that_was_handed_over_is_not_slowed(self):
        end = self.path("end")
        self.build("""
            #include <mpi.h>
            #include <stdio.h>
            #include <unistd.h>
            int main(void) {
              int rank, x = 0;
              MPI_Init(0, 0);
              MPI_Comm_rank(MPI_COMM_WORLD, &rank);
              MPI_Barrier(MPI_COMM_WORLD);
              if (rank == 0) {
                MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
                while (access(END, F_OK)) {}
              }
              if (rank == 1) {
                MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                puts("beside it");
                fflush(stdout);
              }
              MPI_Barrier(MPI_COMM_WORLD);
              MPI_Finalize();
            }""", END=end)
        # Ranks 0 and 1 have the first worker, rank 2 the second one.
        job = self.start_job(options=("-n", 3, "--balance", "none"))
        self.assertEqual(job.stdout.readline(), b"beside it\n")  # so the worker was handed on
        looks = []

        def stays():
            # If it were wrong that CPU would be low for good, but perhaps not yet.
            looks.append(self.lowered() == [CPUS[1]])
            return len(looks) >= 20 and all(looks[-20:])

        self.wait_for(stays, f"CPU {CPUS[1]} to be the only slow one for a while")
        open(end, "w").close()
        self.end(job, 0)
        self.assertEqual(self.values(), [NORMAL] * len(CPUS))

    def build(self, text, **names):
        source = self.path("other.c", text)
        defined = [f'-D{name}="{value}"' for name, value in names.items()]
        subprocess.run([MPICC, *CFLAGS, *defined, source, "-o", self.path("other")], check=True)
        self.program = self.path("other")

    def test_deadlocks_are_found(self):
        self.build("""
            #include <mpi.h>
            int main(void) {
              int x;
              MPI_Init(0, 0);
              MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
              MPI_Finalize();
            }""")
        self.assertIn("wait", self.end(self.start_job(), 125)[1])
        self.assertEqual(self.values(), [NORMAL] * len(CPUS))

    def test_many_short_idle_times(self):
        self.build("""
            #include <mpi.h>
            #include <stdio.h>
            int main(void) {
              int rank, size, x = 0, y;
              MPI_Init(0, 0);
              MPI_Comm_rank(MPI_COMM_WORLD, &rank);
              MPI_Comm_size(MPI_COMM_WORLD, &size);
              for (int i = 0; i < 500; ++i) {
                MPI_Sendrecv(&x, 1, MPI_INT, (rank + 1) % size, 0, &y, 1, MPI_INT, (rank + size - 1) % size, 0,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (i % 10 == 0) MPI_Barrier(MPI_COMM_WORLD);
              }
              MPI_Finalize();
              if (rank == 0) puts("done");
            }""")
        for words in (("-n", 2), ("-n", 5), ("-n", 4, "--ranks-per-process", 2)):
            for move in ("0", "1"):
                with self.subTest(words, move=move):
                    self.finish(self.start_job(options=words, MEANTIME_COUNTDOWN="1",
                                               MEANTIME_TEST_ALWAYS_MOVE=move))

    def test_undone_however_the_job_ends(self):
        self.see_it_undone_however_the_job_ends()

    def test_stopped_jobs_slow_nobody(self):
        self.assertEqual(self.see_that_stopped_jobs_slow_nobody(), ("done\n", ""))

    def test_what_cannot_be_done_is_said(self):
        self.assertIn("frequencies stay as they are: 1 worker of thread ranks runs on any of 2 CPUs",
                      self.job_says("--as", "threads", "-n", 1, self.program, program="first"))
        self.assertIn("frequencies stay as they are: 3 workers of thread ranks share 2 CPUs",
                      self.job_says("--as", "threads", "--ranks-per-process", 1, "-n", 3,
                                    program=self.program))
        self.assertIn("frequencies stay as they are: this job has process ranks beside its thread ranks",
                      self.job_says("-n", 1, "--as", "threads", self.program, ":", "-n", 1, "--as",
                                    "processes", program=self.program))

    def test_without_countdown_nothing_is_lowered(self):
        job = self.start_job(MEANTIME_ENERGY="none", MEANTIME_FREQUENCY="none")
        self.finish(job)


if __name__ == "__main__":
    main()
