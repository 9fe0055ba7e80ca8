"""Guest work by a function: what it may do in a rank's wait, and what becomes of one that does more."""

import json
import os
import re
import subprocess

from mpiexec import BUILD, CFLAGS, SOURCE, THREADS, MpiexecTest, main

COUNTS = """
#include <time.h>
unsigned long extrawork_slice_ns, extrawork_units;
static int began = 0;
static unsigned long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ul + time.tv_nsec;
}
void setup_extrawork(void) { began = extrawork_slice_ns != 0; }
void do_extrawork(void) {
  const unsigned long end = now() + extrawork_slice_ns;
  if (began) do ++extrawork_units; while (now() < end);
}
void finish_extrawork(void) { extrawork_units += 1000000000000ul; }
"""


def compiled_library(test, source, suffix="c"):
    path = test.path(f"guest-{suffix}.so")
    subprocess.run(["g++" if suffix == "cpp" else "gcc", "-O1", "-g", "-shared", "-fPIC", f"-I{SOURCE}/include",
                    test.path(f"guest.{suffix}", source), "-o", path], check=True)
    return f"func:{path}"


class GuestFunction(MpiexecTest):
    def setUp(self):
        super().setUp()
        self.program = self.compiled("guest_waits.c")

    def compiled(self, source):
        program = self.path(os.path.basename(source).removesuffix(".c"))
        mpicc = os.path.join(BUILD, "bin", "mpicc")
        subprocess.run([mpicc, "-O1", *CFLAGS, os.path.join(SOURCE, "tests", "launch", source), "-o", program], check=True)
        return program

    def library(self, source, suffix="c"):
        return compiled_library(self, source, suffix)

    def waits(self, guest, milliseconds, *options, ranks=2):
        return self.run_job("--guest", guest, *options, "-n", ranks, self.program, milliseconds)

    def ways(self):
        yield "processes"
        if THREADS:
            yield "threads"

    def test_it_has_the_waits(self):
        guest = self.library(COUNTS)
        for way in self.ways():
            with self.subTest(way):
                report = self.path(f"{way}.json")
                job = self.waits(guest, 500, "--as", way, f"--report={report}")
                self.assertEqual(job.status, 0, job)
                self.assertIn("guest work had", job.error)
                with open(report) as file:
                    told = json.load(file)
                did = told["guest_function"]
                self.assertGreater(did["units"], 1000000000000 + 10000, did)  # finish_extrawork was called
                self.assertGreater(did["seconds"], 0.2, did)
                self.assertLess(did["seconds"], 1.1, did)
                # It is no time of the ranks'.
                self.assertLess(told["core_seconds"]["computing"], 0.2, told["core_seconds"])
                job = self.waits(guest, 10, "--as", way, "-q")
                self.assertEqual((job.status, job.error), (0, ""))

    def test_ready_ones(self):
        for name in ("primes", "aes", "stream"):
            job = self.waits(f"func:{name}", 300)
            self.assertEqual(job.status, 0, job)
            units = int(re.search(r"rank 0 .* (\d+)\n", job.error)[1])
            self.assertGreater(units, 100 if name == "primes" else 10000, job)

    def test_a_deadlock_is_told(self):
        guest = self.library(COUNTS)
        source = self.path("deadlock.c", "#include <mpi.h>\nint main(int c, char** v) { int x; MPI_Init(&c, &v);\n"
                           "MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Finalize(); }\n")
        program = self.compiled(source)
        for way in self.ways():
            with self.subTest(way):
                job = self.run_job("--guest", guest, "--as", way, "-n", 2, program)
                self.assertEqual(job.status, 125, job)
                self.assertIn("MPI_Recv", job.error)
                if job.seconds > 15:
                    self.slow.append(f"{way}: a deadlock was told after {job.seconds:.1f} s")

    def test_one_that_throws_is_left_alone(self):
        guest = self.library("#include <stdexcept>\nextern \"C\" void do_extrawork() { throw std::runtime_error(\"no \\033[31m luck\"); }\n",
                             "cpp")
        for way in self.ways():
            with self.subTest(way):
                job = self.waits(guest, 300, "--as", way)
                self.assertEqual(job.status, 0, job)
                self.assertIn("the guest function threw an exception (no ?[31m luck): it is not called any more", job.error)

    def test_one_that_calls_mpi_ends_the_job(self):
        guest = self.library("int MPI_Barrier(void*);\nvoid do_extrawork(void) { MPI_Barrier((void*)257); }\n")
        job = self.waits(guest, 3000)
        self.assertEqual(job.status, 1, job)
        self.assertIn("it calls MPI (MPI_Barrier), in whose waits it is to run", job.error)
        guest = self.library("#include <dlfcn.h>\nvoid do_extrawork(void)"
                             " { ((int (*)(void*))dlsym(RTLD_DEFAULT, \"MPI_Barrier\"))((void*)257); }\n")
        for way in self.ways():
            with self.subTest(way):
                job = self.waits(guest, 3000, "--as", way)
                self.assertNotEqual(job.status, 0, job)
                self.assertIn("MPI_Barrier was called by guest work, which is in the middle of a wait", job.error)

    def test_one_that_exits_ends_the_job(self):
        guest = self.library("#include <stdlib.h>\nvoid do_extrawork(void) { exit(0); }\n")
        for way in self.ways():
            with self.subTest(way):
                job = self.waits(guest, 3000, "--as", way)
                self.assertEqual(job.status, 1, job)
                self.assertIn("the guest function called exit", job.error)

    def test_one_that_ends_the_process_is_named(self):
        guest = self.library("#include <unistd.h>\nvoid do_extrawork(void) { _exit(6); }\n")
        for way, line in zip(self.ways(), ("ended with status 6 without MPI_Finalize", "the guest function has ended the process of ")):
            with self.subTest(way):
                job = self.waits(guest, 3000, "--as", way)
                self.assertEqual(job.status, 6, job)
                self.assertIn(line, job.error)

    def test_one_that_crashes_is_named(self):
        guest = self.library("void do_extrawork(void) { *(volatile int*)0 = 0; }\n")
        for way in self.ways():
            with self.subTest(way):
                job = self.waits(guest, 3000, "--as", way)
                self.assertNotEqual(job.status, 0, job)
                self.assertIn("do_extrawork" if way == "processes" else ", in guest work", job.error)

    def test_one_that_takes_too_long_has_pauses(self):
        guest = self.library("#include <unistd.h>\nvoid do_extrawork(void) { usleep(2000); }\n")
        job = self.waits(guest, 600)
        self.assertEqual(job.status, 0, job)
        slices = int(re.search(r"rank 0 +[0-9.]+ +(\d+)", job.error)[1])
        self.assertLess(slices, 20, job)
        self.assertRegex(job.error, r"slices? took more than ten times MEANTIME_GUEST_SLICE=10")

    def test_refused(self):
        nothing = self.library("int nothing;\n")
        for guest, line in (("func:/no/such/file.so", "No such file"), ("func:/etc/no-such-file", "No such file"),
                            (f"func:{os.path.join(SOURCE, 'Makefile')}", "no library for this machine"),
                            (nothing, "it has no function do_extrawork")):
            with self.subTest(guest):
                job = self.waits(guest, 10)
                self.assertEqual(job.status, 1, job)
                self.assertIn(line, job.error)
        job = self.waits(self.library(COUNTS), 10, "--as", "processes", ranks=64)
        self.assertEqual(job.status, 1, job)
        self.assertIn("a CPU each; here 64 share", job.error)

    def test_many_thread_ranks(self):
        """Whose workers have others to run; what is done is done when they have none."""
        if not THREADS:
            self.skipTest("no thread ranks")
        job = self.waits(self.library(COUNTS), 300, "--as", "threads", ranks=64)
        self.assertEqual(job.status, 0, job)
        self.assertRegex(job.error, r"worker \d +0\.[1-9]")

    def test_short_waits_stay_short(self):
        """Work begins where waits are long: a ping-pong has none."""
        source = self.path("pingpong.c", "#include <mpi.h>\n#include <stdio.h>\nint main(int c, char** v) { int r, i, x = 0; double t; MPI_Init(&c, &v);\n"
                           "MPI_Comm_rank(MPI_COMM_WORLD, &r); t = MPI_Wtime();\n"
                           "for (i = 0; i < 20000; ++i) { if (r == 0) MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);\n"
                           "MPI_Recv(&x, 1, MPI_INT, 1 - r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
                           "if (r == 1) MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); }\n"
                           "if (r == 0) printf(\"%f\\n\", MPI_Wtime() - t); MPI_Finalize(); }\n")
        program = self.compiled(source)
        job = self.run_job("--guest", self.library(COUNTS), "-n", 2, program)
        self.assertEqual(job.status, 0, job)
        if float(job.output) > 0.2 and not CFLAGS:  # a slice each would be 0.4 s
            self.slow.append(f"20000 round trips took {job.output}")


if __name__ == "__main__":
    main()
