"""Ranks that each run in namespaces of their own, as container runtimes make them. In PID namespaces
all have the same pid. And ranks in a control group with little memory."""

import contextlib
import itertools
import os
import signal
import subprocess

from mpiexec import BUILD, CFLAGS, FAKE_RANK, SOURCE, MpiexecTest, main
from test_kill import kill_both

PROGRAM = os.path.join(SOURCE, "tests", "launch", "namespaces.c")
# Without address randomisation the ranks' buffers have the same addresses, too.
PID = ("setarch -R unshare -pf --mount-proc", "setarch -R unshare -pf")
OTHERS = ("unshare -Ur", "unshare -m", "unshare -i", "unshare -n", "unshare -u",
          "setarch -R unshare -Urmpfinu --mount-proc")


def refused(words):
    """Why namespaces cannot be made here; else nothing."""
    try:
        tried = subprocess.run([*words, "true"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               timeout=60)
    except OSError as error:
        return str(error)
    return tried.stdout.decode() or f"status {tried.returncode}" if tried.returncode != 0 else ""


class Namespaces(MpiexecTest):
    def wrapper(self, words):
        words = words.split()
        if why := refused(words):
            self.skipTest(f"{' '.join(words)}: {why.strip()}")
        return words

    def program(self):
        output = self.path("namespaces")
        subprocess.run([os.path.join(BUILD, "bin", "mpicc"), "-O1", *CFLAGS, PROGRAM, "-o", output],
                       check=True)
        return output

    def test_messages(self):
        program = self.program()
        for words in PID + OTHERS:
            with self.subTest(words):
                result = self.run_job("-n", 3, *self.wrapper(words), program)
                self.assertEqual((result.status, result.output), (0, "0 wrong\n"), result)

    def test_no_deadlock(self):
        # The searcher sees a thread of its own process, and must not take it for the other's.
        program = self.program()
        for words in PID:
            with self.subTest(words):
                result = self.run_job("-n", 2, *self.wrapper(words), program, "thread")
                self.assertEqual((result.status, result.output), (0, "0 wrong\n"), result)

    def test_deadlock_names_places(self):
        # A rank may not look into the others, mpiexec may.
        program = self.program()
        for words in OTHERS[:-1]:
            with self.subTest(words):
                result = self.run_job("-n", 2, *self.wrapper(words), program, "deadlock")
                self.assertEqual(result.status, 125, result)
                self.assertEqual(result.error.count("called from main (namespaces"), 2, result)

    def test_time_limit_shows_what_ranks_do(self):
        words = self.wrapper(PID[0])
        result = self.run_job("--timeout", 1.5, "-n", 2, *words, self.program(), "thread")
        self.assertEqual(result.status, 124, result)
        self.assertIn("rank 1 (pid 1 in its own namespace) waits in MPI_Recv for rank 0", result.error)

    def test_kill_both(self):
        # SIGKILL as a lifeline's signal is not for the first process of a namespace, nor is SIGSTOP
        # from inside: who is outside stops it.
        for words, stopped in itertools.product(PID, (False, True)):
            with self.subTest(words, stopped=stopped):
                job = self.start("-n", 3, *self.wrapper(words), FAKE_RANK, "init", "print=ready",
                                 "compute")
                for _ in range(3):
                    self.assertIn(b"ready", job.stdout.readline())
                for rank in self.ranks_of(3) if stopped else ():
                    os.kill(rank, signal.SIGSTOP)
                kill_both(job)
                job.wait(timeout=60)
                job.stdout.close()
                job.stderr.close()
                self.assert_nothing_left()

    def test_kill_both_while_somebody_continues_a_rank(self):
        # The kernel drops the lifeline's SIGCONT, as one is pending already.
        job = self.start("-n", 2, *self.wrapper(PID[1]), FAKE_RANK, "handle=10", "init",
                         f"block={signal.SIGCONT:d}", "print=ready", "await", f"unblock={signal.SIGCONT:d}", "compute")
        for _ in range(2):
            self.assertIn(b"ready", job.stdout.readline())
        ranks = self.ranks_of(2)
        for rank in ranks:
            os.kill(rank, signal.SIGCONT)
        kill_both(job)
        job.communicate(timeout=60)
        for rank in ranks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rank, signal.SIGUSR1)
        self.assert_nothing_left()

    def test_stop_and_continue(self):
        job = self.start("-n", 2, *self.wrapper(PID[1]), FAKE_RANK, "handle=10", "init", "print=ready",
                         "await", "finalize")
        for _ in range(2):
            self.assertIn(b"ready", job.stdout.readline())
        for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGUSR1):
            for rank in self.ranks_of(2):
                os.kill(rank, number)
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0)

    def test_without_proc(self):
        words = [*self.wrapper("unshare -m"), "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        done = subprocess.run([*words, os.path.join(BUILD, "bin", "mpiexec"), "-n", "2", "true"], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        # Among others in a sanitizer's build, which misses /proc, too.
        self.assertIn("mpiexec: there is no /proc, which ranks need (mount -t proc proc /proc)", done.stderr.splitlines())

    def memory_group(self, limit):
        """A control group of its own, as a container has it."""
        for mount, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            group = os.path.join(mount, f"meantime-test-{os.getpid()}")
            try:
                os.mkdir(group)
            except OSError:
                continue
            self.addCleanup(os.rmdir, group)
            try:
                with open(os.path.join(group, file), "r+") as setting:
                    setting.write(str(limit))
                return group
            except OSError:
                continue
        self.skipTest("no control group with a limit of memory can be made here")

    @staticmethod
    def run_in(group, *words):
        return subprocess.run(["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group,
                               os.path.join(BUILD, "bin", "mpiexec"), *words],
                              capture_output=True, text=True, timeout=100)

    def test_memory_of_a_container(self):
        # Room as the machine has it would be too much: the kernel would kill a rank.
        # (With AddressSanitizer mpiexec's two processes alone have 80 MiB, and each rank tens.)
        group = self.memory_group((400 if CFLAGS else 150) << 20)
        flood = self.path("flood")
        subprocess.run([os.path.join(BUILD, "bin", "mpicc"), *CFLAGS, os.path.join(SOURCE, "tests", "launch", "flood.c"),
                        "-o", flood], check=True)
        done = self.run_in(group, "-n", "2", flood, "3000000")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("fill the room that there is for them", done.stderr)

    def test_a_program_that_eats_the_memory_of_a_container(self):
        # With AddressSanitizer mpiexec's two processes have 80 MiB, and would be the kernel's first choice.
        mebibytes = 600 if CFLAGS else 100
        done = self.run_in(self.memory_group(mebibytes << 20), "-n", "1", "tail", "/dev/zero")
        self.assertEqual(done.returncode, 128 + signal.SIGKILL, done.stderr)
        self.assertRegex(done.stderr, rf"was killed by signal 9 \(Killed\), for want of memory \(there are {mebibytes} MiB for all\)")


if __name__ == "__main__":
    main()
