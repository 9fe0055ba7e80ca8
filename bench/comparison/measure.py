"""Runs the cases: with every implementation and setting in turn, one repetition after the other.

Interleaved, so that whatever else the machine does hits all alike. What ran into its time limit is not
repeated: it is kept as "more than that".
"""
from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import time

from . import launch, peers, programs
from .rows import Point, Reader, Sample

BARE = "bare"
UCX = "ucx"
UCX_SETTINGS = ((peers.AS_INSTALLED, {}), ("posix, cma", {"UCX_TLS": "posix,cma"}))
UCX_PORT = 13947
JOBS_AT_ONCE = 8


@dataclasses.dataclass(frozen=True)
class Who:
    key: str
    setting: str


@dataclasses.dataclass
class Findings:
    samples: dict = dataclasses.field(default_factory=dict)     # (Point, Who) -> [Sample]
    beyond: dict = dataclasses.field(default_factory=dict)      # (Point, Who) -> seconds before it was stopped
    skipped: dict = dataclasses.field(default_factory=dict)     # (Point, Who) -> why
    failures: dict = dataclasses.field(default_factory=dict)    # (case as text, Who) -> last words

    def add(self, point, who, sample):
        self.samples.setdefault((point, who), []).append(sample)


@dataclasses.dataclass
class Runner:
    implementations: list
    directory: object      # where programs are compiled
    say: object            # say(text): progress
    findings: Findings = dataclasses.field(default_factory=Findings)
    hopeless: set = dataclasses.field(default_factory=set)
    lost_crowds: dict = dataclasses.field(default_factory=dict)  # Who -> ranks with which nothing finishes
    binaries: dict = dataclasses.field(default_factory=dict)

    def compile(self, cases):
        bare = {case.program for case in cases if case.kind == "bare"}
        self.say("compiling the bare prototypes")
        self.binaries[BARE] = programs.compile_bare(bare, self.directory)
        needed = {case.program for case in cases if case.kind in ("mpi", "start", "jobs")}
        for one in list(self.implementations):
            self.say(f"compiling with {one.name}")
            try:
                self.binaries[one.key] = programs.compile_mpi(one, needed, self.directory)
            except programs.CompileError as error:
                self.findings.failures["compiling", Who(one.key, peers.AS_INSTALLED)] = str(error)
                self.implementations.remove(one)

    def contestants(self, case):
        """All that can run a case: [(Who, how)]."""
        if case.kind == "bare":
            return [(Who(BARE, peers.AS_INSTALLED), None)]
        if case.kind == "ucx":
            if not shutil.which("ucx_perftest"):
                return []
            return [(Who(UCX, name), environment) for name, environment in UCX_SETTINGS]
        return [(Who(one.key, setting.name), (one, setting))
                for one in self.implementations for setting in one.settings
                if self.takes_part(case, one, setting)]

    @staticmethod
    def takes_part(case, one, setting):
        if setting.name == peers.AS_THREADS:
            return case.threads
        if not case.peers and one.key not in ("meantime", "ampi"):
            return False
        return setting.applies(case.ranks, 1 if case.one_cpu else None) and (
            case.kind == "mpi" or setting is one.settings[0])

    def repeat(self, cases, repetitions, seconds):
        """Returns how many repetitions were done; begins no run after `seconds`."""
        begin = time.monotonic()
        for repetition in range(repetitions):
            for number, case in enumerate(cases):
                for who, how in self.contestants(case):
                    if seconds and time.monotonic() - begin > seconds:
                        return repetition
                    if (case, who) in self.hopeless or self.in_a_lost_crowd(case, who):
                        continue
                    self.say(f"{repetition + 1}/{repetitions}, case {number + 1}/{len(cases)}: "
                             f"{case.slice}, {case.ranks} ranks, {who.key} ({who.setting})")
                    getattr(self, "run_" + case.kind)(case, who, how)
        return repetitions

    def in_a_lost_crowd(self, case, who):
        """With this many ranks not even one small operation was measured in time: spare us the large ones."""
        lost = self.lost_crowds.get(who)
        if case.program != "oversubscription" or case.slice == "barrier" or not lost or case.ranks < lost:
            return False
        self.findings.failures[f"{case.slice} on {case.ranks} ranks", who] = \
            f"not run: with {lost} ranks a small operation was already stopped by its time limit"
        return True

    def failed(self, case, who, outcome):
        lines = (outcome.errors.strip() or outcome.output.strip()).splitlines()
        said = [line for line in lines if line.strip(" -=")]
        self.findings.failures[f"{case} on {case.ranks} ranks", who] = \
            f"exit status {outcome.status}: {' / '.join(said[-3:])}"
        self.hopeless.add((case, who))

    def run_bare(self, case, who, _):
        self.run_reader(case, who, [self.binaries[BARE][case.program], "--json", *case.arguments], None)

    def run_mpi(self, case, who, how):
        implementation, setting = how
        program = [self.binaries[implementation.key][case.program], "--json", *case.arguments]
        command = implementation.command(case.ranks, program, setting, 1 if case.one_cpu else None)
        if case.one_cpu:
            command = ["taskset", "-c", str(max(os.sched_getaffinity(0))), *command]
        self.run_reader(case, who, command, implementation.environment(setting))

    def run_reader(self, case, who, command, environment):
        reader = Reader(case.program, case.ranks, case.keys)
        began = [time.monotonic()]

        def on_line(text):
            reader.line(text)
            began[0] = time.monotonic()

        outcome = launch.run(command, case.limit, environment, on_line)
        for point, sample in reader.samples.items():
            self.findings.add(point, who, sample)
        for point, why in reader.skipped.items():
            self.findings.skipped[point, who] = why
        if outcome.timed_out:
            self.hopeless.add((case, who))
            if case.slice == "barrier" and not reader.samples:
                self.lost_crowds[who] = min(case.ranks, self.lost_crowds.get(who, case.ranks))
            if reader.current:
                self.findings.beyond[reader.current, who] = time.monotonic() - began[0]
        elif outcome.status:
            self.failed(case, who, outcome)

    def add_time(self, case, who, name, seconds, **keys):
        value = seconds * 1e3
        self.findings.add(Point.of(case.program, case.ranks, name, **keys), who,
                          Sample("ms", value, value, value, 1))

    def run_start(self, case, who, how):
        implementation, setting = how
        command = implementation.command(
            case.ranks, [self.binaries[implementation.key][case.program]], setting)
        outcome = launch.run(command, case.limit, implementation.environment(setting))
        if outcome.timed_out:
            self.hopeless.add((case, who))
            self.findings.beyond[Point.of(case.program, case.ranks, "start to end"), who] = outcome.seconds
        elif outcome.status:
            self.failed(case, who, outcome)
        else:
            self.add_time(case, who, "start to end", outcome.seconds)

    def run_jobs(self, case, who, how):
        """The same job eight times, one after another and then all at once."""
        implementation, setting = how
        command = implementation.command(
            case.ranks, [self.binaries[implementation.key][case.program], *case.arguments], setting)
        environment = implementation.environment(setting)
        results = {}
        for at_once in (1, JOBS_AT_ONCE):
            began = time.monotonic()
            outcome = run_jobs(command, environment, at_once, case.limit)
            if outcome is not None:
                return self.jobs_stopped(case, who, at_once, outcome)
            results[at_once] = time.monotonic() - began
        for at_once, seconds in results.items():
            self.add_time(case, who, "eight jobs", seconds, **{"at once": at_once})
        return None

    def jobs_stopped(self, case, who, at_once, outcome):
        self.hopeless.add((case, who))
        if outcome.timed_out:
            point = Point.of(case.program, case.ranks, "eight jobs", **{"at once": at_once})
            self.findings.beyond[point, who] = outcome.seconds
        else:
            self.failed(case, who, outcome)

    def run_ucx(self, case, who, environment):
        size, turns = case.arguments
        sample = ucx_ping_pong(size, turns, environment, case.limit)
        if isinstance(sample, Sample):
            self.findings.add(Point.of("latency", 2, "ping-pong", bytes=int(size), buffers=1), who, sample)
        else:
            self.failed(case, who, sample)


