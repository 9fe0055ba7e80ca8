"""What happens to processes that wait, on machines that people use: they are stopped and continued,
moved to other CPUs, kept from them by a quota, traced, and others compute beside them. Each is a
context manager that does it to a job's ranks, again and again, until the `with` ends."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import uuid


class Repeated:
    """Calls `step` in a thread until the `with` ends, with a pause of some milliseconds between.
    What goes wrong in the thread, or that nothing was done at all, fails the test at its end."""

    def __init__(self, pids, seed, pause=0.03):
        self.pids, self.dice, self.pause = pids, random.Random(seed), pause
        self.steps, self.missed, self.failure = 0, None, None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *exception):
        self.over.set()
        self.thread.join()
        if kind is None:  # else the job's own failure says more
            if self.failure is not None:
                raise self.failure
            assert self.steps > 0, f"{type(self).__name__}: nothing was done ({self.missed})"

    def run(self):
        try:
            while not self.over.wait(self.dice.uniform(0, self.pause)):
                try:
                    self.step(self.dice.choice(self.pids))
                    self.steps += 1
                except OSError as missed:  # a rank that has ended, if it is not so each time
                    self.missed = missed
        except BaseException as failure:
            self.failure = failure


class Stopped(Repeated):
    def step(self, pid):
        os.kill(pid, signal.SIGSTOP)
        try:
            self.over.wait(self.dice.uniform(0, self.pause))
        finally:
            os.kill(pid, signal.SIGCONT)


class Moved(Repeated):
    """Its threads get other CPUs: one, or all."""

    all_cpus = sorted(os.sched_getaffinity(0))

    def step(self, pid):
        cpus = self.dice.choice([self.all_cpus, [self.dice.choice(self.all_cpus)]])
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), cpus)


class Traced(Repeated):
    """A debugger is attached, and let go of."""

    @classmethod
    def possible(cls):
        """There is gdb, and the kernel lets it."""
        if shutil.which("gdb") is None:
            return False
        with subprocess.Popen(["sleep", "100"]) as other:
            try:
                cls([other.pid], seed=0).step(other.pid)
                return True
            except (OSError, subprocess.TimeoutExpired):
                return False
            finally:
                other.kill()

    def step(self, pid):
        done = subprocess.run(["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "detach"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=60)
        if done.returncode != 0:
            raise ChildProcessError(f"gdb ended with {done.returncode}: {done.stdout[-500:]}")


def words_of(path):
    with open(path) as file:
        return file.read().split()


class QuotaRefused(Exception):
    """By the kernel, or whoever keeps the control groups here."""


class Quota:
    """They get so much of one CPU, in a control group of their own (version 1 or 2)."""

    roots = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"]
    period_us = 100_000

    def __init__(self, pids, percent):
        self.pids, self.percent = pids, percent
        self.folder = None

    @classmethod
    def root(cls):
        for root in cls.roots:
            control = "cgroup.subtree_control"
            first = root == cls.roots[0] and os.path.exists(f"{root}/cpu.cfs_quota_us")
            with contextlib.suppress(OSError):
                if (first or "cpu" in words_of(f"{root}/{control}")) and os.access(root, os.W_OK):
                    return root
        return None

    def __enter__(self):
        try:
            self.folder = f"{self.root()}/meantime-test-{uuid.uuid4().hex}"
            os.mkdir(self.folder)
        except OSError as error:
            raise QuotaRefused(f"no control group can be made here: {error}") from error
        try:
            self.fill()
        except BaseException as error:  # no __exit__ after this
            self.__exit__()
            if isinstance(error, OSError):
                raise QuotaRefused(f"the control group takes no process: {error}") from error
            raise
        return self

    def fill(self):
        quota = self.period_us * self.percent // 100
        if os.path.exists(f"{self.folder}/cpu.cfs_quota_us"):
            self.write("cpu.cfs_period_us", self.period_us)
            self.write("cpu.cfs_quota_us", quota)
        else:
            self.write("cpu.max", f"{quota} {self.period_us}")
        for pid in self.pids:
            self.write("cgroup.procs", pid)
        self.steps = 1

    def write(self, name, value):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(str(value))

    def __exit__(self, *exception):
        for pid in words_of(f"{self.folder}/cgroup.procs"):
            with contextlib.suppress(OSError), open(f"{self.root()}/cgroup.procs", "w") as file:
                file.write(pid)
        os.rmdir(self.folder)


class Competed:
    """Others compute, in bursts: `count` processes that want all of a CPU half of the time."""

    burst = ("import random, time\n"
             "while True:\n"
             "    end = time.monotonic() + random.uniform(0, 0.02)\n"
             "    while time.monotonic() < end: pass\n"
             "    time.sleep(random.uniform(0, 0.02))\n")

    def __init__(self, count=2):
        self.count = count

    def __enter__(self):
        self.others = [subprocess.Popen([sys.executable, "-c", self.burst])
                       for _ in range(self.count)]
        return self

    def __exit__(self, *exception):
        for other in self.others:
            other.kill()
            other.wait()


class Crowded:
    """Others want all of each of these CPUs, all the time."""

    def __init__(self, cpus, each=1):
        self.cpus = [cpu for cpu in cpus for _ in range(each)]

    def __enter__(self):
        self.others = [subprocess.Popen([sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{cpu}])\n"
                                                               "while True: pass"]) for cpu in self.cpus]
        return self

    def __exit__(self, *exception):
        for other in self.others:
            other.kill()
            other.wait()
