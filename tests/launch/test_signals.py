"""Signals are passed on; a terminal's keys do what they do for one program."""

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import termios
import threading
import time

from mpiexec import FAKE_RANK, MPIEXEC, MpiexecTest, main, processes_of
from test_kill import supervisor_of


def state_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


class Signals(MpiexecTest):
    def start_ready(self, count, *words):
        """Ranks that are in MPI and have said so."""
        job = self.start("-n", count, *words)
        for _ in range(count):
            self.assertEqual(job.stdout.readline(), b"ready\n")
        return job

    def test_passed_on(self):
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGTERM, signal.SIGINT,
                       signal.SIGTSTP, signal.SIGCONT):
            with self.subTest(number):
                # Where mpiexec stops, its ranks stay until they have heard that it goes on: a signal
                # while LeakSanitizer looks through a process that exits can hang that one.
                stops = number == signal.SIGTSTP
                goes_on = [f"handle={int(signal.SIGCONT)}"] if stops else []
                job = self.start_ready(2, FAKE_RANK, f"handle={int(number)}", *goes_on, "init",
                                       "print=ready", *["await"] * (2 if stops else 1), "finalize")
                job.send_signal(number)
                for _ in range(2):
                    self.assertEqual(job.stdout.readline(), b"got signal %02d\n" % number)
                if stops:  # mpiexec itself, too
                    self.wait_for(lambda: state_of(job.pid) == "T", "mpiexec to stop")
                    job.send_signal(signal.SIGCONT)
                output, error = job.communicate(timeout=60)
                rest = 2 * (b"got signal %02d\n" % signal.SIGCONT) if stops else b""
                self.assertEqual((job.returncode, output, error), (0, rest, b""))

    def test_default_action(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            with self.subTest(number):
                job = self.start_ready(2, FAKE_RANK, "init", "print=ready", "sleep=60")
                job.send_signal(number)
                output, error = job.communicate(timeout=60)
                self.assertEqual((job.returncode, output, error), (128 + number, b"", b""))

    def test_passed_on_through_a_script(self):
        """To the program alone: the script would die of it, and a program that writes down where it
        is on SIGTERM has its time."""
        for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(number):
                job = self.start_ready(2, "sh", "-c", f"{FAKE_RANK} handle={int(number)} init print=ready await "
                                       "sleep=0.5 finalize; echo end")
                job.send_signal(number)
                output, error = job.communicate(timeout=60)
                got = b"got signal %02d" % number
                self.assertEqual((job.returncode, sorted(output.split(b"\n"))),
                                 (0, [b"", b"end", b"end", got, got]), error)

    def test_the_second_kills(self):
        for first, second in ((signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGTERM),
                              (signal.SIGINT, signal.SIGTERM)):
            job = self.start_ready(2, FAKE_RANK, "handle=2", "handle=15", "init", "print=ready",
                                   "sleep=60")
            job.send_signal(first)
            for _ in range(2):
                self.assertEqual(job.stdout.readline(), b"got signal %02d\n" % first)
            time.sleep(0.2)  # two that are closer together may be one that was sent twice
            self.assertIsNone(job.poll())
            begin = time.monotonic()
            job.send_signal(second)
            job.communicate(timeout=60)
            self.assertEqual(job.returncode, 128 + second)
            self.assert_quick(time.monotonic() - begin)

    def test_stopped_ranks_hear_of_it(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            job = self.start_ready(2, FAKE_RANK, "init", "print=ready", "stop", "sleep=60")
            job.send_signal(number)
            job.communicate(timeout=60)
            self.assertEqual(job.returncode, 128 + number)

    def test_a_stopped_supervisor_hears_of_it(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            job = self.start_ready(2, FAKE_RANK, "init", "print=ready", "sleep=60")
            supervisor = supervisor_of(job.pid)
            os.kill(supervisor, signal.SIGSTOP)
            if number != signal.SIGTERM:  # which comes before it has stopped
                self.wait_for(lambda: state_of(supervisor) == "T", "a stop")
            job.send_signal(number)
            job.communicate(timeout=60)
            self.assertEqual(job.returncode, 128 + number)

    def test_only_the_supervisor_goes_on(self):
        """And not a rank that somebody has stopped."""
        job = self.start_ready(2, FAKE_RANK, "handle=10", "init", "print=ready", "only=1", "await", "only=0",
                               "await", "all", "finalize")
        supervisor = supervisor_of(job.pid)
        ranks = self.ranks_of(2)
        for pid in (ranks[0], supervisor):
            os.kill(pid, signal.SIGSTOP)
            self.wait_for(lambda: state_of(pid) == "T", "a stop")
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(job.stdout.readline(), b"got signal 10\n")
        self.assertEqual(state_of(ranks[0]), "T")
        os.kill(ranks[0], signal.SIGCONT)
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0)

    def test_inherited_as_ignored(self):
        result = self.run_job("-n", 2, "sh", "-c", "grep SigIgn /proc/self/status",
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual((result.status, result.error), (0, ""))
        for line in result.output.splitlines():
            self.assertFalse(int(line.split()[1], 16) >> (signal.SIGCHLD - 1) & 1, result)

    def test_timeout_command(self):
        result = subprocess.run(["timeout", "0.5", MPIEXEC, "-n", "2", FAKE_RANK, "init", "sleep=60"],
                                env=self.environment, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (124, b""))

    def test_stop_and_continue(self):
        job = self.start_ready(2, FAKE_RANK, "handle=10", "init", "print=ready", "await", "finalize")
        ranks = self.ranks_of(2)
        job.send_signal(signal.SIGTSTP)
        for pid in [job.pid, *ranks]:
            self.wait_for(lambda: state_of(pid) == "T", "a stop")
        job.send_signal(signal.SIGCONT)
        for pid in [job.pid, *ranks]:
            self.wait_for(lambda: state_of(pid) != "T", "going on")
        job.send_signal(signal.SIGUSR1)
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0)

    def test_a_stopped_neighbour_in_a_batch_job(self):
        # A session without a terminal, and in its only process group something that is stopped: the
        # kernel must find no reason to send SIGHUP to the group when the job ends.
        script = self.path("script", "#!/bin/sh\nsleep 60 & stopped=$!\nkill -STOP $stopped\n"
                           f"{MPIEXEC} -n 2 {FAKE_RANK} init finalize\n"
                           "echo status $?\nkill -KILL $stopped\n")
        result = subprocess.run([script], env=self.environment, start_new_session=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (0, b"status 0\n"))

    def test_quit_shows_the_ranks(self):
        job = self.start_ready(3, FAKE_RANK, "handle=10", "only=1", "init", "only=2", "init",
                               "finalize", "all", "print=ready", "await", "only=1", "finalize")
        job.send_signal(signal.SIGQUIT)
        report = b"".join(job.stderr.readline() for _ in range(4)).decode()
        self.assertIsNone(job.poll())
        for rank in range(3):
            self.assertRegex(report, rf"rank {rank} \(pid \d+\)")
        self.assertRegex(report, r"rank 0 .*MPI_Init")
        self.assertRegex(report, r"rank 2 .*MPI_Finalize")
        job.terminate()
        job.communicate(timeout=60)


class Terminal:
    """A shell-like leader of a session with a terminal of its own; mpiexec is its foreground job."""

    def __init__(self, words, environment, before=lambda: None):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            before()
            os.execve(words[0], words, environment)
        self.seen = b""

    def read_until(self, pattern, seconds=60, times=1):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if len(re.findall(pattern, self.seen)) >= times:
                return self.seen
            ready, _, _ = select.select([self.master], [], [], 0.05)
            if ready:
                try:
                    self.seen += os.read(self.master, 4096)
                except OSError:
                    break
        if len(re.findall(pattern, self.seen)) >= times:
            return self.seen
        raise AssertionError(f"waited for {times} times {pattern!r}, saw {self.seen!r}")

    def type(self, keys):
        os.write(self.master, keys)

    def wait(self, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                ready, _, _ = select.select([self.master], [], [], 0.02)
                if ready:
                    self.seen += os.read(self.master, 4096)
            except OSError:
                pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.master)
                return status
        raise AssertionError(f"did not end; saw {self.seen!r}")


class TerminalKeys(MpiexecTest):
    def terminal(self, *words):
        return Terminal([MPIEXEC, *map(str, words)], self.environment)

    def test_rank_0_has_the_terminal(self):
        terminal = self.terminal("-n", 2, "sh", "-c",
                                 "if [ $MEANTIME_RANK = 0 ]; then [ -t 0 ] && [ -t 1 ] && "
                                 "printf 'name? '; read name; echo hello $name; "
                                 "else [ -t 0 ] || echo no input; fi")
        terminal.read_until(rb"name\? ")
        terminal.type(b"Ada\n")
        terminal.read_until(b"hello Ada")
        terminal.read_until(b"no input")
        self.assertEqual(os.waitstatus_to_exitcode(terminal.wait()), 0)

    def test_interrupt_key(self):
        terminal = self.terminal("-n", 2, FAKE_RANK, "init", "print=ready", "sleep=60")
        terminal.read_until(b"ready\r\nready")
        terminal.type(b"\x03")
        status = terminal.wait()
        self.assertTrue(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT, status)
        self.assertNotIn(b"mpiexec:", terminal.seen)

    def test_interrupt_key_arrives_once(self):
        terminal = self.terminal("-n", 2, FAKE_RANK, "handle=2", "init", "print=ready", "await",
                                 "sleep=0.3", "finalize")
        terminal.read_until(b"ready\r\nready")
        terminal.type(b"\x03")
        self.assertEqual(os.waitstatus_to_exitcode(terminal.wait()), 0)
        self.assertEqual(terminal.seen.count(b"got signal 02"), 2)

    def test_interrupt_key_while_ranks_are_started(self):
        # -v writes a line for each rank, and here nobody reads: a pipe of one page holds the lines of
        # some ranks, then the supervisor waits between two of them. Ranks start with the signal
        # blocked, so that none gets it before it handles it.
        folder = self.path("l" * 200)
        os.mkdir(folder)
        os.symlink(FAKE_RANK, os.path.join(folder, "fake_rank"))
        ranks = 30
        reader, writer = os.pipe()
        room = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        if room > 4096:
            self.skipTest("memory pages are larger here")

        def before():
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            os.dup2(writer, 2)

        terminal = Terminal([MPIEXEC, "-v", "-n", str(ranks), os.path.join(folder, "fake_rank"),
                             "handle=2", "handle=10", "unblock=2", "init", "print=ready", "await", "await",
                             "finalize"], self.environment, before)
        os.close(writer)
        shortest = len(f"mpiexec: rank 0 is pid 1 ({folder}/fake_rank)\n")
        longest = shortest + 8

        def said():
            return int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), "little")

        self.wait_for(lambda: said() + longest > room, "a full pipe")
        # The first line, about all of them, is short; that of the last rank did not fit.
        started = said() // shortest + 1
        self.assertLess(started, ranks)
        terminal.read_until(b"ready", times=started)
        terminal.type(b"\x03")
        terminal.read_until(b"got signal 02", times=started)
        lines = threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(reader, 4096), b"")])
        lines.start()
        terminal.read_until(b"got signal 02", times=ranks)
        os.kill(terminal.pid, signal.SIGUSR1)  # a second SIGINT would come before it
        self.assertEqual(os.waitstatus_to_exitcode(terminal.wait()), 0)
        lines.join()
        os.close(reader)
        self.assertEqual(terminal.seen.count(b"got signal 02"), ranks, terminal.seen)

    def test_quit_key_shows_the_ranks(self):
        terminal = self.terminal("-n", 2, FAKE_RANK, "handle=10", "init", "print=ready", "await",
                                 "finalize")
        terminal.read_until(b"ready\r\nready")
        terminal.type(b"\x1c")
        terminal.read_until(rb"ranks? (0-1|1)")
        os.kill(terminal.pid, signal.SIGUSR1)
        self.assertEqual(os.waitstatus_to_exitcode(terminal.wait()), 0)

    def test_stop_key_under_a_shell(self):
        shell = Terminal(["/bin/bash", "--norc", "--noprofile", "-i"],
                         dict(self.environment, PS1="$ ", HISTFILE=""))
        shell.read_until(rb"\$ ")
        shell.type(f"{MPIEXEC} -n 2 {FAKE_RANK} handle=10 init print=ready await print=done finalize\n"
                   .encode())
        shell.read_until(b"ready\r\nready")
        shell.type(b"\x1a")
        shell.read_until(b"Stopped")
        ranks = self.ranks_of(2)
        for pid in ranks:
            self.wait_for(lambda: state_of(pid) == "T", "a stop")
        shell.type(b"fg\n")
        for pid in ranks:
            self.wait_for(lambda: state_of(pid) != "T", "going on")
            os.kill(pid, signal.SIGUSR1)
        shell.read_until(rb"(?s)\ndone.*\ndone")
        shell.type(b"exit $?\n")
        self.assertEqual(os.waitstatus_to_exitcode(shell.wait()), 0)

    def test_hang_up(self):
        terminal = self.terminal("-n", 2, FAKE_RANK, "init", "print=ready", "sleep=60")
        terminal.read_until(b"ready\r\nready")
        os.close(terminal.master)
        _, status = os.waitpid(terminal.pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 129)
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
