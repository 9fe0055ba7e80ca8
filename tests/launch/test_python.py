"""Where a Python program waits: the script's line, which only the interpreter knows."""

import ctypes
import json
import os
import sys
import unittest

from mpiexec import BUILD, CFLAGS, SOURCE, MpiexecTest, main, rank_lines

SCRIPT = os.path.join(SOURCE, "tests", "launch", "waits.py")


@unittest.skipIf(CFLAGS, "the interpreter is not instrumented")
@unittest.skipUnless(hasattr(ctypes.pythonapi, "_Py_DumpTraceback"), "this Python tells nobody where it is")
class Python(MpiexecTest):
    def setUp(self):
        super().setUp()
        self.environment["LIBRARY"] = os.path.join(BUILD, "lib", "libmpi_abi.so.1")
        with open(SCRIPT) as file:
            lines = [line.rstrip() for line in file]
        self.waits, self.barrier = (next(number for number, line in enumerate(lines, 1) if mark in line)
                                    for mark in ("# waits here", "# or here"))

    def check(self, lines):
        self.assertRegex(lines[1], rf"MPI_Recv .* called from receive \(waits.py:{self.waits}\), for ")
        self.assertRegex(lines[2], rf"MPI_Barrier .* called from <module> \(waits.py:{self.barrier}\), for ")

    def test_deadlock(self):
        for wait in ("adaptive", "event", "poll"):
            result = self.run_job("--wait", wait, "-n", 3, sys.executable, SCRIPT, "deadlock")
            self.assertEqual(result.status, 125, result)
            self.check(rank_lines(result.error))

    def test_lines_stay_when_the_job_is_ended(self):
        result = self.run_job("-n", 3, sys.executable, SCRIPT, "deadlock")
        # Without a buffer Python writes a line and its end one after the other: two ranks' may mix.
        self.assertEqual((result.status, result.output.count("begins"), result.output.count("\n")), (125, 3, 3), result)

    def test_time_limit(self):
        for limit in (2, 20):  # on a busy machine it takes the ranks a while to come so far
            result = self.run_job("--timeout", limit, "-n", 3, sys.executable, SCRIPT, "late")
            if "MPI_Recv" in result.error:
                break
        self.assertEqual(result.status, 124, result)
        self.assertRegex(rank_lines(result.error)[1], rf"called from receive \(waits.py:{self.waits}\), for \d+.\d s")

    def test_report(self):
        """By the script's line, also of the wait that nobody ends."""
        path = self.path("report.json")
        result = self.run_job(f"--report={path}", "-n", 3, sys.executable, SCRIPT, "slow")
        self.assertEqual(result.status, 0, result)
        with open(path, encoding="utf-8") as file:
            ranks = json.load(file)["ranks"]
        sites = {(site["call"], site["function"], site["source"]): site["waits"] for rank in ranks for site in rank["sites"]}
        self.assertEqual(sites["MPI_Barrier", "<module>", f"waits.py:{self.barrier}"], 1, sites)
        self.assertEqual(sites["MPI_Recv", "receive", f"waits.py:{self.waits}"], 3, sites)
        result = self.run_job("--report", "-n", 3, sys.executable, SCRIPT, "deadlock")
        self.assertEqual(result.status, 125, result)
        self.assertRegex(result.error, rf"(?m)^ +1 .*  MPI_Recv in receive \(waits.py:{self.waits}\)$")


if __name__ == "__main__":
    main()
