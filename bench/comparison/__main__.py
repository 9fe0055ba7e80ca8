"""bench/compare: Meantime, its peers and the bare prototypes, in one interleaved run.

Compiles the measuring programs with every MPI found, runs them in turn, and prints one row per thing measured:
our time, its ratio to the bare prototype and to the best peer, and whether the goal is met.
"""
from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from . import cases, document, figures, goals, measure, peers, programs
from .store import Store, this_run

ROOT = programs.BENCH.parent


def read_arguments():
    parser = argparse.ArgumentParser(prog="bench/compare", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=ROOT / "build" / "prefix",
                        help="where Meantime is installed (default: build/prefix)")
    parser.add_argument("--only", default=",".join(cases.SLICES), metavar="SLICES",
                        help=f"some of {','.join(cases.SLICES)}")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs: below 15 minutes")
    parser.add_argument("--repetitions", type=int, help="default 5, with --quick 3")
    parser.add_argument("--minutes", type=float, help="begin no run after this (default: none, --quick: 14)")
    parser.add_argument("--peers", default="openmpi,mpich", help="installed peers to compare with (default: both)")
    parser.add_argument("--mpich", type=Path, metavar="DIR", help="another MPICH (PyPI's, in its environment)")
    parser.add_argument("--openmpi", type=Path, metavar="DIR", help="another Open MPI")
    parser.add_argument("--ampi", type=Path, metavar="DIR", help="AMPI's build directory")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "bench" / "results.json", metavar="FILE",
                        help="results; those of earlier slices on this machine are kept (default: %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="forget the earlier results")
    parser.add_argument("--show", action="store_true", help="measure nothing, show the results file")
    parser.add_argument("--document", type=Path, nargs="?", const=ROOT / "docs" / "measurements" / "performance.md", metavar="FILE",
                        help="write the table and plots there too (default docs/measurements/performance.md)")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "bench-programs",
                        help="where programs are compiled to")
    arguments = parser.parse_args()
    arguments.slices = arguments.only.split(",")
    if unknown := set(arguments.slices) - set(cases.SLICES):
        parser.error(f"no such slices: {', '.join(sorted(unknown))}")
    return arguments


def refuse_an_old_installation(prefix):
    """The table names the working tree's commit, so it is this that has to be measured."""
    built = ROOT / "build" / "release" / "lib" / "libmpi_abi.so.1"
    installed = prefix / "lib" / built.name
    if (prefix == ROOT / "build" / "prefix" and built.exists() and installed.exists()
            and int(installed.stat().st_mtime) < int(built.stat().st_mtime)):
        sys.exit("bench/compare: build/prefix is older than build/release: `make bench` installs it first "
                 "(or cmake --install build/release --prefix build/prefix)")


def find_implementations(arguments, console):
    refuse_an_old_installation(arguments.prefix.absolute())
    ours = peers.meantime(arguments.prefix)
    if ours is None:
        console.print(f"[red]No Meantime in {arguments.prefix}[/red]: comparing the others only.")
    wanted = arguments.peers.split(",")
    found = [one for one in peers.installed_peers() if one.key in wanted]
    for key, prefix in (("mpich-other", arguments.mpich), ("openmpi-other", arguments.openmpi)):
        if prefix:
            found.append(peers.peer_in(key, prefix))
    if arguments.ampi:
        found.append(peers.ampi(arguments.ampi))
    if None in found:
        sys.exit("bench/compare: a directory that was given holds no such MPI")
    return ([ours] if ours else []) + found


def measure_all(arguments, console):
    scale = cases.QUICK if arguments.quick else cases.FULL
    repetitions = arguments.repetitions or scale.repetitions
    minutes = arguments.minutes or (14 if arguments.quick else None)
    implementations = find_implementations(arguments, console)
    console.print("Comparing " + ", ".join(one.name for one in implementations))
    chosen = cases.cases(scale, arguments.slices)
    from rich.status import Status  # noqa: PLC0415

    with Status("", console=console) as status:
        say = status.update if console.is_terminal else (lambda text: console.print(text, style="dim"))
        runner = measure.Runner(implementations, arguments.build, say)
        run = this_run(["bench/compare", *sys.argv[1:]], arguments.quick, repetitions, implementations)
        runner.compile(chosen)
        try:
            done = runner.repeat(chosen, repetitions, minutes * 60 if minutes else None)
        except KeyboardInterrupt:
            done = None
    if done != repetitions:
        console.print(f"[yellow]Stopped {'by hand' if done is None else f'after {minutes:g} minutes'}[/yellow]: "
                      "the last repetition is not complete.")
        run["repetitions"] = f"up to {repetitions}"
    return runner.findings, run


def stop_by_hand(*_):
    raise KeyboardInterrupt


def main():
    arguments = read_arguments()
    signal.signal(signal.SIGTERM, stop_by_hand)  # what was measured is kept
    from rich.console import Console  # noqa: PLC0415 (--help is without it)

    console = Console(width=None if sys.stdout.isatty() else 200)
    store = Store() if arguments.fresh else Store.load(arguments.json)
    if not arguments.show:
        store.add(*measure_all(arguments, console))
        store.save(arguments.json)
        console.print(f"Results: {arguments.json}")
    document.terminal(store, console)
    if arguments.document:
        drawn = figures.write(store, arguments.document.parent / "figures")
        document.write(store, arguments.document, [(f"figures/{name}", text) for name, text in drawn])
        console.print(f"Written: {arguments.document}")
    ours_failed = any(one["implementation"] == goals.OURS.key for one in store.failures)
    return 1 if ours_failed else 0


if __name__ == "__main__":
    sys.exit(main())
