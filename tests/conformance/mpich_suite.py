#!/usr/bin/env python3
"""MPICH's own test suite, judged on an installed Meantime.

    mpich_suite.py --prefix PREFIX [--oracle PREFIX] [--threads] [--suite CHECKOUT] [--into docs/reference/conformance.md]
                   [folder...]

Gets the suite from Debian's source package of mpich 4.0.2 (Debian's machines; nothing of it is kept
in this repository), or from a checkout of MPICH's repository (--suite; wants autoconf, automake and libtool), builds it with PREFIX's mpicc, runs the programs of its test lists as its own
runtests does: a program passes if it ends with status 0 and prints " No Errors" and nothing else.
What fails is run once more, and then on MPICH's ABI library (--oracle): the same binary.
Programs that wait for each other for ever end at the time limit. The result is a table in Markdown.
"""
import argparse
import concurrent.futures
import datetime
import os
import pathlib
import re
import subprocess
import sys
import threading

import sections

HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = ("attr", "coll", "comm", "datatype", "errhan", "errors", "group", "info", "init", "mpi_t",
           "part", "pt2pt", "session", "threads", "topo", "f77", "f90", "f08")
DEBIAN = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] " \
         "http://deb.debian.org/debian bookworm main\n"
ONE_MAKE = threading.Lock()  # two in one folder would get in each other's way
NO_ERRORS = re.compile(r"\s*(No [Ee]rrors|Test [Pp]assed)\s*$")
WARNING = re.compile(r"MPICH: |WARNING: |.*application called MPI_Abort|.*FORTRAN STOP\s*$")


class Program:
    """A line of a test list: name, ranks, and key=value words."""

    def __init__(self, folder, line):
        words = line.split()
        self.folder, self.name = folder, words[0]
        self.ranks = words[1] if len(words) > 1 and "=" not in words[1] else "2"
        self.arguments, self.launching, self.environment, self.options = [], [], {}, {}
        for word in words[1:]:
            key, equals, value = word.partition("=")
            if not equals:
                continue
            if key == "arg":
                self.arguments.append(value)
            elif key == "mpiexecarg":
                self.launching.append(value)
            elif key == "env":
                name, _, setting = value.partition("=")
                self.environment[name] = setting
            else:
                self.options[key] = value

    def title(self):
        return " ".join([f"{self.folder}/{self.name}", self.ranks] + self.arguments)


# --- getting and building ---------------------------------------------------------------------------

def quietly(command, folder, log, **more):
    with open(log, "a", encoding="utf-8") as out:
        return subprocess.run(command, cwd=folder, stdout=out, stderr=out, check=False, **more)


def from_checkout(checkout, work):
    """The suite's sources in a checkout of MPICH's, with their configure."""
    suite = checkout / "test" / "mpi"
    if not (suite / "autogen.sh").exists():
        raise SystemExit(f"{checkout} is not a checkout of MPICH's repository: it has no test/mpi/autogen.sh")
    if not (suite / "configure").exists():
        quietly(["./autogen.sh"], suite, work / "autogen.log",
                env=dict(os.environ, MPICH_CONFDB=str(checkout / "confdb")))
    if not (suite / "configure").exists():
        raise SystemExit(f"the suite's autogen.sh failed (has it autoconf, automake and libtool?): see {work}/autogen.log")
    return suite


def get(work):
    """The suite's sources in work/source/test/mpi."""
    suite = work / "source" / "test" / "mpi"
    if (suite / "configure").exists():
        return suite
    apt = work / "apt"
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "sources.list").write_text(DEBIAN, encoding="utf-8")
    (apt / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{apt}/sources.list";\nDir::Etc::sourceparts "-";\n'
        f'Dir::State "{apt}/state";\nDir::State::status "/var/lib/dpkg/status";\n'
        f'Dir::Cache "{apt}/cache";\n', encoding="utf-8")
    environment = dict(os.environ, APT_CONFIG=str(apt / "apt.conf"))
    for command in (["apt-get", "update"], ["apt-get", "source", "--download-only", "mpich"]):
        quietly(command, work, work / "get.log", env=environment)
    archives = sorted(work.glob("mpich_*.orig.tar.*"))
    if not archives:
        raise SystemExit(f"Debian's source package of mpich could not be had: see {work}/get.log")
    (work / "source").mkdir(exist_ok=True)
    subprocess.run(["tar", "xf", str(archives[0]), "-C", str(work / "source"), "--strip-components=1",
                    "--wildcards", "*/test/mpi/*"], check=True)
    return suite


