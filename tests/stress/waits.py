#!/usr/bin/env python3
"""A million waits: random lengths and wakers (tests/mpi/wait_random), every way to wait, process ranks,
thread ranks, and ranks with several threads of their own, while they are stopped, moved, and kept from
their CPUs. Nobody may sleep through what it waits for, and nobody may be woken for nothing in more than
one of a hundred sleeps.

    tests/stress/waits.py BUILD_FOLDER [--waits 1000000] [--seed 1] [--only TEXT]

Prints a line for each kind of rank and way to wait; exit status 1 if a job hung, failed, or was woken
in vain too often. A job that hangs is shown by `meantime stack` before it is ended."""

import argparse
import collections
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
from disturb import Competed, Moved, Stopped  # noqa: E402

# timeout: MEANTIME_TIMEOUT in us; threads: of each rank, all in MPI at the same time.
Way = collections.namedtuple("Way", "kind wait timeout threads", defaults=[None, 1])
WAITS = ["adaptive", "event", "predicted", "ade", "overprovisioned", "yield"]
KINDS = ["processes", "threads", "threads that move"]
WAYS = [Way(kind, wait) for kind in KINDS for wait in WAITS]
WAYS += [Way(kind, "event", timeout=50) for kind in KINDS]  # sleeps end by themselves all the time
WAYS += [Way(kind, wait) for kind in ("threads of two processes", "processes and threads")
         for wait in ("adaptive", "event", "yield")]
WAYS += [Way("processes", "poll")]
WAYS += [Way("processes", wait, threads=3) for wait in ("adaptive", "event", "predicted", "ade")]
WAYS += [Way("processes", "event", timeout=50, threads=3)]
RANKS = [2, 3, 5, 16]
RANKS_COMMANDS = ["wait_random", "meantime-host"]
LONGEST_JOB_S = 300
MOST_IN_VAIN = 0.01
ENOUGH_SLEEPS = 1000  # to speak of a share

Sum = collections.namedtuple("Sum", "jobs waits sleeps in_vain")


def children_of(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children") as file:
        for child in map(int, file.read().split()):
            yield child
            yield from children_of(child)


def ranks_of(job):
    end = time.monotonic() + 60
    while job.poll() is None and time.monotonic() < end:
        pids = [pid for pid in children_of(job.pid) if command_of(pid) in RANKS_COMMANDS]
        if pids:
            return pids
        time.sleep(0.01)
    return []


def command_of(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as file:
        return file.read().strip()
    return ""


def disturbance(name, pids, seed):
    return {"nothing": lambda: contextlib.nullcontext(),
            "others compute": lambda: Competed(),
            "stopped": lambda: Stopped(pids, seed),
            "moved": lambda: Moved(pids, seed, pause=0.01)}[name]()


def name_of(way):
    return (way.wait + (f", at most {way.timeout} us" if way.timeout is not None else "")
            + (f", {way.threads} threads each" if way.threads > 1 else ""))


def ranks_for(way, dice):
    if way.wait == "poll":
        return 2  # more of them than cores crawl
    return dice.choice(RANKS if way.threads == 1 else RANKS[:-1])


def run(build, way, ranks, disturbed, rounds, seed):
    """One job: its waits, sleeps and wake-ups in vain."""
    tool = lambda name: os.path.join(build, "bin", name)
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        program = [os.path.join(build, "tests/mpi/wait_random"), f"--rounds={rounds // way.threads}",
                   f"--seed={seed}", "--delay=200", "--ask=1"]
        program += [f"--threads={way.threads}", "--unmatched=1"] if way.threads > 1 else []
        first = ranks // 2 if way.kind == "processes and threads" else ranks
        words = [tool("mpiexec"), "-n", str(first), "--as", way.kind.split()[0], "--wait", way.wait,
                 f"--report={report.name}"]
        words += ["--ranks-per-process", str((ranks + 1) // 2)] if "two processes" in way.kind else []
        words += program
        if first < ranks:
            words += [":", "--as", "threads", "-n", str(ranks - first), *program]
        environment = dict(os.environ, MEANTIME_TEST_ALWAYS_MOVE=str(int("move" in way.kind)))
        if way.timeout is not None:
            environment["MEANTIME_TIMEOUT"] = str(way.timeout)
        job = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL)
        pids = ranks_of(job)
        try:
            with disturbance(disturbed, pids, seed) if pids else contextlib.nullcontext() as one:
                while getattr(one, "steps", 1) == 0 and job.poll() is None:
                    time.sleep(0.001)
                job.communicate(b"\n", timeout=LONGEST_JOB_S)
                status = job.returncode
        except subprocess.TimeoutExpired:
            subprocess.run([tool("meantime"), "stack", str(job.pid)], check=False)
            job.terminate()
            job.wait()
            status = "hung"
        if status != 0:
            raise SystemExit(f"{' '.join(words)}, {disturbed}: {status}")
        ranks_in_report = json.load(report)["ranks"]
        return Sum(1, *(sum(rank[name] for rank in ranks_in_report)
                        for name in ("waits", "sleeps", "rung_in_vain")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="folder of a build with its tests")
    parser.add_argument("--waits", type=int, default=1_000_000, help="in all (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="ways whose line would have this text in it")
    options = parser.parse_args()
    dice = random.Random(options.seed)
    ways = [way for way in WAYS if options.only in f"{way.kind} {name_of(way)}"]
    sums = {way: Sum(0, 0, 0, 0) for way in ways}
    while sum(each.waits for each in sums.values()) < options.waits:
        way = min(ways, key=lambda one: sums[one].waits)
        ranks = ranks_for(way, dice)
        one = run(os.path.realpath(options.build), way, ranks,
                  dice.choice(["nothing", "others compute", "stopped", "moved"]),
                  rounds=8000 // ranks, seed=dice.randrange(1 << 30))
        sums[way] = Sum(*map(sum, zip(sums[way], one)))
        if sys.stderr.isatty():
            print(f"\r{sum(each.waits for each in sums.values()):>10} waits", end="",
                  file=sys.stderr, flush=True)
    bad = False
    print(f"\n{'ranks':<24} {'wait':<34} {'jobs':>5} {'waits':>9} {'sleeps':>9} {'in vain':>9}")
    for way, each in sums.items():
        share = each.in_vain / each.sleeps if each.sleeps else 0
        too_often = share > MOST_IN_VAIN and each.sleeps >= ENOUGH_SLEEPS
        bad = bad or too_often
        print(f"{way.kind:<24} {name_of(way):<34} {each.jobs:>5} {each.waits:>9} {each.sleeps:>9} "
              f"{share:>9.2%}{'  too often' if too_often else ''}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
