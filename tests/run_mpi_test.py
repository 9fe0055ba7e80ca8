#!/usr/bin/env python3
"""Runs one MPI program once and judges it: result, time, and that nothing is left behind.

    run_mpi_test.py --mpiexec build/release/bin/mpiexec --ranks 4 --wait event --cma 0 -- ./program

Passes if the program prints MPICH's " No Errors" and exits with 0 (or what --expect and its friends
say), within the time limit, and afterwards no process of the job, no file in its temporary
directory and no new entry in /dev/shm is there. At the time limit every rank's state is dumped
(SIGQUIT to mpiexec, then stacks), so that a hang can be understood from the log.
--oracle PREFIX runs the same binary on MPICH's ABI library (decision 1 of the design).
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

MARK = "MEANTIME_TEST_RUN"
SKIPPED = 77  # CTest's SKIP_RETURN_CODE; a program exits with it for "not supported here"


def processes_of(mark):
    """Pids of live processes whose environment carries this run's mark."""
    needle = f"{MARK}={mark}".encode()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as environ:
                if needle not in environ.read():
                    continue
            with open(f"/proc/{name}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "Z":
                    continue
        except OSError:
            continue
        found.append(int(name))
    return sorted(found)


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "gone"


def stacks(pid):
    if shutil.which("gdb"):
        command = ["gdb", "-p", str(pid), "-batch", "-nx", "-ex", "thread apply all bt 24"]
    elif shutil.which("eu-stack"):
        command = ["eu-stack", "-p", str(pid)]
    else:
        return "(neither gdb nor eu-stack is installed)\n"
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL, timeout=30, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return "(no stacks within 30 s)\n"
    return "".join(line + "\n" for line in done.stdout.splitlines()
                   if line.startswith(("#", "Thread")))


def end(pids, number=signal.SIGKILL):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def wait_until_gone(mark, seconds):
    """The processes that are still there after so many seconds."""
    limit = time.monotonic() + seconds
    while True:
        left = processes_of(mark)
        if not left or time.monotonic() > limit:
            return left
        time.sleep(0.02)


class Run:
    """One run of `command` with `ranks` ranks; afterwards `problems` says what is wrong."""

    def __init__(self, options):
        self.options = options
        self.problems = []
        self.mark = uuid.uuid4().hex
        self.directory = tempfile.mkdtemp(prefix="meantime-test-")
        self.scratch = os.path.join(self.directory, "tmp")  # TMPDIR of the job
        os.mkdir(self.scratch)

    def environment(self):
        options, environment = self.options, dict(os.environ)
        for name in list(environment):
            if name.startswith(("MEANTIME_", "MPIR_CVAR_")):
                del environment[name]
        environment[MARK] = self.mark
        environment["TMPDIR"] = self.scratch
        if options.oracle:
            environment["MEANTIME_TEST_EXPECT_LIBRARY"] = "MPICH"
            environment["LD_LIBRARY_PATH"] = os.path.join(options.oracle, "lib")
        else:
            environment["MEANTIME_TEST_EXPECT_LIBRARY"] = "Meantime"
            if options.library:
                environment["LD_LIBRARY_PATH"] = options.library
            else:
                environment.pop("LD_LIBRARY_PATH", None)
            if options.wait:
                environment["MEANTIME_WAIT"] = options.wait
            if options.cma is not None:
                environment["MEANTIME_CMA"] = options.cma
        for setting in options.env:
            name, _, value = setting.partition("=")
            environment[name] = value
        return environment

    def command(self):
        options = self.options
        mpiexec = os.path.join(options.oracle, "bin/mpiexec") if options.oracle else options.mpiexec
        extra = [] if options.oracle else options.mpiexec_argument
        if options.mixed:
            processes = options.ranks // 2
            return [mpiexec, *extra, "-n", str(processes), *options.program, ":", "--as", "threads", "-n",
                    str(options.ranks - processes), *options.program]
        return [mpiexec, *extra, "-n", str(options.ranks), *options.program]

    def dump_states(self, launcher):
        print(f"--- not finished after {self.options.time_limit} s: states of all ranks", flush=True)
        if self.options.oracle is None:
            end([launcher.pid], signal.SIGQUIT)
            time.sleep(2)
        for pid in processes_of(self.mark)[:9]:
            print(f"--- {pid}: {command_line(pid)}\n{stacks(pid)}", flush=True)

    def execute(self):
        options = self.options
        shared_before = set(os.listdir("/dev/shm"))
        out_path, err_path = (os.path.join(self.directory, name) for name in ("out", "err"))
        started = time.monotonic()
        with open(out_path, "wb") as out, open(err_path, "wb") as err:
            launcher = subprocess.Popen(
                self.command(), env=self.environment(), stdout=out, stderr=err,
                stdin=subprocess.PIPE if options.stdin_after else subprocess.DEVNULL)
            try:
                if options.stdin_after:
                    seconds, _, text = options.stdin_after.partition(":")
                    time.sleep(float(seconds))
                    try:
                        launcher.stdin.write(text.encode() + b"\n")
                        launcher.stdin.close()
                    except BrokenPipeError:
                        pass
                if options.kill_launcher_after:
                    time.sleep(options.kill_launcher_after)
                    launcher.kill()
                launcher.wait(max(0.1, options.time_limit - (time.monotonic() - started)))
            except subprocess.TimeoutExpired:
                self.problems.append(f"not finished after {options.time_limit} s")
                self.dump_states(launcher)
                launcher.kill()
                launcher.wait()
            self.seconds = time.monotonic() - started
        # Whatever end the launcher had, all of the job is gone within a second (a little more
        # under load).
        left = wait_until_gone(self.mark, 3)
        for pid in left:
            self.problems.append(f"left behind: process {pid}: {command_line(pid)}")
        end(left)
        wait_until_gone(self.mark, 3)
        self.status = launcher.returncode
        with open(out_path, errors="replace") as file:
            self.out = file.read()
        with open(err_path, errors="replace") as file:
            self.err = file.read()
        if options.oracle is None:
            for name in os.listdir(self.scratch):
                self.problems.append(f"left behind: file {name} in TMPDIR")
            for name in set(os.listdir("/dev/shm")) - shared_before:
                if "meantime" in name:
                    self.problems.append(f"left behind: /dev/shm/{name}")

    def judge(self):
        options = self.options
        if options.expect == "success":
            if self.status == SKIPPED:
                return
            if self.status != 0:
                self.problems.append(f"exit status {self.status}, not 0")
            if not re.search(r"^ No Errors$", self.out, re.M):
                self.problems.append("no line ' No Errors'")
        elif options.expect == "failure":
            if self.status == 0 and not options.kill_launcher_after:
                self.problems.append("exit status 0, but it should fail")
            if re.search(r"^ No Errors$", self.out, re.M):
                self.problems.append("printed ' No Errors'")
        else:  # a number
            if self.status != int(options.expect):
                self.problems.append(f"exit status {self.status}, not {options.expect}")
        for pattern in options.output_has:
            if not re.search(pattern, self.out + self.err, re.M):
                self.problems.append(f"output lacks /{pattern}/")
        for pattern in options.output_lacks:
            if re.search(pattern, self.out + self.err, re.M):
                self.problems.append(f"output has /{pattern}/")
        if options.within and self.seconds > options.within:
            self.problems.append(f"took {self.seconds:.1f} s, should end within {options.within}")

    def report(self, verbose):
        if self.problems or verbose:
            settings = [f"{k}={v}" for k, v in self.environment().items()
                        if k.startswith("MEANTIME_") and k != MARK]
            print("command:", *settings, *self.command())
            for name, text in (("stdout", self.out), ("stderr", self.err)):
                if text:
                    print(f"--- {name}\n{text[-20000:]}", end="" if text.endswith("\n") else "\n")
        for problem in self.problems:
            print("FAILED:", problem)
        sys.stdout.flush()

    def run(self, verbose=False):
        try:
            self.execute()
            self.judge()
            self.report(verbose)
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)
        if self.problems:
            return 1
        return SKIPPED if self.status == SKIPPED else 0


