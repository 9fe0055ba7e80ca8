#!/usr/bin/env python3
"""Checks what libmpi_abi.so exports: every call of mpi.h, MPI_X weak and PMPI_X strong at the same
address, everything that another implementation's library of the ABI exports, and nothing else.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

STANDARD = re.compile(r"P?MPI_\w+")
# Removed by MPI 3.0 and not in the ABI's header; MPICH's library still has them.
REMOVED = {"MPI_Address", "MPI_Errhandler_create", "MPI_Errhandler_get", "MPI_Errhandler_set",
           "MPI_Type_extent", "MPI_Type_hindexed", "MPI_Type_hvector", "MPI_Type_lb",
           "MPI_Type_struct", "MPI_Type_ub"}
EXTENSION = re.compile(r"P?MPIX_\w+|meantime_host_\w+|"  # src/protocol/host_interface.h
                       r"meantime_announce_call_site")  # src/api/entry.cpp


def exports(library: Path):
    """name -> (address, symbol type of nm) of the dynamic symbols that the library defines."""
    listing = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True,
                             capture_output=True, text=True).stdout
    rows = (line.split() for line in listing.splitlines())
    return {name.split("@")[0]: (address, kind) for address, kind, name in rows}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--ours", type=Path, required=True)
    arguments.add_argument("--header", type=Path, required=True)
    arguments.add_argument("--other", type=Path)
    options = arguments.parse_args()

    ours = exports(options.ours)
    problems = []
    text = re.sub(r"/\*.*?\*/", "", options.header.read_text(), flags=re.S)
    declared = set(re.findall(r"^(?:int|double|MPI_\w+) (P?MPI_\w+)\(", text, re.M))
    wanted = set(declared)
    if options.other and options.other.exists():
        wanted |= {name for name in exports(options.other) if STANDARD.fullmatch(name)}
        wanted -= REMOVED
    else:
        print(f"there is no {options.other}: compared with the header only")
    problems += [f"{name} is not exported" for name in sorted(wanted - set(ours))]
    for name in sorted(declared & set(ours)):
        if name.startswith("PMPI_"):
            twin = name[1:]
            if ours[name][1] != "T":
                problems.append(f"{name} is not strong")
            if twin in ours and ours[twin] != (ours[name][0], "W"):
                problems.append(f"{twin} is no weak twin of {name}")
    strangers = [name for name in sorted(ours)
                 if not STANDARD.fullmatch(name) and not EXTENSION.fullmatch(name)]
    problems += [f"{name} is exported, but no MPI name" for name in strangers]

    print("\n".join(problems) if problems else
          f"{len(declared)} calls of mpi.h and all of the other library's are exported")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
