#!/usr/bin/env python3
"""Fortran programs as thread ranks: what is each rank's own, and how ranks end."""

import unittest

from threads_case import ThreadsCase


class Fortran(ThreadsCase):
    def test_what_is_private(self):
        self.build_library_of_fortran()
        program = self.build_fortran("fortran_data_program.f90", "-fopenmp", "-w",
                                     *self.with_libraries("fortran_data"), name="fortran_data")
        for kind, ranks in (("processes", 2), ("threads", 1), ("threads", 3), ("threads", 40)):
            result = self.run_ranks(ranks, program, kind=kind)
            self.assertEqual(result.returncode, 0, self.text)
            self.assertIn(" No Errors", result.stderr, self.text)

    def build_library_of_fortran(self):
        self.build_fortran("fortran_data.f90", "-shared", "-fPIC", name="libfortran_data.so")

    def ends(self, way, status, *patterns):
        program = self.build_fortran("fortran_ends.f90", "-O0", "-g", "-fcheck=bounds", "-fstack-arrays",
                                     name="fortran_ends")
        result = self.run_ranks(3, program, way)
        self.assertEqual(result.returncode, status, self.text)
        for pattern in patterns:
            self.assertRegex(result.stderr, pattern)

    def test_crash(self):
        self.ends("segv", 139, r"rank 1 .*signal 11.*address 0x8",
                  r"#0 fortran_ends\+0x\w+ \(__ways_MOD_write_nowhere\+", r"\(main\+0x")

    def test_array_larger_than_the_stack(self):
        self.ends("array", 139, r"rank 1 .*its stack is full.*ulimit -s", r"__ways_MOD_large_array")

    def test_runtime_error(self):
        self.ends("bounds", 2, r"Index '12' of dimension 1 of array 'values' above upper bound",
                  r"write_beyond", r"rank 1 .*ended with status 2 without MPI_Finalize")

    def test_stop(self):
        self.ends("stop", 3, "STOP 3", "rank 1 .*ended with status 3 without MPI_Finalize")
        self.ends("error", 4, "ERROR STOP 4", "rank 1 .*ended with status 4 without MPI_Finalize")
        self.ends("text", 1, "ERROR STOP it is over", "rank 1 .*ended with status 1")


if __name__ == "__main__":
    unittest.main()
