"""CSC's two-dimensional heat equation in Fortran with mpi_f08: the image it writes is the same, byte by byte, as of one rank.

It is only in a public repository (csc-training/summerschool, mpi/heat-equation), so --heat names a folder that has it.
"""
import shutil

from . import common

NAME = "heat equation (mpi_f08)"
SOLUTIONS = ("solution-2d", "solution-nonblocking-2d")
LIMIT = 300


def parts(_options):
    return [f"{solution} on {ranks}" for solution in SOLUTIONS for ranks in (4, 16)]


def prepare(work, implementation, options):
    if not options.heat:
        raise common.CannotRun("--heat does not name its sources")

    def make(folder):
        shutil.copytree(options.heat, folder, dirs_exist_ok=True)
        for solution in SOLUTIONS:
            common.build(["make", "COMP=gnu", f"FC={common.mpifort(implementation)}"], folder / "fortran" / solution, folder / "build.log",
                         common.environment(implementation))

    common.once(work / common.build_of("heat", implementation), make)


def run(work, implementation, part, _options):
    solution, ranks = part.split(" on ")
    folder = work / common.build_of("heat", implementation) / "fortran" / solution
    images = []
    for count in ("1", ranks):
        for old in folder.glob("heat_*.png"):
            old.unlink()
        outcome, load = common.run(implementation, common.prefix_command(implementation)
                                   + [count, folder / "heat_mpi", "320", "320", "200"], folder, LIMIT)
        images.append([path.read_bytes() for path in sorted(folder.glob("heat_*.png"))])
    failed = [] if images[0] and images[0] == images[1] else ["the image is another one, or none"]
    return common.Result(1 - len(failed), failed, outcome.seconds, outcome.cpu_seconds, load)
