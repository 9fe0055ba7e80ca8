"""After any end nothing stays: no process, no shared memory, no temporary file. SIGKILL of mpiexec,
of its supervisor, of all that bears its name, of its process group."""

import contextlib
import fcntl
import os
import re
import signal
import subprocess
import termios
import time

from mpiexec import FAKE_RANK, MPIEXEC, MpiexecTest, main, processes_of


def supervisor_of(pid, pause=0.01):
    """Once mpiexec has started it."""
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            if children := file.read().split():
                return int(children[0])
        time.sleep(pause)
    raise AssertionError(f"mpiexec ({pid}) has no supervisor")


def kill_both(job):
    """mpiexec and its supervisor, so that neither has time to clean up after the other."""
    supervisor = supervisor_of(job.pid)
    os.kill(supervisor, signal.SIGSTOP)
    job.kill()
    os.kill(supervisor, signal.SIGKILL)


def wait_until_it_says_when_it_goes(pid):
    """mpiexec has a descriptor by which the kernel signals its supervisor (front.cpp): O_ASYNC."""
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        for name in os.listdir(f"/proc/{pid}/fdinfo"):
            try:
                with open(f"/proc/{pid}/fdinfo/{name}") as file:
                    if re.search(r"^flags:\s+[0-7]*[2367][0-7]{4}$", file.read(), re.M):
                        return
            except FileNotFoundError:
                pass
    raise AssertionError(f"mpiexec ({pid}) has no such descriptor")


def process_name(pid):
    with open(f"/proc/{pid}/comm") as file:
        return file.read().strip()


RANKS = {
    "sleeping": [FAKE_RANK, "init", "sleep=60"],
    "computing": [FAKE_RANK, "init", "compute"],
    "computing before MPI_Init": [FAKE_RANK, "compute"],
    "stopped": [FAKE_RANK, "init", "stop"],
    "blocking and handling signals": [FAKE_RANK, "init", "block=15", "handle=2", "handle=1",
                                      "sleep=60"],
    "with a child": [FAKE_RANK, "init", "fork", "sleep=60"],
    "with a daemon": [FAKE_RANK, "init", "daemon", "sleep=60"],
    "through a shell": ["sh", "-c", f"{FAKE_RANK} init compute; true"],
    "through a shell, without MPI": ["sh", "-c", "sleep 60; true"],
    "through a shell, stopped": ["sh", "-c", f"{FAKE_RANK} init stop; true"],
    "through two shells, own session": ["sh", "-c", f"setsid sh -c '{FAKE_RANK} init compute'; true"],
    "an ignoring script": ["sh", "-c", "trap '' TERM INT HUP; while :; do sleep 0.1; done"],
}