def parser():
    result = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    result.add_argument("--mpiexec", default="mpiexec", help="our launcher")
    result.add_argument("--library", help="directory of libmpi_abi.so.1, if not by run path")
    result.add_argument("--oracle", metavar="PREFIX", help="run on MPICH installed at PREFIX instead")
    result.add_argument("--ranks", type=int, default=2)
    result.add_argument("--wait", help="MEANTIME_WAIT")
    result.add_argument("--cma", choices=["0", "1"], help="cross-memory attach off or on")
    result.add_argument("--time-limit", type=float, default=60, metavar="SECONDS")
    result.add_argument("--within", type=float, metavar="SECONDS",
                        help="the time a correct run takes at most, if part of the promise")
    result.add_argument("--expect", default="success", help="success, failure or an exit status")
    result.add_argument("--output-has", action="append", default=[], metavar="REGEX")
    result.add_argument("--output-lacks", action="append", default=[], metavar="REGEX")
    result.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    result.add_argument("--mpiexec-argument", action="append", default=[], metavar="ARGUMENT")
    result.add_argument("--mixed", action="store_true", help="half of the ranks are threads")
    result.add_argument("--stdin-after", metavar="SECONDS:TEXT",
                        help="a line of standard input that comes late")
    result.add_argument("--kill-launcher-after", type=float, metavar="SECONDS",
                        help="SIGKILL mpiexec; then only what is left behind is judged")
    result.add_argument("--verbose", action="store_true", help="show the output of a success too")
    result.add_argument("program", nargs="+", metavar="-- PROGRAM", help="with its arguments")
    return result


def main():
    options = parser().parse_args()
    return Run(options).run(options.verbose)


if __name__ == "__main__":
    sys.exit(main())
