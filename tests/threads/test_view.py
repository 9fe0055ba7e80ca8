#!/usr/bin/env python3
"""What a user sees of running thread ranks: meantime ps and stack, gdb's commands, --debugger gdb."""

import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MEANTIME_BUILD", os.path.join(SOURCE, "build"))
HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.join(BUILD, "bin")
SCRIPT = os.path.join(BUILD, "share/meantime/gdb/meantime.py")
RANKS = 4

FORTRAN = """
module state
  integer, save :: counter = 30
end module
subroutine receive_one(from)
  use mpi_f08
  use state
  integer, intent(in) :: from
  integer :: level
  call MPI_Comm_rank(MPI_COMM_WORLD, level)
  counter = counter + level
  level = level + 10
  call MPI_Recv(value, 1, MPI_REAL, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
end subroutine
program receives
  use mpi_f08
  integer :: rank, size, i
  logical :: there = .false.
  character(200) :: name
  call get_command_argument(1, name)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  if (rank == 0) then
    do while (.not. there)
      call sleep(1)
      inquire(file=name, exist=there)
    end do
    do i = 1, size - 1
      call MPI_Send(1.0, 1, MPI_REAL, i, 7, MPI_COMM_WORLD)
    end do
    print '(a)', ' No Errors'
  else
    call receive_one(0)
  end if
  call MPI_Finalize()
end program
"""


def command(*words, **options):
    options.setdefault("timeout", 100)
    options.setdefault("stdin", None if "input" in options else subprocess.DEVNULL)
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", **options)