class Kill(MpiexecTest):
    def start_ranks(self, words, *options, **popen):
        """Three ranks which have done what they do first: those that say so have said so."""
        words = [word.replace("init", "init print=ready") if " " in word else word for word in words]
        if "init" in words:
            words.insert(words.index("init") + 1, "print=ready")
        job = self.start(*options, "-n", 3, *words, **popen)
        if any("print=ready" in word for word in words):
            for _ in range(3):
                self.assertIn(b"ready", job.stdout.readline())
        # mpiexec, its supervisor, three ranks; then a moment for what they start themselves.
        self.wait_for(lambda: len(processes_of(self.mark)) >= 5, "the ranks")
        time.sleep(0.2)
        return job

    def assert_all_gone(self, job):
        job.wait(timeout=60)
        job.stdout.close()
        job.stderr.close()
        self.assert_nothing_left()

    def test_kill_mpiexec(self):
        for name, words in RANKS.items():
            with self.subTest(name):
                job = self.start_ranks(words)
                job.kill()
                self.assert_all_gone(job)

    def test_kill_mpiexec_with_labels(self):
        job = self.start_ranks(RANKS["through a shell"], "-l")
        job.kill()
        self.assert_all_gone(job)

    def test_kill_supervisor(self):
        for name, words in RANKS.items():
            with self.subTest(name):
                job = self.start_ranks(words)
                os.kill(supervisor_of(job.pid), signal.SIGKILL)
                self.assertEqual(job.wait(timeout=60), 137)
                self.assertIn(b"was killed by signal 9", job.stderr.read())
                self.assert_all_gone(job)

    def test_kill_both(self):
        # Nobody is left to clean up: the kernel ends the ranks that have called MPI_Init.
        for name in ("sleeping", "computing", "computing before MPI_Init", "stopped",
                     "blocking and handling signals", "through a shell",
                     "through a shell, stopped", "through two shells, own session"):
            with self.subTest(name):
                job = self.start_ranks(RANKS[name])
                kill_both(job)
                self.assert_all_gone(job)

    def test_kill_supervisor_beside_a_stopped_mpiexec(self):
        job = self.start_ranks(RANKS["with a daemon"])
        os.kill(job.pid, signal.SIGSTOP)
        os.kill(supervisor_of(job.pid), signal.SIGKILL)
        self.assertEqual(job.wait(timeout=60), 137)
        self.assert_all_gone(job)

    def test_kill_mpiexec_beside_a_stopped_supervisor(self):
        for name in ("sleeping", "with a daemon", "through a shell, without MPI", "stopped"):
            with self.subTest(name):
                job = self.start_ranks(RANKS[name])
                os.kill(supervisor_of(job.pid), signal.SIGSTOP)
                job.kill()
                self.assert_all_gone(job)

    def test_kill_mpiexec_beside_a_supervisor_stopped_at_once(self):
        """That has not even its name yet, mostly."""
        for _ in range(10):
            job = self.start("-n", 2, "sleep", 60)
            os.kill(supervisor_of(job.pid, pause=0), signal.SIGSTOP)
            wait_until_it_says_when_it_goes(job.pid)
            job.kill()
            self.assert_all_gone(job)

    def test_kill_by_name(self):
        # killall and pkill go by the process name, pkill -f by the arguments.
        job = self.start_ranks(RANKS["through a shell, without MPI"])
        supervisor = supervisor_of(job.pid)
        self.assertEqual(process_name(job.pid), "mpiexec")
        self.assertNotIn("mpiexec", process_name(supervisor))
        with open(f"/proc/{supervisor}/cmdline") as file:
            self.assertNotIn("mpiexec", file.read())
        job.kill()
        self.assert_all_gone(job)

    def test_kill_process_group(self):
        for name, words in RANKS.items():
            with self.subTest(name):
                job = self.start_ranks(words, start_new_session=True)
                os.killpg(job.pid, signal.SIGKILL)
                self.assert_all_gone(job)

    def test_kill_everything_at_once(self):
        job = self.start_ranks(RANKS["with a child"])
        for pid in processes_of(self.mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.assert_all_gone(job)

    def test_kill_while_starting(self):
        for delay in (0, 0.002, 0.005, 0.01, 0.02, 0.03):
            job = self.start("-n", 64, FAKE_RANK, "init", "compute")
            time.sleep(delay)
            job.kill()
            self.assert_all_gone(job)

    def test_supervisor_alone_told_while_starting(self):
        # -v writes a line for each rank: a full pipe holds the supervisor between two of them.
        folder = self.path("l" * 200)
        os.mkdir(folder)
        os.symlink(FAKE_RANK, os.path.join(folder, "fake_rank"))
        longest = len(f"mpiexec: rank 29 is pid 1234567 ({folder}/fake_rank)\n")
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1):
            reader, writer = os.pipe()
            room = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
            if room > 4096:
                self.skipTest("memory pages are larger here")
            job = self.start("-v", "-n", 30, os.path.join(folder, "fake_rank"), "init", "sleep=60",
                             stderr=writer)
            os.close(writer)
            self.wait_for(lambda: int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)),
                                                 "little") + longest > room, "a full pipe")
            os.kill(supervisor_of(job.pid), number)
            with open(reader, "rb") as pipe:
                last = pipe.read().splitlines()[-1]
            self.assertEqual(job.wait(timeout=60), 128 + number)
            self.assertIn(b"rank 29 ", last)
            job.stdout.close()
            self.assert_nothing_left()

    def test_end_of_the_parent_shell(self):
        script = self.path("script", f"#!/bin/sh\n{MPIEXEC} -n 2 {FAKE_RANK} init compute\n")
        shell = subprocess.Popen([script], env=self.environment, start_new_session=True,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.ranks_of(2)
        os.killpg(shell.pid, signal.SIGTERM)
        shell.wait(timeout=60)
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
