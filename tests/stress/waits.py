#!/usr/bin/env python3
"""A million waits: random lengths and wakers (tests/mpi/wait_random), every way to wait, process and
thread ranks, while the ranks are stopped, moved, and kept from their CPUs. Nobody may sleep through
what it waits for, and nobody may be woken for nothing in more than one of a hundred sleeps.

    tests/stress/waits.py BUILD_FOLDER [--waits 1000000] [--seed 1]

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

WAITS = ["adaptive", "event", "predicted", "ade", "overprovisioned", "yield"]
KINDS = ["processes", "threads", "threads that move"]
RANKS = [2, 3, 5, 16]
RANKS_COMMANDS = ["wait_random", "meantime-host"]
LONGEST_JOB_S = 300
MOST_IN_VAIN = 0.01

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


def run(build, kind, wait, ranks, disturbed, rounds, seed):
    """One job: its waits, sleeps and wake-ups in vain."""
    tool = lambda name: os.path.join(build, "bin", name)
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        words = [tool("mpiexec"), "-n", str(ranks), "--as", kind.split()[0], "--wait", wait,
                 f"--report={report.name}", os.path.join(build, "tests/mpi/wait_random"),
                 f"--rounds={rounds}", f"--seed={seed}", "--delay=200", "--ask=1"]
        environment = dict(os.environ, MEANTIME_TEST_ALWAYS_MOVE=str(int("move" in kind)))
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
    options = parser.parse_args()
    dice = random.Random(options.seed)
    ways = [(kind, wait) for kind in KINDS for wait in WAITS]
    sums = {way: Sum(0, 0, 0, 0) for way in ways}
    while sum(each.waits for each in sums.values()) < options.waits:
        way = min(ways, key=lambda one: sums[one].waits)
        ranks = dice.choice(RANKS)
        one = run(os.path.realpath(options.build), *way, ranks,
                  dice.choice(["nothing", "others compute", "stopped", "moved"]),
                  rounds=8000 // ranks, seed=dice.randrange(1 << 30))
        sums[way] = Sum(*map(sum, zip(sums[way], one)))
        if sys.stderr.isatty():
            print(f"\r{sum(each.waits for each in sums.values()):>10} waits", end="",
                  file=sys.stderr, flush=True)
    bad = False
    print(f"\n{'ranks':<18} {'wait':<16} {'jobs':>5} {'waits':>9} {'sleeps':>9} {'in vain':>9}")
    for (kind, wait), each in sums.items():
        share = each.in_vain / each.sleeps if each.sleeps else 0
        bad = bad or share > MOST_IN_VAIN
        print(f"{kind:<18} {wait:<16} {each.jobs:>5} {each.waits:>9} {each.sleeps:>9} {share:>9.2%}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
