#!/usr/bin/env python3
"""The part of MPICH's own test suite that CI runs: subset.txt's programs, compiled one by one and run.

    mpich_subset.py get WORK                           gets the sources (mpich_suite.py says whence), or says why not
    mpich_subset.py run WORK FOLDER --build BUILD      builds and runs the programs of a folder of subset.txt;
                                                       --nodes 2: over nodes that mpiexec plays; --threads: thread ranks; --mixed: half of them

`get` may not hold up CI: it has limits, and always ends with status 0. `run` ends with 77, CTest's "skipped", where the
sources could not be had. Nothing of the suite's configure is run: it takes longer than the programs.
"""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import mpich_suite

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
GET_SECONDS = 120
COMPILE_SECONDS = 120
RUN_SECONDS = 120  # most take less than a second; no program of the list waits for ever
# What the suite's configure finds on a Linux with GCC, as far as the programs of the list ask.
FOUND = ("HAVE_STDIO_H", "HAVE_STDLIB_H", "HAVE_STRING_H", "HAVE_STRINGS_H", "HAVE_STDARG_H", "HAVE_STDINT_H",
         "HAVE_INTTYPES_H", "HAVE_UNISTD_H", "HAVE_SYS_TIME_H", "HAVE_SYS_TYPES_H", "HAVE_SYS_STAT_H",
         "HAVE_SYS_RESOURCE_H", "HAVE_GETRUSAGE", "HAVE_STRDUP", "HAVE_USLEEP", "HAVE_WCHAR_H", "HAVE__BOOL",
         "HAVE_LONG_LONG", "HAVE_LONG_DOUBLE", "HAVE_FLOAT__COMPLEX", "HAVE_DOUBLE__COMPLEX",
         "HAVE_LONG_DOUBLE__COMPLEX", "USE_LONG_DOUBLE_COMPLEX", "HAVE_PTHREAD_H", "STDC_HEADERS")
HELPERS = ("mtest", "mtest_common", "mtest_single", "dtypes")


def get(work):
    """The sources are there whole or not at all: a file says so."""
    ready = work / "ready"
    if ready.exists():
        return
    shutil.rmtree(work, ignore_errors=True)  # half of an archive that was given up
    work.mkdir(parents=True)
    # A process of its own, with those that it starts: apt-get has no limit for everything together.
    getter = subprocess.Popen([sys.executable, __file__, "really-get", str(work)], start_new_session=True)
    try:
        if getter.wait(GET_SECONDS) == 0:
            ready.touch()
            return
        print(f"conformance: MPICH's sources could not be had (see {work}/get.log); its programs are skipped")
    except subprocess.TimeoutExpired:
        os.killpg(getter.pid, signal.SIGKILL)
        getter.wait()
        print(f"conformance: MPICH's sources did not come in {GET_SECONDS} s; its programs are skipped")


def compile_one(build, suite, include, sources, output, log, *more):
    whole = output.with_suffix(".new")  # what a killed compiler leaves is not taken for a program
    command = [str(build / "bin" / "mpicc"), "-O1", "-w", f"-I{include}", f"-I{suite}/include",
               "-include", str(HERE / "removed_calls.h"), *more, *map(str, sources), "-o", str(whole), "-lm"]
    if mpich_suite.quietly(command, include, log, timeout=COMPILE_SECONDS).returncode != 0:
        return False
    whole.replace(output)
    return True


def over_nodes(program, nodes):
    """What a run of the program over so many nodes wants: a rank a node at least."""
    return {"MEANTIME_TEST_NODES": str(min(nodes, int(program.ranks)))} if nodes > 1 else {}


def run_folder(work, folder, build, nodes, kind):
    suite = work / "source" / "test" / "mpi"
    if not (work / "ready").exists():
        print(f"skipped: MPICH's sources are not in {work} (no network, or no source packages)")
        return SKIPPED
    place = work / "programs" / folder  # of this folder only: folders run at the same time
    place.mkdir(parents=True, exist_ok=True)
    log = place / "compile.log"
    (place / "mpitestconf.h").write_text("".join(f"#define {name} 1\n" for name in FOUND) +
                                         "#define POINTERINT_t long\n#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX\n",
                                         encoding="utf-8")
    helpers = []
    for name in HELPERS:
        helpers.append(place / f"{name}.o")
        if not compile_one(build, suite, place, [suite / "util" / f"{name}.c"], helpers[-1], log, "-c"):
            print(f"util/{name}.c was not compiled: see {log}")
            return 1
    programs, failed = [], 0
    for line in (HERE / "subset.txt").read_text(encoding="utf-8").splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith(folder + "/"):
            program = mpich_suite.Program(folder, line.removeprefix(folder + "/"))
            if program.ranks != "1" or (nodes == 1 and kind != "mixed"):
                programs.append(program)
    launcher = [str(build / "bin" / "mpiexec"), "--timeout", str(RUN_SECONDS), *(["--as", "threads"] if kind == "threads" else [])]
    for program in programs:
        binary = place / folder / program.name
        binary.parent.mkdir(exist_ok=True)
        source = suite / folder / f"{program.name}.c"
        if binary.exists() or compile_one(build, suite, place, [source, *helpers], binary, log):
            said = mpich_suite.run(place, program, launcher, over_nodes(program, nodes), RUN_SECONDS, kind == "mixed")
        else:
            said = f"not compiled: see {log}"
        if said is not None:
            failed += 1
            print(f"{program.title()}: {said}", flush=True)
    print(f"{folder}: {len(programs) - failed} of {len(programs)} programs of MPICH's pass")
    return 1 if failed or not programs else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("get", "really-get", "run"))
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--build", type=pathlib.Path, help="where Meantime is built")
    parser.add_argument("--nodes", type=int, default=1, help="over so many nodes, programs of several ranks only")
    parser.add_argument("--threads", dest="kind", action="store_const", const="threads", help="as thread ranks")
    parser.add_argument("--mixed", dest="kind", action="store_const", const="mixed", help="half of them as thread ranks")
    arguments = parser.parse_args()
    work = arguments.work.resolve()
    if arguments.what == "get":
        get(work)
    elif arguments.what == "really-get":
        mpich_suite.get(work)
    else:
        return run_folder(work, arguments.folder, arguments.build.resolve(), arguments.nodes, arguments.kind)
    return 0


if __name__ == "__main__":
    sys.exit(main())