class View(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(BUILD, "libexec/meantime/meantime-host")):
            raise unittest.SkipTest("this build has no thread ranks")
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = os.path.join(cls.folder.name, "view")
        done = command(os.path.join(BIN, "mpicc"), "-g", "-O1", os.path.join(HERE, "view.c"), "-o",
                       cls.program)
        assert done.returncode == 0, done.stdout

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.end = os.path.join(self.folder.name, self.id() + ".end")
        self.pipe = self.end + ".pipe"
        os.mkfifo(self.pipe)
        self.job = None

    def tearDown(self):
        if self.job is not None:
            self.job.kill()
            self.job.communicate()

    def start(self):
        """The job, once its ranks are where they stay."""
        self.job = subprocess.Popen([os.path.join(BIN, "mpiexec"), "--as", "threads", "-n", str(RANKS),
                                     self.program, self.end, self.pipe], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            text = self.ps()
            if text.count(" for rank 0, tag 7 ") == RANKS - 2 and "tag 8" not in text and \
                    "MPI_Barrier" not in text and re.search(r"rank 1 \(pid \d+\) is beside", text) and \
                    re.search(r"rank 0 \(pid \d+\) is (not waiting in MPI|beside)", text):
                return text
            time.sleep(0.05)
        self.fail("the ranks did not come to their places:\n" + text)

    def ps(self):
        text = command(os.path.join(BIN, "meantime"), "ps", "--each").stdout
        found = re.search(rf"(?m)^job {self.job.pid}:.*\n(  .*\n)*", text)
        return found.group(0) if found else ""

    def stack(self, *words):
        if shutil.which("gdb") is None:
            self.skipTest("no gdb")
        result = command(os.path.join(BIN, "meantime"), "stack", self.job.pid, *words)
        if result.returncode == 1 and "ptrace_scope" in result.stdout:
            self.skipTest("nobody may be traced here: " + result.stdout)
        return result

    def gdb(self, *commands):
        self.stack("--rank", 0)  # skips where it is not allowed
        host = re.search(r"pid (\d+)", self.ps()).group(1)
        words = [word for each in commands for word in ("-ex", each)]
        return command("gdb", "-nx", "-batch", "-ex", "set pagination off", "-x", SCRIPT, "-p", host,
                       *words).stdout

    def assert_goes_on(self):
        """Whoever looked has changed nothing."""
        with open(self.end, "w"), open(self.pipe, "w") as pipe:
            pipe.write("x")
        output, _ = self.job.communicate(timeout=60)
        self.assertEqual((self.job.returncode, output), (0, " No Errors\n"))

    def test_ps(self):
        text = self.start()
        self.assertRegex(text, r"rank 0 \(pid \d+\) is (not waiting in MPI|beside its worker)")
        self.assertRegex(text, r"rank 1 \(pid \d+\) is beside its worker, in a system call")
        for rank in range(2, RANKS):
            self.assertRegex(text, rf"rank {rank} \(pid \d+\) waits in MPI_Recv for rank 0, tag 7 on "
                             r"MPI_COMM_WORLD, called from (view\+0x[0-9a-f]+|receive_for_ever \(view\.c:\d+\)), for [0-9.]+ s")
        self.assert_goes_on()

    def test_stack(self):
        self.start()
        result = self.stack()
        self.assertEqual(result.returncode, 0, result.stdout)
        ranks = re.split(r"(?m)^  (?=ranks? )", result.stdout)[1:]
        for text, who, function in zip(ranks, ("rank 0 ", "rank 1 ", f"ranks 2-{RANKS - 1}: each waits in MPI_Recv"),
                                       ("compute_for_ever", "sleep_for_ever", "receive_for_ever"), strict=True):
            self.assertTrue(text.startswith(who), result.stdout)
            self.assertRegex(text, rf"#\d+ .*\b{function} .*view\.c:\d+", result.stdout)
            self.assertRegex(text, r"#\d+ .*\bmain ", result.stdout)
        one = self.stack("--rank", RANKS - 1)
        self.assertIn("receive_for_ever", one.stdout)
        self.assertNotIn("compute_for_ever", one.stdout)
        self.assertEqual(self.stack("--rank", RANKS).returncode, 2)
        self.assert_goes_on()

    def test_gdb_commands(self):
        self.start()
        text = self.gdb("ranks", "rank 3", "print from", "up", "info locals", "rank apply 2-3 bt",
                        "break receive_for_ever", "break view.c:34", "rank 77", "rank apply x bt",
                        "rank apply all print $mine(counter)", "rank 2", "print &$mine(counter)",
                        "info symbol &$mine(counter)", "print $mine(5)")
        self.assertRegex(text, r"\n    +0 +(running|offloaded) +\d+ +(compute_for_ever|main|access)")
        self.assertRegex(text, r"\n +1 +offloaded +\d+ +(read|sleep_for_ever)")
        self.assertRegex(text, r"\n    +3 +suspended +\d+ +receive_for_ever \(\) at .*, in MPI_Recv")
        self.assertRegex(text, r"\[rank 3: suspended, thread \d+\]\n#\d+ .*receive_for_ever \(from=0\)")
        self.assertRegex(text, r"rank = 3\n")
        self.assertRegex(text, r"(?s)Rank 2 \(suspended\):.*MPI_Recv.*Rank 3 \(suspended\):.*MPI_Recv")
        self.assertRegex(text, rf"Breakpoint 1 at .*\({RANKS} locations\)")
        self.assertRegex(text, rf"Breakpoint 2 at .*\({RANKS} locations\)")
        self.assertIn("There is no rank 77", text)
        for rank in range(RANKS):
            self.assertRegex(text, rf"Rank {rank} \(\w+\):\n\$\d+ = {10 * rank + 1}\n")
        self.assertRegex(text, r"\(int \*\) 0x\w+ <counter>\ncounter in section")
        self.assertIn("$mine(variable) wants a variable", text)
        self.assertIn("'x' is no list of ranks", text)
        self.assert_goes_on()

    def fortran(self):
        compiler = os.path.join(BIN, "mpifort")
        if shutil.which("gfortran") is None or not os.path.exists(compiler):
            self.skipTest("no Fortran")
        source = os.path.join(self.folder.name, "receives.f90")
        with open(source, "w") as file:
            file.write(FORTRAN)
        done = command(compiler, "-g", "-J", self.folder.name, source, "-o", source + ".program")
        self.assertEqual(done.returncode, 0, done.stdout)
        return source + ".program"

    def test_gdb_commands_in_fortran(self):
        """Whose expressions gdb reads in another way, and whose calls come by a library of ours."""
        program = self.fortran()
        self.job = subprocess.Popen([os.path.join(BIN, "mpiexec"), "--as", "threads", "-n", str(RANKS),
                                     program, self.end], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        end = time.monotonic() + 60
        while self.ps().count(" for rank 0, tag 7 ") < RANKS - 1 and time.monotonic() < end:
            time.sleep(0.05)
        text = self.gdb("ranks", "rank 2", "print level", "print $mine(counter)", "rank apply 1,3 print from")
        self.assertRegex(text, r"\n    +2 +suspended +\d+ +receive_one \(\) at .*receives\.f90:\d+, in MPI_Recv")
        self.assertRegex(text, r"\[rank 2: suspended, thread \d+\]\n#\d+ .*in receive_one \(from=0\)")
        self.assertRegex(text, r"\$1 = 12\n\$2 = 32\n")
        self.assertRegex(text, r"(?s)Rank 1 .*\$3 = 0\n.*Rank 3 .*\$4 = 0\n")
        with open(self.end, "w"):
            pass
        self.assertEqual(self.job.communicate(timeout=60)[0], " No Errors\n")

    def test_debugger_of_fortran(self):
        if shutil.which("gdb") is None:
            self.skipTest("no gdb")
        program = self.fortran()
        with open(self.end, "w"):
            pass
        text = command(os.path.join(BIN, "mpiexec"), "--debugger", "gdb", "--as", "threads", "-n", RANKS,
                       program, self.end, input="set confirm off\nset pagination off\nset breakpoint pending on\n"
                       "break receive_one\nrun\nranks\n" + "continue\n" * RANKS + "quit\n").stdout
        if "ptrace" in text:
            self.skipTest("nobody may be traced here: " + text)
        for rank in range(1, RANKS):
            self.assertRegex(text, rf"hit Breakpoint 1\.\d+, receive_one \(.*\n(.*\n)*?\[rank {rank}\]", text)
        self.assertRegex(text, r"\n \* +\d +running +\d+ +receive_one \(\) at ")
        self.assertNotIn("Python Exception", text)
        self.assertIn(" No Errors", text)

    def test_no_thread_ranks(self):
        if shutil.which("gdb") is None:
            self.skipTest("no gdb")
        text = command("gdb", "-nx", "-batch", "-x", SCRIPT, "-ex", "ranks").stdout
        self.assertIn("No thread ranks here", text)

    def test_debugger(self):
        """Breakpoints set before the images are there are hit in each of them."""
        if shutil.which("gdb") is None:
            self.skipTest("no gdb")
        text = command(os.path.join(BIN, "mpiexec"), "--debugger", "gdb", "--as", "threads", "-n", RANKS,
                       self.program, input="set confirm off\nset pagination off\n"
                       "break main\nrun\n" + "bt 1\ncontinue\n" * (RANKS + 2) + "quit\n").stdout
        if "ptrace" in text:
            self.skipTest("nobody may be traced here: " + text)
        for rank in range(RANKS):
            self.assertRegex(text, rf"hit Breakpoint 1\.\d+, main \(.*\n(.*\n)*?\[rank {rank}\]", text)
        self.assertNotIn("Could not load shared library symbols", text)
        self.assertIn(" No Errors", text)


if __name__ == "__main__":
    unittest.main()
