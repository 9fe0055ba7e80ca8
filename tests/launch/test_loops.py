"""Loops of Tests and the like: who looks again and again and finds nothing sleeps, for all that it looks
for, whatever it is and however many threads do so; and what comes is seen at once. By CPU time, which
other work on the machine does not add to."""

import json
import os
import re
import subprocess

from mpiexec import BUILD, CFLAGS, SOURCE, THREADS, MpiexecTest, main, rank_lines

MPICC = os.path.join(BUILD, "bin", "mpicc")
PROGRAM = os.path.join(SOURCE, "tests", "launch", "loops.c")
KINDS = ("processes", "threads") if THREADS else ("processes",)
# Of one second of looking. (It is a tenth of a second and more, up to all of a core, where only the look
# for one thing by one thread sleeps.)
MOST_CPU = 0.09
# Half of the messages are seen sooner. Who sleeps for another one sees it half a millisecond late.
LATE = 0.25e-3


class Loops(MpiexecTest):
    def program(self):
        program = self.path("looks")
        subprocess.run([MPICC, "-O2", *CFLAGS, PROGRAM, "-pthread", "-o", program], check=True)
        return program

    def looks(self, program, kind, wait, *words):
        result = self.run_job("--as", kind, "--wait", wait, "-n", 2, program, *words)
        self.assertEqual((result.status, result.error), (0, ""), result)
        figures = dict(line.split() for line in result.output.splitlines())
        which = " ".join(map(str, (kind, wait, *words)))
        # (On cores of its own an adaptive rank sleeps for an eighth of the time: policy/test_loop_test.cpp.)
        if not CFLAGS and wait == "event" and float(figures["cpu"]) > MOST_CPU:
            self.slow.append(f"{which}: {figures['cpu']} s of CPU time")
        # Who polls on a core that several others want as well is late by their turns.
        crowd = os.getloadavg()[0] > 2 * os.cpu_count()
        if not CFLAGS and not (crowd and wait == "adaptive") and float(figures["late"]) > LATE:
            self.slow.append(f"{which}: {figures['late']} s late")

    def test_one_thread_for_many_in_turn(self):
        program = self.program()
        for kind in KINDS:
            for number in (1, 2, 8, 64):
                self.looks(program, kind, "event", "turn", number)
            self.looks(program, kind, "adaptive", "turn", 8)

    def test_different_calls_and_requests_that_are_over(self):
        program = self.program()
        for kind in KINDS:
            self.looks(program, kind, "event", "mixed", 8)
            self.looks(program, kind, "event", "half", 8)

    def test_who_asks_is_named(self):
        program = self.program()
        for kind in KINDS:
            for wait in ("poll", "yield", "adaptive", "event"):
                result = self.run_job("--as", kind, "--wait", wait, "--timeout", 1, "-n", 2, program, "never")
                lines = rank_lines(result.error)
                self.assertEqual(len(lines), 2, result)
                for line in lines.values():
                    self.assertRegex(line, r"asks again and again: MPI_Test.* called from .*, for [01]\.\d s",
                                     f"{kind}, {wait}")

    def test_since_when_a_rank_asks(self):
        """However often something else had its core: since it began to ask for the same."""
        program = self.program()
        asks = "asks again and again: MPI_Test.*, for "
        for kind in KINDS:
            result = self.run_job("--as", kind, "--wait", "event", "--timeout", 3, "-n", 2, program, "breaks")
            lines = rank_lines(result.error)
            self.assertEqual(len(lines), 2, result)
            self.slow += [f"{kind}: {line}" for line in lines.values() if not re.search(f"{asks}[23]\\.\\d s", line)]
        if "threads" in KINDS:
            result = self.run_job("--as", "threads", "--timeout", 4, "-n", len(os.sched_getaffinity(0)) + 1, program, "beside")
            if not re.search(f"{asks}[34]\\.\\d s", rank_lines(result.error).get(0, "")):
                self.slow.append(f"beside others: {result.error}")

    def test_who_has_found_it_does_not_ask(self):
        program = self.program()
        result = self.run_job("--wait", "poll", "--timeout", 1, "-n", 2, program, "found")
        self.assertIn("is not waiting in MPI", result.error)
        self.assertNotIn("again and again", result.error)

    def test_for_many_messages(self):
        program = self.program()
        for kind in KINDS:
            self.looks(program, kind, "event", "probes", 100)
            # What a look costs does not grow with them.
            for number in (10000, 100000):
                self.looks(program, kind, "event", "tags", number)

    def test_several_threads(self):
        program = self.program()
        for number in (2, 4):
            self.looks(program, "processes", "event", "threads", number)
        self.looks(program, "processes", "adaptive", "threads", 2)

    def test_beside_a_thread_that_sleeps(self):
        self.looks(self.program(), "processes", "event", "sleeper", 2)

    def test_who_works_in_short_steps_is_not_held_up(self):
        program = self.program()
        for kind in KINDS:
            for wait, ranks in (("event", 2), ("adaptive", 2), ("adaptive", 8)):
                result = self.run_job("--as", kind, "--wait", wait, "-n", ranks, program, "steps")
                self.assertEqual((result.status, result.error), (0, ""), result)
                slower = float(result.output.split()[1])
                if slower > 10:  # it was 45 times, and 10 000
                    self.slow.append(f"{kind} {wait} {ranks} ranks: {slower} times as long")

    def test_who_computes_in_between_does_not_sleep(self):
        program, path = self.program(), self.path("report.json")
        for number in (1, 8, 64):
            result = self.run_job("--wait", "event", f"--report={path}", "-n", 2, program, "computes",
                                  number)
            self.assertEqual((result.status, result.output), (0, ""), result)
            with open(path) as file:
                self.assertLess(json.load(file)["ranks"][0]["sleeps"], 5, number)


if __name__ == "__main__":
    main()
