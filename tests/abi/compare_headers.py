#!/usr/bin/env python3
"""Compares our mpi.h with another implementation's header of the same ABI.

Every name that the other header declares (constants, types, calls) goes into one C++ program that
prints values, sizes and full types; it is compiled once with each header, and the two prints must
be equal. Extensions (MPIX_) are left out. Exit status 77: there is nothing to compare with.
"""

import argparse
import difflib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SHOWS_A_TYPE = """\
template <class T> const char *shown() { return __PRETTY_FUNCTION__; }
template <class T> void size_of(const char *name) {
  std::printf("%s: size %zu, alignment %zu\\n", name, sizeof(T), alignof(T));
}
"""


def names_of(header: str):
    """Macros, enumeration constants, object types, callback types and calls of a header."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    constants = set(re.findall(r"^#define[ \t]+(MPI_\w+)[ \t]+\S", text, re.M))
    undefined = set(re.findall(r"^#undef\s+(MPI_\w+)", text, re.M))
    for body in re.findall(r"enum\s*\w*\s*\{(.*?)\}", text, re.S):
        constants |= set(re.findall(r"\b(MPI_\w+)\s*=", body))
    callbacks = set(re.findall(r"typedef\s+(?:void|int)\s*\(?\s*(MPI_\w+)\)?\s*\(", text))
    callbacks |= set(re.findall(r"typedef\s+MPI_\w+_function\s+(MPI_\w+_fn);", text))
    objects = set(re.findall(r"(?:^typedef\s[^;{(]*?|^\}\s*)\b(MPI_\w+);", text, re.M))
    calls = set(re.findall(r"^(?!typedef)[A-Za-z_][\w ]*?[ *]+(P?MPI_\w+)\s*\([^;{]*\)\s*;", text,
                           re.M))
    return constants - undefined, objects - callbacks, callbacks, calls


def program(header_text: str) -> str:
    constants, objects, callbacks, calls = names_of(header_text)
    lines = ["#include HEADER", "#include <cstdio>", SHOWS_A_TYPE, "int main() {"]
    for name in sorted(constants):
        lines.append(f'  std::printf("{name} = %lld\\n", (long long)({name}));')
    for name in sorted(objects):
        lines.append(f'  size_of<{name}>("{name}"); std::printf("{name} %s\\n", shown<{name}>());')
    for name in sorted(callbacks | calls):
        kind = name if name in callbacks else f"decltype({name})"
        lines.append(f'  std::printf("{name} %s\\n", shown<{kind}>());')
    # Where a compiler or a debugger looks for the parts of a status.
    for member in ("MPI_SOURCE", "MPI_TAG", "MPI_ERROR"):
        lines.append(f'  std::printf("status {member} at %zu\\n", '
                     f'__builtin_offsetof(MPI_Status, {member}));')
    lines.append("}")
    counted = f"{len(constants)} constants, {len(objects)} types, {len(callbacks)} callback types, " \
              f"{len(calls)} calls"
    return "\n".join(lines), counted


def printed(compiler: str, source: Path, include: Path, header: str) -> str:
    binary = source.with_suffix("." + header.replace(".", "_"))
    # What both headers call weak or inline is not linked: only types are asked for.
    subprocess.run([compiler, "-std=c++17", "-O0", "-w", f"-I{include}", f"-DHEADER=<{header}>",
                    str(source), "-o", str(binary)], check=True)
    return subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--compiler", default="c++")
    arguments.add_argument("--ours", type=Path, required=True, help="directory of mpi.h")
    arguments.add_argument("--other", type=Path, required=True, help="the other header")
    options = arguments.parse_args()
    if not options.other.exists():
        print(f"skipped: there is no {options.other}")
        return 77
    source_text, counted = program(options.other.read_text())
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "print_abi.cpp"
        source.write_text(source_text)
        ours = printed(options.compiler, source, options.ours, "mpi.h")
        other = printed(options.compiler, source, options.other.parent, options.other.name)
    difference = list(difflib.unified_diff(other.splitlines(), ours.splitlines(),
                                           str(options.other), "our mpi.h", lineterm="", n=0))
    print("\n".join(difference) if difference else f"the same: {counted}")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
