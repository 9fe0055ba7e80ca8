"""A bound on what guests cost (--max-overhead): the job is compared with itself without them."""

import json
import os
import re
import signal
import subprocess
import time

from mpiexec import BUILD, CFLAGS, SOURCE, MpiexecTest, main
from test_guest_function import COUNTS, compiled_library
from test_steal import MEANTIME, PLAIN, implementations

ROUNDS = os.path.join(SOURCE, "tests", "launch", "guest_rounds.c")
COST = r"cost: -?\d+\.\d % of the run time \(-?\d+\.\d to -?\d+\.\d\); (\d+) trials, without guests for (\d+\.\d) s"


class GuestBound(MpiexecTest):
    def program(self, compiler=os.path.join(BUILD, "bin", "mpicc"), flags=tuple(CFLAGS)):
        program = self.path(f"rounds-{os.path.basename(compiler)}")
        subprocess.run([compiler, "-O1", *flags, ROUNDS, "-o", program], check=True, stderr=subprocess.DEVNULL)
        return program

    def guests(self):
        return "primes", compiled_library(self, COUNTS)

    def test_what_it_found(self):
        program = self.program()
        for guest in self.guests():
            report = self.path("report.json")
            job = self.run_job("--guest", guest, "--max-overhead", "20%", f"--report={report}", "-n", 2, program, 8000, 300)
            self.assertEqual(job.status, 0, job)
            # Beside other programs it may not come to know.
            trials, known = int(re.search(r"; (\d+) trials", job.error)[1]), re.search(COST, job.error)
            self.assertGreaterEqual(trials, 5, job.error)
            with open(report) as file:
                cost = json.load(file)["guest_cost"]
            self.assertEqual((cost["trials"], cost["median"] is not None), (trials, known is not None), job.error)
            if known:
                self.assertLessEqual(cost["least"], cost["median"])
                self.assertLessEqual(cost["median"], cost["most"])

    def test_dear_ones_are_stopped(self):
        """Each answer is late by half a call of 90 us."""
        guest = compiled_library(self, "#include <time.h>\nvoid do_extrawork(void) { struct timespec t, n; clock_gettime(CLOCK_MONOTONIC, &t);\n"
                                 "do clock_gettime(CLOCK_MONOTONIC, &n); while ((n.tv_sec - t.tv_sec) * 1000000000L + n.tv_nsec - t.tv_nsec < 90000); }\n")
        job = self.run_job("--guest", guest, "--max-overhead", 2, "-n", 2, self.program(), 12000, 250, "answer")
        self.assertEqual(job.status, 0, job)
        least = re.search(r"run time \((-?\d+\.\d) to", job.error)
        if not PLAIN and least and float(least[1]) <= 2:
            self.skipTest("slow as it is with sanitizers, it could not be sure")
        self.assertRegex(job.error, r"stopped [1-9]\d* times? for more than --max-overhead")
        self.assertGreater(float(re.search(r"without guests for (\S+) s", job.error)[1]), 1.5, job.error)

    def test_stopped_and_continued(self):
        job = self.start("--guest", "primes", "--max-overhead", 5, "-n", 2, self.program(), 10000, 300)
        for _ in range(4):
            time.sleep(0.3)
            job.send_signal(signal.SIGTSTP)
            time.sleep(0.2)
            job.send_signal(signal.SIGCONT)
        _, said = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0, said)
        self.assertIn("cost: ", said.decode())

    def test_short_jobs(self):
        program = self.program()
        job = self.run_job("--guest", "primes", "--max-overhead", 1, "-n", 2, program, 1, 1)
        self.assertEqual(job.status, 0, job)
        self.assertIn("cost: not known, for which 6 trials in a row are needed; ", job.error)

    def test_beside_another_mpi(self):
        if not PLAIN:
            self.skipTest("sanitizers")
        self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        for name, compiler, launcher in implementations():
            if name == "Meantime":
                continue
            program = self.program(compiler, ())
            for guest in self.guests():
                job = subprocess.run([MEANTIME, "steal", "--guest", guest, "--max-overhead", "20%", "--steal", "all", "--", launcher,
                                      "-n", "2", program, "8000", "300"], env=self.environment, text=True,
                                     capture_output=True, timeout=100, check=False)
                self.assertEqual(job.returncode, 0, job)
                self.assertGreaterEqual(int(re.search(r"cost: .*; (\d+) trials", job.stderr)[1]), 5, job.stderr)

    def test_refused(self):
        for value in ("0", "1000", "much", "-1"):
            for words in (("--max-overhead", value, "-n", 1, "true"),):
                job = self.run_job(*words)
                self.assertEqual(job.status, 2, job)
                self.assertIn("max-overhead", job.error)
            job = subprocess.run([MEANTIME, "steal", "--guest", "primes", f"--max-overhead={value}", "--", "true"],
                                 env=self.environment, text=True, capture_output=True, timeout=100, check=False)
            self.assertEqual(job.returncode, 1, job)


if __name__ == "__main__":
    main()
