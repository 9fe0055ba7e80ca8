#!/usr/bin/env python3
"""A user's program built with a sanitizer or --coverage, or run under valgrind, on our release
library: it must run as always, without any report.

    run_under.py PREFIX TOOL      TOOL: address, undefined, thread, coverage, valgrind
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
REPORT = re.compile(r"Sanitizer|runtime error|^==\d+==|profiling:", re.M)


def main():
    prefix, tool = sys.argv[1:3]
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.cpp")
    if tool == "valgrind" and not shutil.which("valgrind"):
        print("valgrind is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="meantime-test-") as folder:
        program = os.path.join(folder, "program")
        flags = {"valgrind": [], "coverage": ["--coverage"]}.get(tool, [f"-fsanitize={tool}"])
        subprocess.run([os.path.join(prefix, "bin/mpicxx"), "-std=c++20", "-g", "-O1", *flags, source,
                        "-o", program], check=True, cwd=folder)
        command = [program]
        if tool == "valgrind":
            command = ["valgrind", "-q", "--leak-check=full", "--error-exitcode=9", program]
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("MEANTIME_")}
        try:
            done = subprocess.run([os.path.join(prefix, "bin/mpiexec"), "-n",
                                   "2" if tool == "valgrind" else "4", *command], env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  stdin=subprocess.DEVNULL, cwd=folder, text=True,
                                  errors="replace", timeout=240)
        except subprocess.TimeoutExpired as late:
            print(late.stdout, "not finished after 240 s")
            return 1
        wrote_counts = any(name.endswith(".gcda") for name in os.listdir(folder))
    print(done.stdout)
    if done.returncode != 0 or " No Errors" not in done.stdout or REPORT.search(done.stdout):
        print(f"FAILED: exit status {done.returncode}")
        return 1
    if tool == "coverage" and not wrote_counts:
        print("FAILED: no counts were written")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
