"""Thread ranks: what a worker does while its ranks wait is what these ranks, their communicators and their
energy handlers say, and not what the job was started with. By CPU time: one that polls takes a core, or
what other work on the machine leaves of it."""

import json
import os
import subprocess
import unittest

from mpiexec import BUILD, CFLAGS, SOURCE, THREADS, MpiexecTest, main

MPICC = os.path.join(BUILD, "bin", "mpicc")
PROGRAM = os.path.join(SOURCE, "tests", "launch", "idle.c")
# In 0.9 s.
ASLEEP = 0.03
AWAKE = 0.05


@unittest.skipUnless(THREADS, "without thread ranks")
class Idle(MpiexecTest):
    def program(self):
        program = self.path("idle")
        subprocess.run([MPICC, *CFLAGS, PROGRAM, "-o", program], check=True)
        return program

    def cpu(self, program, wait, *words, options=()):
        result = self.run_job("--as", "threads", "--wait", wait, *options, "-n", 4, program, *words)
        self.assertEqual((result.status, result.error), (0, ""), result)
        return float(result.output)

    def asleep(self, *words, **options):
        if (cpu := self.cpu(self.program(), *words, **options)) > ASLEEP:
            self.slow.append(f"{words}: {cpu} s of CPU time")

    def awake(self, *words):
        if (cpu := self.cpu(self.program(), *words)) < AWAKE:
            self.slow.append(f"{words}: only {cpu} s of CPU time")

    def test_ranks_that_sleep_in_a_job_that_polls(self):
        self.asleep("poll", "set", "event")
        self.asleep("yield", "set", "event")
        self.asleep("poll", "comm", "event")

    def test_ranks_that_poll_in_a_job_that_sleeps(self):
        self.awake("event", "comm", "poll")
        self.awake("event", "one", "poll")

    def test_energy(self):
        self.asleep("poll", "none", options=("-x", "MEANTIME_ENERGY=powersave"))
        self.asleep("poll", "handler", "event")
        self.awake("event", "handler", "poll")

    def test_ranks_that_sleep_often_and_shortly_outside_of_mpi(self):
        """Their workers look out for them for an eighth of the time."""
        program, path = self.program(), self.path("report.json")
        for ranks in (1, 4):
            result = self.run_job("--as", "threads", f"--report={path}", "-n", ranks, program, "naps")
            self.assertEqual((result.status, result.error), (0, ""), result)
            with open(path) as file:
                workers = json.load(file)["per_worker"]
            for worker in workers:
                spent = worker["spent"]
                if spent["poll"] + spent["yield"] > 0.25 * worker["wall"]:
                    self.slow.append(f"{ranks} ranks: {worker}")

    def test_as_started(self):
        self.asleep("event", "none")
        self.awake("poll", "none")


if __name__ == "__main__":
    main()
