"""The results file: what was measured, on what, when and by which command.

bench/compare can be run in slices; each run replaces the points that it measured and leaves the others. Every
result says which run it is from. Results of another machine are never mixed in.
"""
from __future__ import annotations

import datetime
import json
import shlex
import subprocess

from . import machine
from .measure import Who
from .rows import Point, Summary

FORMAT = 1


def commit():
    """Of this tree, '+' if there are changes beside; empty outside of a repository."""
    done = subprocess.run(["git", "describe", "--always", "--dirty=+", "--exclude=*"], capture_output=True,
                          text=True, check=False)
    return done.stdout.strip()


def this_run(command, quick, repetitions, implementations):
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
        "command": shlex.join(command),
        "commit": commit(),
        "quick": quick,
        "repetitions": repetitions,
        "load before": round(machine.load(), 2),
        "implementations": {one.key: one.name for one in implementations},
    }


class Store:
    def __init__(self):
        self.machine = machine.describe()
        self.runs = []
        self.results = {}  # (Point, Who) -> (Summary | None, run, text: why there is no summary)
        self.failures = []

    @staticmethod
    def load(path):
        """The stored results if they are of this machine, else an empty store."""
        store = Store()
        try:
            data = json.loads(path.read_text())
        except (OSError, json.JSONDecodeError):
            return store
        if data.get("format") != FORMAT or data["machine"] != store.machine:
            return store
        store.runs, store.failures = data["runs"], data["failures"]
        for entry in data["results"]:
            point = Point(entry["program"], entry["ranks"], entry["name"],
                          tuple(sorted(entry["keys"].items())))
            summary = Summary(**entry["summary"]) if entry["summary"] else None
            who = Who(entry["implementation"], entry["setting"])
            store.results[point, who] = (summary, entry["run"], entry["why"])
        return store

    def add(self, findings, run):
        number = len(self.runs)
        self.runs.append(run)
        measured = {point for point, _ in (*findings.samples, *findings.beyond, *findings.skipped)}
        self.results = {key: value for key, value in self.results.items() if key[0] not in measured}
        for (point, who), why in findings.skipped.items():
            self.results[point, who] = (None, number, why)
        for (point, who), seconds in findings.beyond.items():
            self.results[point, who] = (None, number, f"> {seconds:.0f} s")
        for (point, who), samples in findings.samples.items():
            self.results[point, who] = (Summary.of(samples), number, "")
        self.failures = [failure for failure in self.failures
                         if failure["run"] in {run for _, run, _ in self.results.values()}]
        self.failures += [{"run": number, "case": case, "implementation": who.key, "setting": who.setting,
                           "said": text} for (case, who), text in findings.failures.items()]

    def used_runs(self):
        numbers = sorted({number for _, number, _ in self.results.values()})
        return [self.runs[number] for number in numbers]

    def save(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        results = [{"program": point.program, "ranks": point.ranks, "name": point.name,
                    "keys": dict(point.keys), "implementation": who.key, "setting": who.setting,
                    "summary": vars(summary) if summary else None, "run": run, "why": why}
                   for (point, who), (summary, run, why) in sorted(
                       self.results.items(), key=lambda item: (str(item[0][0]), str(item[0][1])))]
        path.write_text(json.dumps({"format": FORMAT, "machine": self.machine, "runs": self.runs,
                                    "failures": self.failures, "results": results}, indent=1) + "\n")

    def name_of(self, key):
        for run in reversed(self.runs):
            if key in run["implementations"]:
                return run["implementations"][key]
        return {"bare": "bare prototype", "ucx": "ucx_perftest"}.get(key, key)
