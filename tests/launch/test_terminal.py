"""What comes from a program does nothing to the terminal of whoever reads about it: not what it calls
its communicators, windows and errors, nor its own name and arguments."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from mpiexec import BUILD, CFLAGS, MPIEXEC, MpiexecTest, SOURCE, main

COMMAND = os.path.join(BUILD, "bin", "meantime")
MPICC = os.path.join(BUILD, "bin", "mpicc")
ODD_NAME = "odd\033[1m\tname"
NAME = re.escape("?[2J?]0;owned??  rank 9 (pid 1) forged???")


class Terminal(MpiexecTest):
    def setUp(self):
        super().setUp()
        self.program = os.path.join(self.folder.name, ODD_NAME)
        subprocess.run([MPICC, "-g", *CFLAGS, os.path.join(SOURCE, "tests", "launch", "terminal.c"),
                        "-o", self.program], check=True)

    def assert_harmless(self, text):
        self.assertIsNone(re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), ascii(text))
        self.assertIsNone(re.search(r"(?m)^ *rank 9", text), text)

    def test_deadlock(self):
        for alone in (False, True):
            if alone:
                done = subprocess.run([self.program, "deadlock"], stderr=subprocess.PIPE, timeout=60,
                                      env=self.environment, check=False)
                error = done.stderr.decode()
            else:
                error = self.run_job("-n", 2, self.program, "deadlock").error
            self.assert_harmless(error)
            self.assertRegex(error, rf"rank 0 .* MPI_Recv .* on communicator '{NAME}', called from")

    def test_errors(self):
        result = self.run_job("-n", 2, self.program, "error")
        self.assert_one_line(result, "on communicator ?[2J", "forged???: ")
        self.assert_harmless(result.error)
        result = self.run_job("-n", 2, self.program, "window")
        self.assert_one_line(result, "on window ?[2J", "forged???: MPI_ERR_OTHER")
        self.assert_harmless(result.error)
        done = subprocess.run([self.program, "error"], stderr=subprocess.PIPE, timeout=60,
                              env=self.environment, check=False)
        self.assert_harmless(done.stderr.decode())
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_a_name_of_two_lines(self):
        """Of a program that calls what is not there and crashes; of a folder with settings; of a job."""
        lines = "two\n  rank 9 (pid 1) forged"
        program = self.path(lines)
        source = self.path("crash.c", "#include <mpi.h>\nint main(int count, char** words) { MPI_Init(&count, &words);"
                           "if (count > 1) { MPI_File file; MPI_File_open(MPI_COMM_SELF, words[1], 0, MPI_INFO_NULL, &file); }"
                           "*(volatile int*)8 = 1; }")
        subprocess.run([MPICC, "-g", *CFLAGS, source, "-o", program], check=True)
        for options in (), ("-v",):
            result = self.run_job(*options, "-n", 1, program)
            self.assertIn("uses calls that Meantime does not have yet", result.error)
            self.assertIn("two?  rank 9", result.error)
            self.assert_harmless(result.error)
        folder = self.path("\033[31m" + lines)
        os.mkdir(folder)
        for text in ("wait = never\n", "nonsense\n", ""):
            with open(os.path.join(folder, "meantime.conf"), "w") as file:
                file.write(text)
            for command in ((COMMAND, "config"), (COMMAND, "config", "wait"), (COMMAND, "doctor"), (COMMAND, "stack", lines),
                            (COMMAND, "ps", lines), (COMMAND, "doctor", lines), (MPIEXEC, "-n", "1", "true")):
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                                      env=dict(self.environment, XDG_CONFIG_HOME=folder), check=False)
                self.assert_harmless(done.stdout.decode())

    def test_report(self):
        result = self.run_job("--report", "--report=/dev/stdout", "--verbose", "-n", 2, self.program, "none")
        self.assertEqual(result.status, 0, result)
        self.assertIn("core-seconds", result.error)
        self.assertIn("odd", result.error)
        self.assert_harmless(result.error)
        self.assert_harmless(result.output)

    def test_ps(self):
        job = self.start("-n", 2, self.program, "late", "a\033[2Jb\n  rank 9 (pid 1) forged")

        def meantime(*words):
            return subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=60, env=self.environment, check=False).stdout.decode()

        text = self.wait_for(lambda: next((said for said in [meantime("ps", str(job.pid))]
                                           if "MPI_Barrier" in said), None), "rank 1 to wait")
        self.assertIn("odd?[1m?name late a?[2Jb?  rank 9 (pid 1) forged (2 ranks, ", text)
        self.assertRegex(text, rf"rank 1 .* MPI_Barrier on communicator '{NAME}'")
        self.assertEqual(text.count("\n"), 3, text)
        self.assert_harmless(text)
        self.assert_harmless(meantime("stack", str(job.pid)))
        job.terminate()
        job.communicate(timeout=60)

    def on_terminal(self, *words, columns=80, **variables):
        """What a command shows on a terminal, its standard error too."""
        ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
        environment = {name: value for name, value in self.environment.items() if name != "NO_COLOR"}
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=its, stderr=its,
                              env={**environment, "TERM": "xterm", **variables}) as process:
            os.close(its)
            seen = b""
            try:
                while piece := os.read(ours, 4096):
                    seen += piece
            except OSError:  # the last one has closed it
                pass
            os.close(ours)
            process.wait(timeout=60)
        return seen.decode().replace("\r\n", "\n")

    def test_fits_and_is_in_colour(self):
        plain = os.path.join(self.folder.name, "p")
        os.symlink(self.program, plain)
        mpiexec = os.path.join(BUILD, "bin", "mpiexec")
        job = self.start("-n", 2, plain, "late")
        self.wait_for(lambda: "MPI_Barrier" in subprocess.run(
            [COMMAND, "ps", str(job.pid)], stdout=subprocess.PIPE, env=self.environment, check=False
        ).stdout.decode(), "rank 1 to wait")
        for words, colour in (((mpiexec, "-n", "3", plain, "deadlock"), "\033[36mMPI_Recv\033[0m"),
                              ((mpiexec, "--report", "-n", "3", plain, "none"), "\033[1mmpiexec:\033[0m"),
                              ((COMMAND, "ps", str(job.pid)), "\033[1m  rank 1 \033[0m"),
                              ((COMMAND, "config"), "\033[1mMEANTIME_WAIT\033[0m"),
                              ((mpiexec, "--help"), "\033[36m--report\033[0m "),
                              ((COMMAND, "--help"), "\033[1mSubcommands:\033[0m\n  \033[36mversion\033[0m "),
                              ((COMMAND, "fortran", "--help"), "")):
            with self.subTest(words):
                seen = self.on_terminal(*words)
                self.assertIn(colour, seen)
                for line in re.sub(r"\033\[\d*m", "", seen).splitlines():
                    self.assertLessEqual(len(line), 80, line)
                for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
                    self.assertNotIn("\033", self.on_terminal(*words, **variables))
        job.terminate()
        job.communicate(timeout=60)

    def test_help_is_as_wide_as_the_terminal(self):
        written = self.run_job("--help").output
        self.assertEqual(self.on_terminal(MPIEXEC, "--help", NO_COLOR="1"), written)
        wide = self.on_terminal(MPIEXEC, "--help", columns=110, NO_COLOR="1")
        self.assertEqual(wide.split(), written.split())
        self.assertIn(max(len(line) for line in wide.splitlines()), range(100, 111))


if __name__ == "__main__":
    main()
