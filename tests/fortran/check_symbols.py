"""Every procedure that mpif.h and the modules declare is in the library: nothing compiles that does not link.

    check_symbols.py LIBRARY FOLDER-OF-GENERATED-MODULES
"""
import os
import re
import subprocess
import sys

ABSTRACT = re.compile(r"abstract interface.*?end interface", re.S)
CALLS = re.compile(r"^  ! Calls from here on\.$(.*)^  ! Calls up to here\.$", re.S | re.M)
# Bound to C or not, a procedure's symbol is its name in small letters with an underscore.
PROCEDURE = re.compile(r"^\s*(?:subroutine|function) (\w+)", re.M)


def main():
    library, folder = sys.argv[1:]
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    defined = {line.split()[-1] for line in lines.splitlines()}
    wanted = {}
    for module in ("mpi.f90", "mpi_f08.f90"):
        with open(os.path.join(folder, module), encoding="utf-8") as file:
            text = ABSTRACT.sub("", file.read())
        wanted.update({name.lower() + "_": f"{name} of {module}" for name in PROCEDURE.findall(text)})
        # The build declares the calls once more with PMPI's names (src/fortran/with-profiling).
        wanted.update({f"p{name.lower()}_": f"P{name} of {module}" for name in PROCEDURE.findall(CALLS.search(text)[1])})
    missing = sorted(set(wanted) - defined)
    for symbol in missing:
        print(f"{symbol} ({wanted[symbol]}) is not in {library}")
    if len(wanted) < 2000:
        print(f"only {len(wanted)} procedures were found in {folder}")
        return 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
