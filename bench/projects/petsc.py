"""PETSc (Debian's source package): its own test harness on the tests of its Krylov solvers and of its staggered grids.

Each example is run with the ranks and options that stand in its source, and what it prints is compared with what PETSc's
authors saved; the harness reports in TAP ("ok", "not ok", "ok ... # SKIP" for what this build does not have).
Wants Debian's libblas-dev and liblapack-dev.
"""
import re

from . import common

NAME = "PETSc"
# Part -> the harness's search word.
SEARCHES = {"ksp tests": "ksp_ksp_tests-%", "dm stag": "dm_impls_stag_tests-%"}
ARCH = "arch-meantime"
LIMIT = 3600
# The harness writes the name of mpiexec into each test, so it is a script that starts the one that runs.
LAUNCHER = """#!/bin/sh
exec $PROJECT_MPIEXEC "$@"
"""


def parts(_options):
    return list(SEARCHES)


def variables(implementation):
    return {**common.environment(implementation),
            "PROJECT_MPIEXEC": " ".join(common.prefix_command(implementation)[:-1])}


def make_command(folder, options):
    # Its own limit of the load would let one job run at a time on a busy machine.
    return ["make", f"PETSC_DIR={folder}", f"PETSC_ARCH={ARCH}", f"MAKE_NP={options.jobs}", "MAKE_LOAD=1000"]


def prepare(work, implementation, options):
    def make(folder):
        common.unpack(common.debian_source(work, "petsc"), folder)
        launcher = folder / "launcher"
        launcher.write_text(LAUNCHER, encoding="utf-8")
        launcher.chmod(0o755)
        log = folder / "build.log"
        common.build(["./configure", f"PETSC_ARCH={ARCH}", f"--with-cc={implementation.cc}", "--with-cxx=0", "--with-fc=0",
                      "--with-x=0", "--with-debugging=0", "--with-blaslapack-lib=-llapack -lblas",
                      f"--with-mpiexec={launcher}", f"--with-make-np={options.jobs}"], folder, log, variables(implementation))
        common.build([*make_command(folder, options), "all"], folder, log, variables(implementation))

    common.once(work / common.build_of("petsc", implementation), make)


def run(work, implementation, part, options):
    folder = work / common.build_of("petsc", implementation)
    for old in (folder / ARCH / "tests" / "counts").glob("*.counts"):  # of the run before
        old.unlink()
    command = [*make_command(folder, options), f"-j{options.jobs}", "-f", "gmakefile.test", "test",
               f"gmakesearch={SEARCHES[part]}", "TIMEOUT=300"]
    outcome, load = common.run(implementation, command, folder, LIMIT, variables(implementation))
    passed = len(re.findall(r"^\s*ok (?!.*# SKIP)", outcome.output, re.MULTILINE))
    failed = re.findall(r"^\s*not ok (\S+)", outcome.output, re.MULTILINE)
    if outcome.timed_out:
        failed.append(f"not over after {LIMIT} s")
    return common.Result(passed, failed, outcome.seconds, outcome.cpu_seconds, load)
