"""Runs mpiexec as a user would and looks for what it may have left behind."""

import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import foreign_files  # noqa: E402,F401  (beside this folder)
from rank_lines import rank_lines  # noqa: E402,F401

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MEANTIME_BUILD", os.path.join(SOURCE, "build"))
MPIEXEC = os.path.join(BUILD, "bin", "mpiexec")
FAKE_RANK = os.path.join(BUILD, "tests", "launch", "fake_rank")
MARK = "MEANTIME_TEST_MARK"
CFLAGS = os.environ.get("CFLAGS", "").split()
# Under sanitizers thread ranks are for the tests' programs of MPI (label thread_ranks).
THREADS = not CFLAGS and os.path.exists(os.path.join(BUILD, "libexec", "meantime", "meantime-host"))


def processes_of(mark):
    """Living processes that have the mark in their environment: {pid: command}."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if f"{MARK}={mark}".encode() not in file.read():
                    continue
            with open(f"/proc/{entry}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    continue
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                found[int(entry)] = file.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    return found


def shared_files():
    return {name for name in os.listdir("/dev/shm") if "meantime" in name.lower()}


class Result:
    def __init__(self, status, output, error, seconds):
        self.status, self.output, self.error, self.seconds = status, output, error, seconds

    def __repr__(self):
        return f"status {self.status} after {self.seconds:.2f} s\n{self.output}\n{self.error}"


def again_if_slow(test):
    """A test that finds something slow runs again: what Meantime delays is slow each time, what the
    machine delays (other tests, a virtual CPU that got no time) is not slow three times."""

    @functools.wraps(test)
    def wrapped(self):
        for _ in range(3):
            self.slow = []
            test(self)
            if not self.slow:
                return
        self.fail("three times too slow, at last: " + ", ".join(self.slow))

    return wrapped


class MpiexecTest(unittest.TestCase):
    """Each test starts jobs with a mark of its own; at its end nothing with the mark may be left."""

    def __init_subclass__(cls, **words):
        super().__init_subclass__(**words)
        for name, value in list(vars(cls).items()):
            if name.startswith("test_"):
                setattr(cls, name, again_if_slow(value))

    def setUp(self):
        self.mark = uuid.uuid4().hex
        self.folder = tempfile.TemporaryDirectory()
        self.temporary = os.path.join(self.folder.name, "tmp")
        os.mkdir(self.temporary)
        self.environment = dict(os.environ, TMPDIR=self.temporary, **{MARK: self.mark})
        self.environment["XDG_CACHE_HOME"] = os.path.join(self.folder.name, "cache")
        # A rank that crashes on purpose shall die of the signal in sanitized builds too.
        self.environment["ASAN_OPTIONS"] = "handle_segv=0:handle_abort=0:handle_sigbus=0"
        for name in list(self.environment):
            if name.startswith(("MEANTIME_RANK", "MEANTIME_SIZE", "MPIEXEC_TIMEOUT", "PMI")):
                del self.environment[name]
        self.shared_before = shared_files()

    def tearDown(self):
        try:
            self.assert_nothing_left()
        finally:
            for pid in processes_of(self.mark):
                os.kill(pid, signal.SIGKILL)
            self.folder.cleanup()

    def assert_nothing_left(self, within=60.0):
        end = time.monotonic() + within
        while processes_of(self.mark) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(processes_of(self.mark), {}, "processes left behind")
        self.assertEqual(os.listdir(self.temporary), [], "temporary files left behind")
        self.assertEqual(shared_files() - self.shared_before, set(), "shared memory left behind")

    def path(self, name, text=None, mode=0o755):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "wb") as file:
                file.write(text if isinstance(text, bytes) else text.encode())
            os.chmod(path, mode)
        return path

    def start(self, *words, **options):
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("env", self.environment)
        return subprocess.Popen([MPIEXEC, *map(str, words)], **options)

    def run_job(self, *words, timeout=100, binary=False, **options):
        begin = time.monotonic()
        given = options.pop("input", None)
        if given is not None:
            options["stdin"] = subprocess.PIPE
        job = self.start(*words, **options)
        try:
            output, error = job.communicate(given, timeout=timeout)
        except subprocess.TimeoutExpired:
            job.kill()
            job.wait()
            self.fail(f"mpiexec {' '.join(map(str, words))} did not end within {timeout} s")
        seconds = time.monotonic() - begin
        if not binary:
            output = (output or b"").decode()
            error = (error or b"").decode()
        return Result(job.returncode, output, error, seconds)

    def wait_for(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            time.sleep(0.01)
        self.fail(f"waited {seconds} s for {what}")

    def ranks_of(self, count, name="fake_rank"):
        """Waits until that many of the job's processes run `name`; returns their pids."""

        def ranks():
            pids = [pid for pid, command in processes_of(self.mark).items()
                    if name in command.split(" ")[0]]
            return pids if len(pids) >= count else None

        return self.wait_for(ranks, f"{count} ranks")

    def assert_quick(self, seconds, limit=1.0):
        """Within the limit, at least in one of three runs of the whole test (see again_if_slow); on a
        busy machine within as many times the limit as a job takes longer there that does nothing."""
        if seconds < limit:
            return
        begin = time.monotonic()
        subprocess.run([MPIEXEC, "-n", "4", "true"], env=self.environment, stdin=subprocess.DEVNULL,
                       timeout=100, check=True)
        usual = 0.05
        limit *= max(1, (time.monotonic() - begin) / usual)
        if seconds >= limit:
            self.slow.append(f"{seconds:.2f} s instead of {limit:.2f} s")

    def assert_one_line(self, result, *parts):
        lines = result.error.splitlines()
        self.assertEqual(len(lines), 1, result)
        for part in ("mpiexec: ",) + parts:
            self.assertIn(part, lines[0])


main = unittest.main