def configure(work, suite, prefix):
    """A build tree for the suite, with calls in place of those that the ABI does not have."""
    build = work / "build"
    if (build / "testlist").exists():
        return build
    build.mkdir(exist_ok=True)
    fortran = next(pathlib.Path(prefix, "lib").glob("libmeantime_*fort*.so"), None) is not None
    quietly([str(suite / "configure"), f"--with-mpi={prefix}", f"--enable-fortran={'yes' if fortran else 'no'}",
             "--disable-cxx", "--enable-romio=no", "--disable-spawn", "--disable-rma", "--disable-ft-tests",
             f"CFLAGS=-O1 -w -include {HERE}/removed_calls.h"], build, work / "configure.log")
    if not (build / "testlist").exists():
        raise SystemExit(f"the suite's configure failed: see {work}/configure.log")
    for library in ("util", "dtpools"):
        quietly(["make"], build / library, work / "build.log")
    return build


def read_list(suite, build, folder):
    """The programs of a folder and of the folders that its list names; as runtests, without those
    that are expected to fail."""
    lines = []
    for name in ("testlist", "testlist.dtp"):  # the second: programs that go through many datatypes
        path = next((p / folder / name for p in (build, suite) if (p / folder / name).exists()), None)
        if path:  # the older suite does not have every chapter
            lines += path.read_text(encoding="utf-8").splitlines()
    programs = []
    for line in lines:
        line = line.partition("#")[0].strip()
        if not line or line.startswith("!"):
            continue
        below = f"{folder}/{line.split()[0]}"
        if (build / below).is_dir():
            programs += read_list(suite, build, below)
        else:
            programs.append(Program(folder, line))
    return [program for program in programs if "xfail" not in program.options]


def memory_of_the_machine():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def compile_program(build, program, log):
    place = build / program.folder
    with ONE_MAKE:  # the same program may stand in the list several times
        if not (place / program.name).exists():
            quietly(["make", program.name], place, log)
    return (place / program.name).exists()


# --- running ------------------------------------------------------------------------------------------

