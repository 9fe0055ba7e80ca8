"""What is run to see who moves messages while ranks compute: programs, and how each is started on two nodes of a cluster with a
delay (../cluster): by Meantime without and with helpers, with process ranks and with thread ranks, V of them for each of the two
CPUs, and by Open MPI and MPICH.

A *case* is a program with its options. A *figure* is (what,) -> rows.Sample, as of all contestants; of Meantime also
("in", call): seconds that the mean rank waited in that call, and messages that were taken in for a rank that computed, by a
helper ("helped",) or by other ranks of its process that waited ("carried",).
"""
from __future__ import annotations

import dataclasses
import json
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))
import started  # noqa: E402
from comparison import launch, peers, programs  # noqa: E402
from comparison.rows import Sample  # noqa: E402
from contestants import Contestant, Failed  # noqa: E402

LIMIT = 900  # seconds for one run of somebody else's program; for ours:
SHORT_LIMIT = 120
HELPERS = ("off", "auto", "on")


@dataclasses.dataclass(frozen=True)
class Case:
    title: str
    program: str       # a source beside this file, or another's program, as built by hand
    words: tuple
    link: tuple        # options of meantime cluster
    per_cpu: tuple     # values of V
    time: str          # the figure that counts


LATENCY = ("--delay", "1ms", "--bandwidth", "1gbit")
NARROW = ("--delay", "1ms", "--bandwidth", "200mbit")
PATTERN = ("--long-us", "30000", "--short-us", "5000", "--turns", "20", "--batches", "3")
CASES = {
    "pattern": Case("The pattern, unbalanced", "collaborative", PATTERN, LATENCY, (1,), "turn"),
    "pattern-balanced": Case("The pattern, balanced", "collaborative", (*PATTERN, "--balanced"), LATENCY, (1,), "turn"),
    "mhd": Case("Magnetohydrodynamics, unbalanced", "mhd", ("--steps", "50"), NARROW, (1, 2, 4), "step"),
    "mhd-balanced": Case("Magnetohydrodynamics, balanced", "mhd", ("--steps", "50", "--balanced"), NARROW, (1, 2, 4), "step"),
    "particles": Case("Particles", "particles", (), NARROW, (1, 2, 4), "step"),
    "bt.A": Case("NPB BT, class A", "bt.A.x", (), LATENCY, (2,), "run"),
    "bt.B": Case("NPB BT, class B", "bt.B.x", (), LATENCY, (2,), "run"),
}
OURS = tuple(name for name, case in CASES.items() if not case.program.endswith(".x"))


def figures_of(output):
    """Rows of a program of ours, or what NPB says at its end."""
    found = {(name,): sample for (name, *_), sample in Contestant.figures(output)}
    seconds = re.search(r"Time in seconds\s*=\s*([\d.]+)", output)
    if seconds and re.search(r"Verification\s*=\s*SUCCESSFUL", output):
        found["run",] = Sample("us", float(seconds[1]) * 1e6, None, None, 1)
    return found


def reported(path, ranks):
    """Of the JSON that mpiexec --report=FILE has written."""
    report = json.loads(Path(path).read_text(encoding="utf-8"))
    for call in report["calls"]:
        yield ("in", call["call"]), Sample("s", call["seconds"] / ranks, None, None, call["waits"])
    for what in ("helped", "carried"):
        yield (what,), Sample("", sum(rank[what]["messages"] for rank in report["ranks"]), None, None, 1)


class Started:
    """One case, by one MPI in one way."""

    def __init__(self, name, contestant, ranks, reports, limit):
        self.name, self.contestant, self.ranks, self.reports, self.limit = name, contestant, ranks, reports, limit

    def __str__(self):
        return str(self.contestant)

    def run(self, extra=()):
        one = self.contestant
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            command = [*one.command, *extra]
            if self.reports:
                command.insert(command.index("-n"), f"--report={report.name}")
            outcome = launch.run(command, self.limit, {**(one.environment or {}), **dict(one.variables)})
            found = figures_of(outcome.output)
            if outcome.timed_out or outcome.status or not found:
                why = "did not end" if outcome.timed_out else outcome.errors.strip() or outcome.output[-300:] or outcome.status
                raise Failed(f"{one}: {why}")
            return {**found, **(dict(reported(report.name, self.ranks)) if self.reports else {})}


class Everybody:
    """By case: lists of Started."""

    def __init__(self, options):
        self.ours = peers.meantime(options.prefix) or sys.exit(f"{options.prefix}: no Meantime there")
        self.others = peers.installed_peers() if options.peers else []
        self.work, self.foreign = Path(options.work), options.others
        self.cases = {name: list(self.contestants(CASES[name])) for name in options.only.split(",")}

    def program(self, case, implementation):
        if case.program.endswith(".x"):
            if not self.foreign:
                sys.exit(f"{case.title}: --others does not say where {case.program} is")
            return Path(self.foreign, implementation.key, case.program)
        target = self.work / implementation.key / case.program
        target.parent.mkdir(parents=True, exist_ok=True)
        programs.compile_one(implementation.cxx, programs.CXX_FLAGS, f"collaborative/{case.program}.cpp", target)
        return target

    def contestants(self, case):
        ranks = [2 * per_cpu for per_cpu in case.per_cpu]
        json_, limit = ((), LIMIT) if case.program.endswith(".x") else (("--json",), SHORT_LIMIT)
        ours = [self.program(case, self.ours), *case.words, *json_]
        for per_cpu, count in zip(case.per_cpu, ranks):
            for kind in ("processes", "threads"):
                for helper in HELPERS:
                    one = started.by_meantime("", self.ours, 2, count, case.link, ours, ("--as", kind), [("MEANTIME_HELPER", helper)])
                    yield Started(f"{kind}, V = {per_cpu}, helper {helper}", one, count, True, limit)
        for peer in self.others:
            for per_cpu, count in zip(case.per_cpu, ranks):
                one = started.by_peer(peer, self.ours, 2, count, case.link, [self.program(case, peer), *case.words, *json_])
                yield Started(f"{peer.name}, V = {per_cpu}", one, count, False, limit)
