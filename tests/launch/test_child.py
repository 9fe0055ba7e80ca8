"""A child that a rank has forked is not the rank: whatever it calls of MPI, the job does not notice."""

import os
import subprocess

from mpiexec import BUILD, CFLAGS, SOURCE, MpiexecTest, main

PROGRAM = os.path.join(SOURCE, "tests", "launch", "child.c")
# What the child does: its status, and what it says.
CHILDREN = {"finalize": (0, ""), "ask": (0, ""), "close": (0, ""), "exit": (0, ""),
            "abort": (7, "MPI_Abort was called with code 7"),
            "send": (1, "MPI_Send was called by a child that a rank has forked"),
            "init": (None, "MPI has been initialised before"),
            "open": (None, "a child that a rank has forked is no rank")}


class Child(MpiexecTest):
    def test_child(self):
        program = self.path("child")
        subprocess.run([os.path.join(BUILD, "bin", "mpicc"), "-O1", "-pthread", *CFLAGS, PROGRAM, "-o", program],
                       check=True)
        # The forked child has not its parent's other threads, whose memory LeakSanitizer then misses.
        self.environment["ASAN_OPTIONS"] = self.environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        # Nor do the locks of a sanitizer's allocator survive a fork that another thread holds them at.
        beside = ((), ("threads",)) if "-fsanitize" not in " ".join(CFLAGS) else ((),)
        for what, (status, said) in CHILDREN.items():
            for threads in beside:
                with self.subTest(what, threads=threads):
                    result = self.run_job("-n", 3, program, what, *threads)
                    self.assertEqual(result.status, 0, result)
                    got = int(result.output.split()[1])
                    self.assertTrue(got == status or (status is None and got > 0), result)
                    self.assertIn(said, result.error)
                    self.assertEqual(result.error == "", said == "", result)


if __name__ == "__main__":
    main()
