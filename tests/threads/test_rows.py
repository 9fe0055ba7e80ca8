#!/usr/bin/env python3
"""The rows of what does not just work with many images of a program in one process, in C++ and in
Fortran (in C: private_c.c). As processes first, so that what they want is what a process does."""

import os
import unittest

from threads_case import HERE, ThreadsCase


class Rows(ThreadsCase):
    def both(self, program, *words, **more):
        for kind, ranks in (("processes", 3), ("threads", 1), ("threads", 2), ("threads", 9)):
            yield self.run_ranks(ranks, program, *words, kind=kind, **more)
        yield self.run_ranks(5, program, *words,
                             env=dict(self.environment, MEANTIME_TEST_ALWAYS_MOVE="1"), **more)

    def test_cxx(self):
        self.build_library("rows_library.cpp", "-std=c++17", f"-I{HERE}", name="rows", compiler="c++")
        path = os.path.join(self.folder, "input")
        with open(path, "w") as file:
            file.write("input\n")
        for flags in ((), ("-O0", "-g"), ("-s",)):
            program = self.build("rows.cpp", "-std=c++17", "-pthread", *flags, *self.with_libraries("rows"),
                                 name="rows" + "".join(flags), compiler="mpicxx")
            for kind, ranks in (("processes", 3), ("threads", 1), ("threads", 2), ("threads", 9)):
                with open(path) as file:
                    self.assert_right(self.run_ranks(ranks, program, kind=kind, stdin=file))
            with open(path) as file:
                self.assert_right(self.run_ranks(5, program, stdin=file, env=dict(
                    self.environment, MEANTIME_TEST_ALWAYS_MOVE="1")))

    def test_fortran(self):
        program = self.build_fortran("rows.f90", "-fopenmp", name="rows_fortran")
        for result in self.both(program, "word"):
            self.assertEqual(result.returncode, 0, self.text)
            self.assertEqual(result.stderr, " No Errors\n", self.text)

    def test_teams_of_threads(self):
        """OpenMP and MPI in turns, with more threads than CPUs: did those of a team poll for each
        other, each round would take many time slices."""
        program = self.build("teams.c", "-fopenmp", name="teams")
        environment = {name: value for name, value in self.environment.items()
                       if not name.startswith(("OMP_", "GOMP_"))}
        for threads, ranks in ((2, 4), (3, 9)):
            for kind in ("processes", "threads"):
                self.assert_right(self.run_ranks(
                    ranks, program, kind=kind,
                    env=dict(environment, OMP_NUM_THREADS=str(threads))))


if __name__ == "__main__":
    unittest.main()
