#!/usr/bin/env python3
"""Random traffic on our library and on the oracle's: what each rank received must be the same.

    compare_traffic.py --mpiexec OURS --library FOLDER --oracle PREFIX --program TRAFFIC
"""
import argparse
import os
import subprocess
import sys

RUNS = ((2, 11), (3, 12), (4, 13), (7, 14))  # ranks, seed


def digests(mpiexec, library, expected, program, ranks, seed):
    """The program's own checks have passed, on the library that is meant, and each rank printed its digest."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEANTIME_")}
    environment.update(LD_LIBRARY_PATH=library, MEANTIME_TEST_EXPECT_LIBRARY=expected)
    output = subprocess.run([mpiexec, "-n", str(ranks), program, f"--seed={seed}", "--digest=1"], env=environment,
                            check=True, timeout=120, text=True, stdout=subprocess.PIPE).stdout
    lines = sorted(line for line in output.splitlines() if line.startswith("digest"))
    if len(lines) != ranks or " No Errors" not in output.splitlines():
        sys.exit(f"{expected}, {ranks} ranks, seed {seed}:\n{output}")
    return lines


def main():
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("--mpiexec", "--library", "--oracle", "--program"):
        arguments.add_argument(name, required=True)
    options = arguments.parse_args()
    seen = set()
    for ranks, seed in RUNS:
        ours = digests(options.mpiexec, options.library, "Meantime", options.program, ranks, seed)
        theirs = digests(os.path.join(options.oracle, "bin/mpiexec"), os.path.join(options.oracle, "lib"), "MPICH",
                         options.program, ranks, seed)
        if ours != theirs:
            sys.exit(f"{ranks} ranks, seed {seed}: received other things than the oracle\n{ours}\n{theirs}")
        seen.update(line.rsplit(" ", 1)[1] for line in ours)
    if len(seen) != sum(ranks for ranks, _ in RUNS):
        sys.exit(f"digests that say nothing: {seen}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
