"""mpi4py 4.1.2: all its tests but those that need one-sided communication, files or dynamic processes.

Meantime and MPICH 5 run what Meantime's mpicc made of PyPI's source distribution; Open MPI runs PyPI's wheel. With
NumPy there are more kinds of buffers to test: each part says if it is left out.
"""
import re
import subprocess
import sys

from . import common

NAME = "mpi4py 4.1.2"
VERSION = "4.1.2"
# The modules of these chapters, and those that open a file, spawn, or make a window on the way.
MODULES = ("test_rma", "test_win", "test_io", "test_file", "test_spawn", "test_dynproc",
           "test_subclass", "test_util_pool", "test_util_sync")
TESTS = ("TestErrhandlerFile", "TestMessageRMA", "testSafeFreeCreated")
EXCLUDED = [word for name in MODULES for word in ("-e", name)] + [word for name in TESTS for word in ("-x", name)]
MISSING_FAIL = ("env", "MEANTIME_MISSING_CALLS=error")  # the tests know that MPIs lack calls
RANKS = (1, 2, 3, 5, 8)
# Without the modules whose work grows most with the ranks (pickles of every kind to every rank) and without NumPy, which
# multiplies the work by two with 2 ranks and by five with 16.
TIMED_RANKS = (2, 5, 16)
WITHOUT_UTIL = "without util and numpy "
# Of all, with NumPy: one module, of which no MPI leaves a test out.
MODULES_ON_16 = ("test_cco_buf",)
ENVIRONMENT, WITHOUT_NUMPY = "environment", "without-numpy"
LIMIT = 5400  # seconds; with NumPy 16 ranks on 2 cores take a good part of an hour


def parts(_options):
    return [*(f"on {ranks}" for ranks in RANKS), *(f"{WITHOUT_UTIL}on {ranks}" for ranks in TIMED_RANKS),
            *(f"{module} on 16" for module in MODULES_ON_16)]


def prepare(work, implementation, _options):
    base = work / "mpi4py"
    base.mkdir(exist_ok=True)
    log = base / "build.log"

    def sources():
        if not list(base.glob("mpi4py-*.tar.gz")):
            common.build([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "mpi4py",
                          f"mpi4py=={VERSION}", "-d", base], base, log)
        return next(base.glob("mpi4py-*.tar.gz"))

    def wheel(folder):
        make_environment(folder, "setuptools", "wheel", "cython")
        common.build([folder / "bin" / "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", folder, sources()],
                     base, log, common.environment(implementation))

    def make_environment(folder, *packages):
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        common.build([folder / "bin" / "pip", "install", "-q", *packages], base, log)

    ours = implementation.key == "meantime"
    common.once(base / "source", lambda folder: common.unpack(sources(), folder))
    if ours:
        common.once(base / "wheel", wheel)
    mpi4py = next((base / "wheel").glob("mpi4py-*.whl")) if ours else f"mpi4py=={VERSION}"
    for name, packages in ((ENVIRONMENT, ["numpy"]), (WITHOUT_NUMPY, [])):
        common.once(base / common.build_of(name, implementation),
                    lambda folder, packages=packages: make_environment(folder, mpi4py, *packages))


def run(work, implementation, part, _options):
    base = work / "mpi4py"
    environment = WITHOUT_NUMPY if part.startswith(WITHOUT_UTIL) else ENVIRONMENT
    python = base / common.build_of(environment, implementation) / "bin" / "python"
    ranks = part.rpartition(" ")[2]
    if part.startswith("test_"):
        chosen = ["-i", part.partition(" ")[0]]
    else:
        chosen = [*EXCLUDED, "-e", "test_util"] if part.startswith(WITHOUT_UTIL) else EXCLUDED
    command = common.prefix_command(implementation) + [ranks, *MISSING_FAIL, python, "main.py", "-q", *chosen]
    outcome, load = common.run(implementation, command, base / "source" / "test", LIMIT)
    text = outcome.output + outcome.errors
    (base / f"{implementation.key}-{part.replace(' ', '-')}.log").write_text(text, encoding="utf-8")
    failed = sorted(set(re.findall(r"^(?:ERROR|FAIL): (.*)$", text, re.MULTILINE)))
    # Anywhere in a line: ranks write into each other's.
    counts = [int(count) for count in re.findall(r"Ran (\d+) tests", text)]
    if outcome.timed_out:
        failed.append(f"not at its end after {LIMIT} s")
    elif len(counts) != int(ranks) or (outcome.status != 0 and not failed):
        failed.append(f"ended with status {outcome.status}; {len(counts)} of {ranks} ranks told their results")
    return common.Result(max(counts, default=0) - len(failed), failed, outcome.seconds, outcome.cpu_seconds, load)
