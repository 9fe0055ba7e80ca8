"""Accounts and clocks of ranks whose CPUs other programs want, too: what the others had is nobody's
time. What is compared comes from witnesses that know nothing of each other: the job's own clocks, the
kernel's accounts of threads (CPU time, ready to run) and of processes (getrusage), and the CPU time that
the ranks saw themselves. No figure is judged by the wall's clock alone."""

import json
import os
import resource
import subprocess
import unittest

from disturb import Crowded
from mpiexec import BUILD, CFLAGS, SOURCE, THREADS, MpiexecTest, main

PROGRAM = os.path.join(SOURCE, "tests", "launch", "beside.c")
KINDS = ("processes", "threads")[:1 + THREADS]


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Beside(MpiexecTest):
    def setUp(self):
        super().setUp()
        self.cpus = sorted(os.sched_getaffinity(0))[:2]
        self.program = self.path("beside")
        subprocess.run([os.path.join(BUILD, "bin", "mpicc"), "-O1", *CFLAGS, PROGRAM, "-o", self.program], check=True)

    def crowded_job(self, kind, wait, ranks, *words, cpus=None):
        """(computed, by MPIX_Rtime, wall, report, CPU time of mpiexec and all below it)"""
        path = self.path("report.json")
        cpus = cpus or self.cpus
        before = cpu_of_children()
        job = self.start(f"--report={path}", "--as", kind, "--wait", wait, "-n", ranks, self.program, *words,
                         preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        with Crowded(cpus):
            output, error = job.communicate(timeout=200)
            used = cpu_of_children() - before  # the others have not been waited for
        self.assertEqual((job.returncode, error), (0, b""))
        with open(path) as file:
            return (*map(float, output.split()), json.load(file), used)

    def assert_about(self, value, wanted, share, seconds, text):
        self.assertLessEqual(abs(value - wanted), share * wanted + seconds, f"{text}: {value} {wanted}")

    def test_accounts(self):
        for kind in KINDS:
            # As many ranks as CPUs: one process rank more would be another guest.
            for wait, ranks in (("poll", len(self.cpus)), ("yield", len(self.cpus)), ("event", len(self.cpus)),
                                *((("poll", 5), ("adaptive", 5)) if kind == "threads" else ())):
                with self.subTest(kind=kind, wait=wait, ranks=ranks):
                    computed, _, _, report, used = self.crowded_job(kind, wait, ranks)
                    self.check_workers(report, kind)
                    self.check_ranks(report, computed)
                    self.check_core_seconds(report, wait, computed, used)

    def check_workers(self, report, kind):
        self.assertEqual(len(report["per_worker"]), len(self.cpus))
        self.assertEqual(sorted(rank for worker in report["per_worker"] for rank in worker["ranks"]),
                         list(range(report["ranks_count"])))
        for worker in report["per_worker"]:
            text = str(worker)
            self.assertEqual((worker["ended"], worker["worker"] is None), (True, kind == "processes"), text)
            # By its own clock, one activity after the other, that was its life ...
            self.assertAlmostEqual(sum(worker["spent"].values()), worker["wall"], places=3, msg=text)
            # ... by the kernel it had the CPU for a part of the time in which it was awake, and was ready
            # to run in the rest of it.
            awake = worker["wall"] - worker["spent"]["sleep"]
            self.assertLessEqual(worker["cpu"], 1.05 * awake + 0.02, text)
            self.assertGreaterEqual(worker["cpu"] + worker["preempted"], 0.9 * awake - 0.02, text)
            self.assertLessEqual(worker["cpu"] + worker["preempted"], 1.05 * worker["wall"] + 0.02, text)
            # Others had the core, and it was noticed.
            self.assertGreater(worker["preempted"], 0.2 * awake, text)
            self.assertLessEqual(worker["held_up"], 1.05 * worker["preempted"] + 0.02, text)
        # The kernel's account of the processes has what is not the workers': the start, mpiexec's eyes.
        cpu = sum(worker["cpu"] for worker in report["per_worker"])
        self.assertLessEqual(cpu, report["cpu"] + 0.01)
        self.assertGreaterEqual(cpu, 0.8 * report["cpu"] - 0.2)

    def check_ranks(self, report, computed):
        workers = report["per_worker"]
        ranks = report["ranks"]
        cpu = sum(rank["cpu"] for rank in ranks)
        self.assertLessEqual(cpu, sum(worker["cpu"] for worker in workers) + 0.01, report)
        self.assertGreaterEqual(cpu, 0.95 * computed - 0.01, report)
        self.assertGreater(sum(rank["preempted"] for rank in ranks), 0)
        for rank in ranks:
            self.assertEqual(rank["prorated"], workers[0]["worker"] is not None)

    def check_core_seconds(self, report, wait, computed, used):
        parts = report["core_seconds"]
        self.assertLessEqual(report["cpu"], used + 0.01)
        self.assertAlmostEqual(parts["allocated"], sum(parts[name] for name in (
            "computing", "waiting_awake", "waiting_asleep", "unused")), places=6)
        self.assertAlmostEqual(parts["preempted"], sum(worker["preempted"] for worker in report["per_worker"]), places=5)
        # What the ranks know that they computed, the start of the job, and nothing of the waits.
        # Of ranks that poll in turn on one worker one turn in 64 is timed, with the look at the clock in it, and without
        # the switch to the next: about the same, and a large part of so short a turn.
        timed_in_turn = wait == "poll" and report["ranks_count"] > report["workers"]
        self.assertGreaterEqual(parts["computing"], (0.75 if timed_in_turn else 0.95) * computed - 0.01, report)
        self.assertLessEqual(parts["computing"], 1.15 * computed + 0.3, report)
        if wait == "poll":
            self.assertGreater(parts["waiting_awake"], 0.1 * computed, report)

    @unittest.skipUnless(THREADS, "this build has no thread ranks")
    def test_ranks_that_were_elsewhere(self):
        """Two that compute for long share a core; one of them ends up beside its worker, and what it needed
        there is its own."""
        computed, ran, _, report, _ = self.crowded_job("threads", "adaptive", 2, 0.6, 1, "together",
                                                       cpus=self.cpus[:1])
        ranks = report["ranks"]
        self.assertGreater(max(rank["elsewhere"] for rank in ranks), 0.1, ranks)
        for rank in ranks:
            self.assert_about(rank["cpu"], 0.6, 0.15, 0.05, "a rank's CPU time")
            self.assertLessEqual(rank["elsewhere"], rank["wall"])
        self.assert_about(ran, computed, 0.05, 0.002, "MPIX_Rtime and CPU time")
        [worker] = report["per_worker"]
        self.assertLess(worker["cpu"], 0.95 * report["cpu"])

    def test_clock_of_a_rank(self):
        """MPIX_Rtime does not count what others had: two ranks on a core that is shared, and one alone."""
        for kind in KINDS:
            for ranks, piece, rounds in ((2, 0.004, 100), (3, 0.0005, 600), (1, 0.4, 1)):
                with self.subTest(kind=kind, ranks=ranks):
                    computed, ran, wall, _, _ = self.crowded_job(kind, "adaptive", ranks, piece, rounds,
                                                                cpus=self.cpus[:1])
                    self.assertGreater(wall, 1.3 * computed)
                    # The rest of the MPI calls between short pieces runs, too.
                    self.assert_about(ran, computed, 0.1, 0.002, "MPIX_Rtime and CPU time")


if __name__ == "__main__":
    main()
