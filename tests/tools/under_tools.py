"""A user's program under sanitizers, coverage, valgrind, gdb, with our release library: it runs as always, and no report
is made."""
import os
import shutil
import subprocess
import tempfile
import unittest

BIN = os.path.join(os.environ["MEANTIME_BUILD"], "bin")
SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging", "suppressions")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.cpp")
RANKS = 4
with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as pattern:
    CORES = pattern.read()


class UnderTools(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="meantime-tools-")
        self.addCleanup(shutil.rmtree, self.folder)

    def run_here(self, *command):
        result = subprocess.run(command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                stdin=subprocess.DEVNULL, timeout=150, check=False)
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout

    def compile(self, *options):
        self.run_here(os.path.join(BIN, "mpicxx"), "-std=c++20", "-g", "-O1", *options, SOURCE, "-o", "program",
                      "-pthread")

    def assert_silent(self, *command, ranks=RANKS):
        output = self.run_here(os.path.join(BIN, "mpiexec"), "-n", str(ranks), *command)
        self.assertEqual(output, " No Errors\n")

    def test_sanitizers(self):
        for sanitizer in ("address,undefined", "thread"):
            with self.subTest(sanitizer):
                self.compile("-fsanitize=" + sanitizer)
                self.assert_silent("./program")

    def test_coverage(self):
        self.compile("--coverage")
        self.assert_silent("./program")
        self.assertTrue([name for name in os.listdir(self.folder) if name.endswith(".gcda")])

    @unittest.skipUnless(shutil.which("valgrind"), "needs valgrind")
    def test_valgrind(self):
        self.compile()
        # Ranks of a job under valgrind and ordinary ones together, too.
        self.assert_silent("valgrind", "-q", "--leak-check=full", "--error-exitcode=9", "./program")
        self.assert_silent("sh", "-c", "[ $MEANTIME_RANK != 1 ] || exec valgrind -q --error-exitcode=9 ./program; ./program")
        self.assert_silent("valgrind", "-q", "--leak-check=full", "--show-leak-kinds=all", "--error-exitcode=9",
                           f"--suppressions={SUPPRESSIONS}/valgrind.supp", "./program", ranks=1)

    @unittest.skipIf("|" in CORES or "/" in CORES, "core files go elsewhere on this machine")
    def test_core_file(self):
        """It holds the user's memory, not the address range that the job's memory may grow into."""
        self.run_here("sh", "-c", "echo '#include <mpi.h>\nint main(void) { MPI_Init(0, 0); __builtin_trap(); }' >crash.c")
        self.run_here(os.path.join(BIN, "mpicc"), "-g", "crash.c", "-o", "crash")
        self.run_here("sh", "-c", f"ulimit -c unlimited && ! '{BIN}/mpiexec' -n 1 ./crash")
        cores = [name for name in os.listdir(self.folder) if name.startswith("core")]
        self.assertEqual(len(cores), 1)
        self.assertLess(os.stat(os.path.join(self.folder, cores[0])).st_size, 100_000_000)

    @unittest.skipUnless(shutil.which("gdb"), "needs gdb")
    def test_gdb(self):
        self.compile()
        output = self.run_here("gdb", "-nx", "-batch", "-ex", "break MPI_Finalize", "-ex", "run", "-ex", "backtrace",
                               "-ex", "continue", "--args", "./program")
        self.assertRegex(output, r"#\d.* main ")
        self.assertIn("exited normally", output)


if __name__ == "__main__":
    unittest.main()
