"""Ranks that wait and are stopped, moved, throttled or traced meanwhile: slower, but never stuck and
never wrong. The program (tests/mpi/wait_random) checks what it receives."""

import os
import re
import subprocess
import unittest

from disturb import Moved, Quota, QuotaRefused, Stopped, Traced
from mpiexec import BUILD, THREADS, MpiexecTest, main

PROGRAM = os.path.join(BUILD, "tests", "mpi", "wait_random")
WAYS = [(kind, wait) for kind in ("processes", "threads")[:1 + THREADS]
        for wait in ("adaptive", "predicted")]


class Disturbed(MpiexecTest):
    def setUp(self):
        super().setUp()
        # LeakSanitizer hangs where an exiting process is stopped or traced.
        self.environment["ASAN_OPTIONS"] += ":detect_leaks=0"

    def disturb(self, disturbance, rounds, ways=WAYS):
        for kind, wait in ways:
            with self.subTest(kind=kind, wait=wait):
                job = self.start("-n", 3, "--as", kind, "--wait", wait, PROGRAM, "--ask=1",
                                 f"--rounds={rounds}", "--delay=300", stdin=subprocess.PIPE)
                ranks = (self.ranks_of(1, "meantime-host") if kind == "threads"
                         else self.ranks_of(3, "wait_random"))
                try:
                    with disturbance(ranks) as disturbed:
                        self.wait_for(lambda: disturbed.steps > 0, "the first disturbance", 100)
                        output, error = job.communicate(b"\n", timeout=150)
                except QuotaRefused as refused:
                    job.kill()
                    job.communicate()
                    self.skipTest(str(refused))
                except BaseException:
                    job.kill()
                    job.communicate()
                    raise
                # Who is stopped on his way out of the kernel may look as if he slept there, and the
                # other thread ranks of his core are taken from him: a line that is true.
                error = re.sub(rb"Meantime: rank \d+ sleeps in the kernel .* \(said once\)\n", b"", error)
                self.assertEqual((job.returncode, error), (0, b""), output)

    def test_stopped_and_continued(self):
        self.disturb(lambda pids: Stopped(pids, seed=1), 1500)

    def test_moved_to_other_cpus(self):
        self.disturb(lambda pids: Moved(pids, seed=2, pause=0.01), 1500)

    @unittest.skipUnless(Quota.root(), "no control group can be made here")
    def test_a_tenth_of_a_cpu(self):
        self.disturb(lambda pids: Quota(pids, percent=10), 100)

    def test_traced(self):
        if not Traced.possible():
            self.skipTest("no gdb, or it may not trace")
        self.disturb(lambda pids: Traced(pids, seed=3), 1500, WAYS[1:3])


if __name__ == "__main__":
    main()
