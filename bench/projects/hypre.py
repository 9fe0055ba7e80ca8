"""hypre (Debian's source package): its drivers ij, struct and sstruct on its own jobs, compared with its own saved results.

runtest.sh runs the lines of TEST_*/*.jobs, 1 to 9 ranks each, and compares numbers of the output with what hypre's
authors saved; tolerances as in its AUTOTEST folder, where they are 1e-3. A job has failed if its .err file is not empty.
"""
from . import common

NAME = "hypre"
FOLDERS = ("TEST_ij", "TEST_struct", "TEST_sstruct")
PROGRAMS = ("ij", "struct", "struct_migrate", "sstruct", "maxwell_unscaled")
LIMIT = 3600


def parts(_options):
    return list(FOLDERS)


def prepare(work, implementation, options):
    def make(folder):
        common.unpack(common.debian_source(work, "hypre"), folder)
        log = folder / "build.log"
        variables = common.environment(implementation)
        source = folder / "src"
        common.build(["./configure", f"CC={implementation.cc}", f"CXX={implementation.cxx}", "--disable-fortran",
                      "CFLAGS=-O2"], source, log, variables)
        common.build(["make", f"-j{options.jobs}"], source, log, variables)
        common.build(["make", *PROGRAMS], source / "test", log, variables)

    common.once(work / common.build_of("hypre", implementation), make)


def run(work, implementation, part, _options):
    test = work / common.build_of("hypre", implementation) / "src" / "test"
    scripts = sorted(path.relative_to(test) for path in (test / part).glob("*.sh"))
    command = ["bash", "runtest.sh", "-mpi", " ".join(common.prefix_command(implementation)), "-rtol", "1e-3", "-atol", "1e-3",
               *scripts]
    for old in (test / part).glob("*.err"):
        old.unlink()
    outcome, load = common.run(implementation, command, test, LIMIT)
    failed = []
    for script in scripts:
        complaint = test / script.with_suffix(".err")
        if not complaint.exists():
            failed.append(f"{script.stem}: not run")
        elif complaint.stat().st_size > 0:
            first = complaint.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            failed.append(f"{script.stem}: {first[0][:100] if first else ''}")
    return common.Result(len(scripts) - len(failed), failed, outcome.seconds, outcome.cpu_seconds, load)
