"""NAS parallel benchmarks 3.4 for MPI: each says itself whether its result is right ("Verification = SUCCESSFUL").

They are only in public repositories, so --npb names a folder that has them (NPB3.4-MPI).
"""
import re
import shutil
from pathlib import Path

from . import common

NAME = "NPB 3.4"
PROGRAMS = ("bt", "sp", "lu", "cg", "mg", "ft", "is", "ep")
CLASSES = ("S", "W", "A")
LIMIT = 600


def parts(_options):
    return [f"class {size} on {ranks}" for size, ranks in (("S", 4), ("S", 16), ("W", 4), ("W", 16), ("A", 4))]


def prepare(work, implementation, options):
    if not options.npb:
        raise common.CannotRun("--npb does not name its sources")

    def make(folder):
        shutil.copytree(options.npb, folder, dirs_exist_ok=True)
        text = Path(folder, "config", "make.def.template").read_text(encoding="utf-8")
        text = re.sub(r"(?m)^MPIFC\s*=.*", f"MPIFC = {common.mpifort(implementation)}", text)
        text = re.sub(r"(?m)^MPICC\s*=.*", f"MPICC = {implementation.cc}", text)
        text = re.sub(r"(?m)^FFLAGS\s*=.*", "FFLAGS = -O2 -fallow-argument-mismatch -fallow-invalid-boz", text)
        Path(folder, "config", "make.def").write_text(text, encoding="utf-8")
        Path(folder, "bin").mkdir(exist_ok=True)
        for program in PROGRAMS:
            for size in CLASSES:
                common.build(["make", program, f"CLASS={size}"], folder, folder / "build.log", common.environment(implementation))

    common.once(work / common.build_of("npb", implementation), make)


def run(work, implementation, part, _options):
    size, ranks = re.fullmatch(r"class (\w) on (\d+)", part).groups()
    folder = work / common.build_of("npb", implementation) / "bin"
    total = common.Result(0, [], 0.0, 0.0)
    for program in PROGRAMS:
        command = common.prefix_command(implementation) + [ranks, folder / f"{program}.{size}.x"]
        outcome, load = common.run(implementation, command, folder, LIMIT)
        total.seconds += outcome.seconds
        total.cpu_seconds += outcome.cpu_seconds
        total.load = max(total.load, load)
        if re.search(r"Verification\s*=\s*SUCCESSFUL", outcome.output):
            total.passed += 1
        else:
            words = (outcome.errors.strip() or outcome.output.strip()).splitlines()
            total.failed.append(f"{program}: " + ("time limit" if outcome.timed_out else words[-1][:100] if words else "silent"))
    return total
