"""A bound on what guests cost (--max-overhead): the job is compared with itself without them."""

import json
import os
import re
import subprocess

from mpiexec import BUILD, CFLAGS, SOURCE, MpiexecTest, main
from test_guest_function import COUNTS, compiled_library
from test_steal import MEANTIME, PLAIN, implementations

ROUNDS = os.path.join(SOURCE, "tests", "launch", "guest_rounds.c")
COST = r"cost: -?\d+\.\d % of the run time \(-?\d+\.\d to -?\d+\.\d\), by (\d+) trials; without guests for (\d+\.\d) s"


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
            trials, without = re.search(COST, job.error).groups()
            self.assertGreaterEqual(int(trials), 12, job.error)
            self.assertLess(float(without), 2.4, job.error)
            with open(report) as file:
                cost = json.load(file)["guest_cost"]
            self.assertEqual(cost["trials"], int(trials))
            self.assertLessEqual(cost["least"], cost["median"])
            self.assertLessEqual(cost["median"], cost["most"])

    def test_short_jobs_and_stops(self):
        program = self.program()
        job = self.run_job("--guest", "primes", "--max-overhead", 1, "-n", 2, program, 1, 1)
        self.assertEqual(job.status, 0, job)
        self.assertIn("cost: not known, too few trials", job.error)

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
                self.assertGreaterEqual(int(re.search(COST, job.stderr)[1]), 5, job.stderr)

    def test_refused(self):
        for value in ("0", "1000", "much", "-1"):
            for words in (("--max-overhead", value, "-n", 1, "true"),):
                job = self.run_job(*words)
                self.assertEqual(job.status, 2, job)
                self.assertIn("max-overhead", job.error)
            job = subprocess.run([MEANTIME, "steal", "--guest", "primes", f"--max-overhead={value}", "--", "true"],
                                 env=self.environment, text=True, capture_output=True, timeout=100, check=False)
            self.assertEqual(job.returncode, 2, job)


if __name__ == "__main__":
    main()
