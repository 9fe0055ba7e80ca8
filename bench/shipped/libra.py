"""meantime bench libra: LIBRA over sizes, delays, modes of waiting and MPIs.

Parts of the grid:
  grid  two CPUs, constant delays, all sizes: the paper's Figures 7 and 8
  late  two CPUs, 8 bytes, delays that jitter or are bimodal
  bare  no MPI at all (meantime-wakeup): what polling and a futex take, the floor; goes with grid and with one
  one   both ranks on one CPU, both in the same mode, 50 µs late: the paper's Figure 2
"""
from __future__ import annotations

import contextlib
import dataclasses
import os
from pathlib import Path

from comparison import peers, programs

from . import libra_drawing, option_types, results, wakeup
from .libra_tables import tables  # noqa: F401

PARTS = ("grid", "late", "bare", "one")
MODES = "poll,yield,event,adaptive,predicted"
LIMIT = 600  # seconds for one run
ONE_CPU = {"bytes": "8", "delays": "50"}
ONE_CPU_TURNS = {True: "50", False: "200"}  # a poller holds the CPU for a whole tick a turn
figures = libra_drawing.figures


@dataclasses.dataclass(frozen=True)
class Contestant:
    implementation: peers.Implementation
    program: Path
    mode: str  # empty: as installed

    @property
    def name(self):
        return f"{self.implementation.name.split()[0]} {self.mode or 'as installed'}" \
            if self.implementation.key == "meantime" else f"{self.implementation.name} {self.mode or 'as installed'}"

    def run(self, *words, realtime=False, one_cpu=False):
        # Open MPI binds ranks to cores that its own affinity mask does not have.
        unbound = one_cpu and self.implementation.key == "openmpi"
        setting = peers.Setting("unbound", ("--bind-to", "none")) if unbound else None
        command = self.implementation.command(2, [self.program, "--json", *words], setting)
        environment = {name: value for name, value in self.implementation.environment().items()
                       if not name.startswith("MEANTIME_")}
        ahead = results.FAVOURED if one_cpu else results.REALTIME
        return results.run_json([*(ahead if realtime else ()), *command], LIMIT, environment)

    def modes(self, both=False):
        if not self.mode:
            return ()
        return ("--mode", self.mode, *(("--sending-mode", self.mode) if both else ()))


def add_options(parser):
    parser.add_argument("--modes", metavar="LIST", help="of Meantime: what mpiexec --wait takes (default: those of "
                                                        f"{MODES} that it has)")
    parser.add_argument("--bytes", metavar="LIST", type=option_types.sizes, help="message sizes (default: 1,8,64,512,4K,32K,256K,1M,8M)")
    parser.add_argument("--delays", metavar="LIST", type=option_types.numbers,
                        help="µs by which messages are late, with two CPUs (default: 0,10,50,100,200,500,1000)")
    parser.add_argument("--seconds", metavar="S", type=option_types.positive, help="at each point, about, and at least 100 iterations (default: 0.3; quick: 0.05)")
    parser.add_argument("--paper", action="store_true", help="the paper's iteration counts: hours")
    parser.add_argument("--parts", default=",".join(PARTS), metavar="LIST", type=option_types.some_of(*PARTS),
                        help="what is measured. grid: all sizes and delays; late: delays that jitter or are bimodal; bare: "
                             "polling and a futex without any MPI; one: both ranks on one CPU (default: %(default)s)")
    parser.add_argument("--no-peers", action="store_true", help="Meantime alone, not also Open MPI and MPICH")
    parser.add_argument("--realtime", action="store_true",
                        help="for a machine that others use too: SCHED_RR with two CPUs (chrt -r 10), nice -15 with one "
                             "(needs the right)")