def run(build, program, launcher, environment, seconds, mixed=False):
    """None if it passed, else what it said. `mixed`: half of the ranks are threads."""
    words, ranks = [f"./{program.name}", *program.arguments], int(program.ranks)
    command = launcher + program.launching + (
        ["-n", str(ranks // 2), *words, ":", "--as", "threads", "-n", str(ranks - ranks // 2), *words] if mixed
        else ["-n", program.ranks, *words])
    try:
        done = subprocess.run(command, cwd=build / program.folder, timeout=seconds + 10,
                              env={"MEANTIME_MISSING_CALLS": "error", **os.environ, "MPIEXEC_TIMEOUT": str(seconds),
                                   **environment, **program.environment},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
    except subprocess.TimeoutExpired:
        return f"not over after {seconds} s"
    lines = done.stdout.decode(errors="replace").splitlines()
    wanted = program.options.get("resultTest")
    if wanted == "TestStatusNoErrors" and not any(map(NO_ERRORS.match, lines)):
        return f"did not say No Errors, but: {lines[0].strip() if lines else 'nothing'}"
    if wanted in ("TestStatus", "TestErrFatal", "TestStatusNoErrors"):  # it must fail
        return None if done.returncode != 0 else "ended with status 0"
    odd = [line for line in lines
           if not NO_ERRORS.match(line) and not (wanted == "TestAllowWarnings" and WARNING.match(line))]
    if odd:
        return odd[0].strip()
    if not lines:
        return f"said nothing; status {done.returncode}"
    return None if done.returncode == 0 else f"status {done.returncode}"


def judge(build, program, arguments, log):
    """(program, verdict): pass, or why not."""
    if float(program.options.get("mem", 0)) * arguments.jobs > memory_of_the_machine():
        return program, f"not run: wants {program.options['mem']} GB"
    if not compile_program(build, program, log):
        return program, "not built"
    seconds = int(program.options.get("timeLimit", arguments.seconds))
    launcher = [f"{arguments.prefix}/bin/mpiexec", "--timeout", str(seconds)]
    launcher += ["--as", "threads"] if arguments.threads else []
    said = run(build, program, launcher, {}, seconds)
    if said is not None:
        said = run(build, program, launcher, {}, seconds)
    if said is None:
        return program, "pass"
    if arguments.oracle:
        oracle = run(build, program, [f"{arguments.oracle}/bin/mpiexec"],
                     {"LD_LIBRARY_PATH": f"{arguments.oracle}/lib"}, 2 * seconds)
        said += " · MPICH: " + ("passes" if oracle is None else "fails too")
    return program, said


# --- the document -------------------------------------------------------------------------------------

def read_reasons():
    """program -> why it does not pass; the first word of a line, then the reason."""
    reasons = {}
    for line in (HERE / "reasons.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(" ")
            reasons[name] = reason.strip()
    return reasons


def document(results, arguments):
    reasons = read_reasons()
    kind = "thread ranks" if arguments.threads else "process ranks"
    text = [f"## MPICH's test suite, {kind}", "",
            f"Of {arguments.suite_name}, on {datetime.date.today()}, {os.cpu_count()} cores, by", "",
            f"    {' '.join(['tests/conformance/mpich_suite.py'] + sys.argv[1:])}", "",
            "| folder | programs | pass | MPICH's ABI library fails too, or not built or run | fail |",
            "|---|---|---|---|---|"]
    totals = [0, 0, 0, 0]
    failed = []
    for folder in dict.fromkeys(program.folder.partition("/")[0] for program, _ in results):
        own = [(p, verdict) for p, verdict in results if p.folder.partition("/")[0] == folder]
        passed = sum(verdict == "pass" for _, verdict in own)
        excused = sum(verdict.startswith(("not built", "not run")) or verdict.endswith("fails too")
                      for _, verdict in own)
        row = [len(own), passed, excused, len(own) - passed - excused]
        totals = [a + b for a, b in zip(totals, row)]
        text.append(f"| {folder} | " + " | ".join(map(str, row)) + " |")
        failed += [(p, verdict) for p, verdict in own if verdict != "pass"]
    text += ["| **all** | " + " | ".join(map(str, totals)) + " |", "",
             "| what does not pass | it says | why |", "|---|---|---|"]
    for program, verdict in failed:
        said = verdict.replace("|", "\\|")[:160]
        text.append(f"| `{program.title()}` | {said} | {reasons.get(program.name, '')} |")
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True, help="where Meantime is installed")
    parser.add_argument("--oracle", help="a Python environment with MPICH's ABI library")
    parser.add_argument("--threads", action="store_true", help="as thread ranks")
    parser.add_argument("--work", default="build/conformance", help="where the suite is built")
    parser.add_argument("--suite", type=pathlib.Path, help="a checkout of MPICH's repository, instead of Debian's package")
    parser.add_argument("--suite-name", default="mpich 4.0.2", help="what the document calls it")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--seconds", type=int, default=180, help="time limit of a program")
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="PATTERN",
                        help="only programs whose folder, name, ranks and arguments the pattern is found in")
    parser.add_argument("--write", help="a file for the result (else it is printed)")
    parser.add_argument("--into", help="a document of which the result is a part, between markers (sections.py)")
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    arguments = parser.parse_args()
    arguments.prefix = str(pathlib.Path(arguments.prefix).resolve())
    if arguments.oracle:
        arguments.oracle = str(pathlib.Path(arguments.oracle).resolve())
    part = "threads" if arguments.threads else "processes"
    if arguments.into:
        try:
            sections.check(arguments.into, part)
        except sections.Missing as problem:
            parser.error(str(problem))
    work = pathlib.Path(arguments.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    suite = from_checkout(arguments.suite.resolve(), work) if arguments.suite else get(work)
    build = configure(work, suite, arguments.prefix)
    # Of Fortran's folders those that the suite's configure builds: that of 4.0.2 links f08 with MPICH itself only.
    linked = (build / "testlist").read_text(encoding="utf-8").split()
    arguments.folders = [folder for folder in arguments.folders if folder not in ("f77", "f90", "f08") or folder in linked]
    programs = [p for folder in arguments.folders for p in read_list(suite, build, folder)
                if arguments.only.search(p.title())]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = [pool.submit(judge, build, program, arguments, work / "build.log")
                for program in programs]
        for job in concurrent.futures.as_completed(jobs):
            program, verdict = job.result()
            if verdict != "pass":
                print(f"{program.title()}: {verdict}", flush=True)
    text = document([job.result() for job in jobs], arguments)
    if arguments.write:
        pathlib.Path(arguments.write).write_text(text, encoding="utf-8")
    if arguments.into:
        sections.write(arguments.into, part, text)
    if not arguments.write and not arguments.into:
        print(text)


if __name__ == "__main__":
    main()
