"""What measuring programs print (bench/common/report.h), and what is kept of it.

A *point* is one thing that is measured: program, ranks, row name and keys. A *sample* is what one run of
a program says about a point. A *summary* is what several runs say.
Standard library only.
"""
from __future__ import annotations

import dataclasses
import json
import statistics

HIGHER_IS_BETTER = {"MB/s", "1e6/s"}


@dataclasses.dataclass(frozen=True, order=True)
class Point:
    program: str
    ranks: int
    name: str
    keys: tuple = ()  # sorted pairs

    @staticmethod
    def of(program, ranks, name, **keys):
        return Point(program, ranks, name, tuple(sorted(keys.items())))

    def key(self, name, otherwise=None):
        return dict(self.keys).get(name, otherwise)


@dataclasses.dataclass(frozen=True)
class Sample:
    unit: str
    median: float
    p99: float | None  # None: the program does not tell
    max: float | None
    samples: int


@dataclasses.dataclass(frozen=True)
class Summary:
    unit: str
    median: float        # of the runs' medians
    low: float           # the smallest and the largest of the runs' medians
    high: float
    p99: float | None    # the median of the runs' p99
    worst: float | None  # the worst of all runs' single values
    runs: int

    @staticmethod
    def of(samples):
        medians = [sample.median for sample in samples]
        unit = samples[0].unit
        p99 = [sample.p99 for sample in samples if sample.p99 is not None]
        # Of a rate the programs call the best value max and the rate of the slowest windows p99.
        worst = p99 if unit in HIGHER_IS_BETTER else [s.max for s in samples if s.max is not None]
        return Summary(unit, statistics.median(medians), min(medians), max(medians),
                       statistics.median(p99) if p99 else None,
                       (min if unit in HIGHER_IS_BETTER else max)(worst) if worst else None, len(samples))

    @property
    def higher_is_better(self):
        return self.unit in HIGHER_IS_BETTER


class Reader:
    """Takes the lines of one run; knows which point was being measured when they stopped."""

    def __init__(self, program, ranks, keys=None):
        self.program, self.ranks = program, ranks
        self.keys = keys or {}  # of all its points, beside those that the program tells
        self.library = ""
        self.samples = {}   # Point -> Sample
        self.skipped = {}   # Point -> why
        self.current = None

    def line(self, text):
        if not text.startswith("{"):
            return
        try:
            said = json.loads(text)
        except json.JSONDecodeError:
            return  # cut off by the end of the run
        if "program" in said:
            self.library = said.get("mpi", "")
        elif "start" in said:
            self.current = self.point(said["start"])
        elif "skip" in said:
            why = said["skip"].pop("why")
            self.skipped[self.point(said["skip"])] = why
        elif "row" in said:
            row = said["row"]
            numbers = {name: row.pop(name) for name in ("unit", "median", "p99", "max", "samples")}
            del row["mean"], row["min"]
            self.samples[self.point(row)] = Sample(**numbers)
            self.current = None

    def point(self, keys):
        keys = {**keys, **self.keys}
        name = keys.pop("name")
        ranks = keys.pop("ranks", self.ranks)  # a bare prototype says its number itself
        return Point.of(self.program, ranks, name, **keys)