def contestants(prefix, options, found):
    ours = peers.meantime(prefix)
    if ours is None:
        raise results.Problem(f"no complete Meantime in {prefix}")
    program = Path(prefix, "bin", "meantime-libra")
    candidates = [Contestant(ours, program, mode) for mode in (options.modes or MODES).split(",")]
    for peer in [] if options.no_peers else peers.installed_peers():
        target = options.output / "programs" / peer.key / "libra"
        try:
            programs.compile_one(peer.cxx, programs.CXX_FLAGS, "libra/libra.cpp", target.absolute())
        except programs.CompileError as error:
            found.note(f"{peer.name} is left out: {error}")
            continue
        candidates += [Contestant(peer, target.absolute(), mode)
                       for mode in (("poll", "yield") if peer.key == "openmpi" else ("",))]
    chosen = []
    for one in candidates:
        try:
            one.run(*one.modes(), "--bytes", "1", "--delays", "0", "--iterations", "1", "--place", "free")
            chosen.append(one)
        except results.Problem as problem:
            why = str(problem).splitlines()[-1]
            if options.modes and one.implementation is ours:
                # mpiexec's own line: "failed: mpiexec: rank 1 (pid 17 on vm): MEANTIME_WAIT must be …"
                raise results.Problem(f"--modes: {why.rpartition('): ')[2]}") from problem
            found.note(f"{one.name} is left out: {why}")
    return chosen


@contextlib.contextmanager
def only_one_cpu():
    """For what is started in it, the launchers included: they then know that ranks share the CPU."""
    mask = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(mask)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, mask)


def two_cpu_runs(options):
    """(part, words of the program) of each run with two CPUs."""
    sizes = options.bytes or ("8,32K,1M" if options.quick else "1,8,64,512,4K,32K,256K,1M,8M")
    delays = options.delays or ("0,50,200,1000" if options.quick else "0,10,50,100,200,500,1000")
    time = () if options.paper else ("--seconds", options.seconds or ("0.05" if options.quick else "0.3"))
    parts = options.parts.split(",")
    if "grid" in parts:
        for delay in delays.split(","):
            yield "grid", ("--place", "two", "--bytes", sizes, "--delays", delay, *time)
    if "late" in parts:
        for kind in ("jitter", "bimodal"):
            yield "late", ("--place", "two", "--bytes", "8", "--delays", "200,1000", "--delay", kind, *time)


def in_turn(found, repetition, part, everybody, run):
    """Every contestant once; who is first changes with the repetition."""
    first = repetition % len(everybody)
    for one in everybody[first:] + everybody[:first]:
        try:
            rows = run(one)
        except results.Problem as problem:
            found.note(f"{one.name}, part {part}, run {repetition + 1}: {problem}")
            continue
        for row in rows:
            found.add(row, part=part, who=one.name, implementation=one.implementation.key,
                      mode=one.mode or "as installed", repetition=repetition)


def bare(prefix, options, found, repetition, place, lates, ahead, *words):
    for late in lates:
        turns = round(float(options.seconds or (0.05 if options.quick else 0.3)) * 1e6 / late)
        command = wakeup.command(prefix, ahead if options.realtime else (), "--places", place, "--late", late, "--turns",
                                 max(100, turns), *words)
        for row in results.run_json(command, LIMIT):
            found.add(row, part="bare", repetition=repetition)


def measure(prefix, options, found):
    parts = set(options.parts.split(","))
    everybody = contestants(prefix, options, found)
    two_cpus = list(two_cpu_runs(options))
    if peers.cores() < 2 and parts != {"one"}:
        found.note("Only one CPU may be used here: what needs two is left out.")
        two_cpus = []
    for repetition in range(options.repetitions):
        turn = f"run {repetition + 1} of {options.repetitions}"
        for part, words in two_cpus:
            results.progress(f"{turn}: {part} {' '.join(words)}")
            in_turn(found, repetition, part, everybody,
                    lambda one: one.run(*one.modes(), *words, realtime=options.realtime))  # noqa: B023
        if "bare" in parts and peers.cores() > 1:
            bare(prefix, options, found, repetition, "two", (200, 1000), results.REALTIME, "--ways", "poll,futex,deadline")
        if "one" in parts:
            results.progress(f"{turn}: one CPU")
            with only_one_cpu():
                in_turn(found, repetition, "one", everybody, lambda one: one.run(
                    *one.modes(both=True), "--place", "one", "--bytes", ONE_CPU["bytes"], "--delays",
                    ONE_CPU["delays"], "--iterations", ONE_CPU_TURNS[one.mode in ("poll", "")],
                    realtime=options.realtime, one_cpu=True))
                if "bare" in parts:
                    bare(prefix, options, found, repetition, "same", (50,), results.FAVOURED, "--ways", "yield,futex",
                         "--teller", "compute")
    results.progress("")
    if not found.data["rows"]:
        raise results.Problem("\n".join(["nothing could be measured", *found.data["notes"]]))
