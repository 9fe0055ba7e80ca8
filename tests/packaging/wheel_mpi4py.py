"""The wheel with mpi4py from PyPI: its source distribution, built by our mpicc, passes its own tests, over nodes
too. Needs PyPI."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from wheel import SOURCE, Environment

sys.path.insert(0, os.path.join(SOURCE, "bench"))
from projects.mpi4py import EXCLUDED, VERSION  # noqa: E402
UNREACHABLE = re.compile(r"Could not find a version|NewConnectionError|Could not fetch|Name or service|Temporary failure")


class Mpi4py(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="meantime-mpi4py-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.environment = Environment(cls.folder)
        try:
            cls.environment.run("pip", "download", "-q", "--no-deps", "--no-binary", "mpi4py",
                                f"mpi4py=={VERSION}", "-d", cls.folder, seconds=300)
            # It asks for setuptools, wheel and Cython while it is built; here only whether they can be had.
            cls.environment.run("pip", "install", "-q", "setuptools", "wheel", "cython", seconds=300)
        except AssertionError as error:
            if UNREACHABLE.search(str(error)):
                print("SKIPPED: PyPI cannot be reached from here, so there is no mpi4py")
                cls.doClassCleanups()
                sys.exit(77)
            raise
        archive, = glob.glob(os.path.join(cls.folder, "mpi4py-*.tar.gz"))
        subprocess.run(["tar", "xf", archive, "-C", cls.folder], check=True)
        cls.environment.variables["MEANTIME_MISSING_CALLS"] = "error"  # the tests know that MPIs lack calls
        cls.environment.variables["CFLAGS"] = "-O0"  # three quarters of the time are the C compiler's
        cls.environment.run("pip", "install", "-q", "--no-build-isolation", archive, seconds=1200)
        cls.tests = os.path.join(cls.folder, f"mpi4py-{VERSION}", "test")

    def run_tests(self, ranks, *before):
        output = self.environment.run(*before, "mpiexec", "-n", str(ranks), "python", "main.py", "-q", *EXCLUDED,
                                      cwd=self.tests, seconds=900)
        counts = re.findall(r"Ran (\d+) tests", output)  # anywhere in a line: ranks write into each other's
        self.assertEqual(len(counts), ranks, output)
        self.assertGreater(min(map(int, counts)), 1500)
        self.assertNotIn("FAILED", output)

    def test_own_tests_1(self):
        self.run_tests(1)

    def test_own_tests_3(self):
        self.run_tests(3)

    def test_own_tests_5_over_2_nodes(self):
        self.run_tests(5, "env", "MEANTIME_TEST_NODES=2")


if __name__ == "__main__":
    unittest.main()