def run_jobs(command, environment, at_once, limit):
    """Eight jobs, `at_once` at a time. None, or the Outcome of a job that did not end well."""
    end = time.monotonic() + limit
    running, left = [], JOBS_AT_ONCE
    try:
        while left or running:
            while left and len(running) < at_once:
                running.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
                left -= 1
            for job in list(running):
                if job.poll() is not None:
                    running.remove(job)
                    if job.returncode:
                        return launch.Outcome(0, 0, "", "one of eight jobs failed", job.returncode, False)
            if time.monotonic() > end:
                return launch.Outcome(limit, 0, "", "", 0, True)
            time.sleep(0.001)
    finally:
        for job in running:
            launch.stop(job)
            job.wait()
    return None


def ucx_perftest(arguments, environment, limit):
    """The client's Outcome. Both processes bound, to the first and the last CPU."""
    cpus = sorted(os.sched_getaffinity(0))
    environment = {**os.environ, **environment}
    common = ["-p", str(UCX_PORT)]
    server = subprocess.Popen(["ucx_perftest", *common, "-c", str(cpus[-1])], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        return launch.run(["ucx_perftest", *common, "-c", str(cpus[0]), "127.0.0.1", *arguments, "-f", "-v"], limit,
                          environment)
    finally:
        launch.stop(server)
        server.wait()


def ucx_ping_pong(size, turns, environment, limit):
    """A Sample, or the Outcome of a run that failed."""
    outcome = ucx_perftest(["-t", "tag_lat", "-s", size, "-n", turns, "-w", str(max(10, int(turns) // 10)), "-R", "50"],
                           environment, limit)
    value = ucx_figure(outcome.output, 1)
    if outcome.timed_out or outcome.status or value is None:
        return outcome
    return Sample("us", value, None, None, int(turns))


def ucx_figure(output, column):
    """Of the last line (-f -v: iterations, percentile of the latency in us, …, overall messages a second)."""
    for line in reversed(output.strip().splitlines()):
        figures = line.split(",")
        try:
            return float(figures[column])
        except (IndexError, ValueError):
            continue
    return None
