#!/usr/bin/env python3
"""mpiexec --as threads: what a process has, its ranks have each for itself: descriptors, streams,
children. The same programs run as processes first, so that what they want is what a process does."""

import os
import subprocess
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MEANTIME_BUILD", os.path.join(SOURCE, "build"))
HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.join(BUILD, "bin")
KINDS = ("processes", "threads")


class ProcessState(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = tempfile.TemporaryDirectory()
        cls.environment = {name: value for name, value in os.environ.items()
                           if not name.startswith("MEANTIME_") and name != "LD_LIBRARY_PATH"}

    @classmethod
    def tearDownClass(cls):
        cls.programs.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def build(self, source, *flags):
        wrapper = {"c": "mpicc", "cpp": "mpicxx", "f90": "mpifort"}[source.rsplit(".", 1)[1]]
        program = os.path.join(self.programs.name, source.replace(".", "_"))
        if not os.path.exists(program):
            done = subprocess.run([os.path.join(BIN, wrapper), "-O2", os.path.join(HERE, source), *flags,
                                   "-o", program], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def run_ranks(self, kind, ranks, *words, options=(), **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("cwd", self.folder)
        result = subprocess.run([os.path.join(BIN, "mpiexec"), "--as", kind, *options, "-n", str(ranks),
                                 *words], capture_output=True, text=True, errors="replace", timeout=100,
                                env=self.environment, **more)
        self.text = f"{kind} {ranks}: status {result.returncode}\n{result.stdout}\n{result.stderr}"
        return result

    def assert_right(self, result):
        self.assertEqual(result.returncode, 0, self.text)
        self.assertRegex(result.stdout, r"(?m)^ No Errors$", self.text)

    def test_descriptors(self):
        program = self.build("descriptors.c")
        inherited = os.path.join(self.folder, "inherited")
        for kind in KINDS:
            for ranks in (1, 2, 3, 16):
                words = ["x", "processes"] if kind == "processes" else ["x"]
                file = os.open(inherited, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
                try:
                    self.assert_right(self.run_ranks(
                        kind, ranks, program, *words, pass_fds=(5,),
                        preexec_fn=lambda: os.dup2(file, 5)))
                finally:
                    os.close(file)
                with open(inherited) as text:
                    expected = [f"rank {rank}" for rank in range(ranks)] + \
                               [f"rank {rank}" for rank in range(1, ranks, 2)]
                    self.assertEqual(sorted(text.read().splitlines()), sorted(expected), self.text)

    def test_children(self):
        program = self.build("children.c", "-pthread")
        for kind in KINDS:
            for ranks in (1, 2, 7):
                self.assert_right(self.run_ranks(kind, ranks, program))

    def test_output_of_children(self):
        program = self.build("children.c", "-pthread")
        for kind in KINDS:
            result = self.run_ranks(kind, 3, program, "says", options=["-l"])
            self.assertEqual(result.returncode, 0, self.text)
            for rank in range(3):
                self.assertEqual([line for line in result.stdout.splitlines()
                                  if line.startswith(f"[{rank}] ")],
                                 [f"[{rank}] {text}" for text in
                                  (f"printf {rank}", "system", f"popen {rank}", "spawn")], self.text)
            self.assertEqual(sorted(result.stderr.splitlines()),
                             [f"[{rank}] error" for rank in range(3)], self.text)

    def test_open_at_exit(self):
        program = self.build("open_at_exit.c")
        for kind in KINDS:
            result = self.run_ranks(kind, 6, program, options=["-l"])
            self.assertEqual(result.returncode, 0, self.text)
            self.assertEqual(sorted(result.stdout.splitlines()),
                             [f"[{rank}] unflushed {rank}" for rank in (0, 1, 2, 4)] + ["[5] unflushed 5, quick"],
                             self.text)
            for rank in range(6):
                with open(os.path.join(self.folder, f"open.{rank}")) as file:
                    self.assertEqual(file.read(), {0: "rank 0\n2 bytes\n", 3: ""}.get(rank, f"rank {rank}\n"))

    def test_messages(self):
        """err, warn, error, perror, psignal, assert."""
        program = self.build("messages.c", "-w")
        name = os.path.basename(program)

        def lines(rank):
            last = {0: f"{name}: err {rank}: No such file or directory", 1: f"{name}: errx {rank}",
                    2: f"{program}: last"}
            return [f"{name}: warn {rank}: No such file or directory", f"{name}: warnx {rank}",
                    "perror: Permission denied", "psignal: Interrupt",
                    f"{program}: error {rank}: No such file or directory", f"{program}:file:7: line",
                    last[rank % 3]]

        for kind in KINDS:
            result = self.run_ranks(kind, 4, program, options=["-l"])
            self.assertEqual(result.returncode, 0, self.text)
            self.assertEqual(sorted(result.stderr.splitlines()),
                             sorted(f"[{rank}] {line}" for rank in range(4) for line in lines(rank)))
            result = self.run_ranks(kind, 4, program, "files")
            self.assertEqual((result.returncode, result.stderr), (0, ""), self.text)
            for rank in range(4):
                with open(os.path.join(self.folder, f"errors.{rank}")) as file:
                    self.assertEqual(file.read().splitlines(), lines(rank))
            result = self.run_ranks(kind, 3, program, "assert", options=["-l"])
            self.assertEqual(result.returncode, 134, self.text)
            self.assertRegex(result.stderr, r"(?m)^\[1\] " + name +
                             r": .*messages.c:\d+: main: Assertion `rank == 7' failed\.$", self.text)

    def test_threads_of_a_rank(self):
        program = self.build("rank_threads.c", "-pthread")
        for kind in KINDS:
            for ranks in (1, 2, 7):
                result = self.run_ranks(kind, ranks, program)
                self.assert_right(result)
                self.assertEqual(sorted(line for line in result.stdout.splitlines() if "step" in line),
                                 sorted(f"thread of {rank} in step {step}" for rank in range(ranks)
                                        for step in range(3)), self.text)

    def test_threads_that_end_their_rank(self):
        program = self.build("rank_threads.c", "-pthread")
        for kind in KINDS:
            for way, more, status in (("exit", "handler of {}", 0), ("_exit", None, 0), ("status", None, 7)):
                result = self.run_ranks(kind, 6, program, way, options=["-l"])
                self.assertEqual(result.returncode, status, self.text)
                expected = [f"[{rank}] rank {rank}" for rank in (0, 2, 4)]
                expected += [f"[{rank}] thread of {rank}" + (more.format(rank) if more else "")
                             for rank in (1, 3, 5)]
                expected += [f"[{rank}] " + more.format(rank) for rank in (0, 2, 4) if more]
                self.assertEqual(sorted(result.stdout.splitlines()), sorted(expected), self.text)
            result = self.run_ranks(kind, 4, program, "abort")
            self.assertEqual(result.returncode, 42, self.text)
            self.assertRegex(result.stderr, "rank 1 .*MPI_Abort with code 42")
        result = self.run_ranks("threads", 4, program, "call")
        self.assertEqual(result.returncode, 1, self.text)
        self.assertIn("MPI_Barrier was called by a thread that is no rank", result.stderr)
        result = self.run_ranks("threads", 4, program, "stack")
        self.assertEqual(result.returncode, 139, self.text)
        self.assertRegex(result.stderr, r"rank 1 .*the stack of a thread of it is full: .*OMP_STACKSIZE")
        self.assertRegex(result.stderr, r"#\d rank_threads\w*\+0x\w+ \(recurse")


if __name__ == "__main__":
    unittest.main()
