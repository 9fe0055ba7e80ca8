#!/usr/bin/env python3
"""A program's own functions by names that are not ISO C's are never called by the library.

    own_names.py PREFIX BOUND_NAMES ISO_C

Nothing of libmpi_abi is left for the run-time linker to look up in the program but ISO C and reserved names; and a program
that has functions of its own by all names that the library calls runs, as processes, as threads and alone.
"""
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define BOUND(name, version) void name(void) { abort(); }
%s
enum { LONG = 1000000 };
static char here[LONG], there[LONG];
static void check(int right, const char* what) { if (!right) { fprintf(stderr, "wrong: %%s\n", what); abort(); } }
int main(int argc, char** argv) {
  int rank, size, one = 1, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int turn = 0; turn < 200; ++turn) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(sum == size, "sum");
  memset(here, rank + 1, LONG);
  const int next = (rank + 1) %% size, last = (rank + size - 1) %% size;
  MPI_Sendrecv(here, LONG, MPI_CHAR, next, 0, there, LONG, MPI_CHAR, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check(there[0] == last + 1 && there[LONG - 1] == last + 1, "a long message");
  const double begin = MPI_Wtime();
  while (rank == 0 && MPI_Wtime() < begin + 0.05) {}
  MPI_Barrier(MPI_COMM_WORLD);  /* the others sleep */
  MPI_Win window;
  int* memory;
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_free(&window);
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Get_processor_name(name, &one);
  MPI_Finalize();
  if (rank == 0) puts(" No Errors");
  return 0;
}
"""


def names_in(nm_output):
    return {line.split()[-1].split("@")[0] for line in nm_output.splitlines() if line.strip()}


def nm(*words):
    return names_in(subprocess.run(["nm", "-D", *words], capture_output=True, text=True, check=True).stdout)


def main():
    prefix, bound_file, iso_c = sys.argv[1:]
    library = os.path.join(prefix, "lib/libmpi_abi.so.1")
    with open(iso_c) as file:
        allowed = set(re.sub("#.*", "", file.read()).split()) | {"meantime_host_main"}
    with open(bound_file) as file:
        table = file.read()
    bound = set(re.findall(r"BOUND\((\w+),", table))
    failed = False
    # By relocations: the linker lists environ, too, where __environ is used, and nothing refers to it.
    relocations = subprocess.run(["readelf", "--relocs", "--wide", library], capture_output=True, text=True, check=True).stdout
    undefined = nm("--undefined-only", library) & set(re.findall(r" (\w+)(?=@| \+ 0)", relocations))
    left = {name for name in undefined if not name.startswith("_")} - allowed
    if left:
        failed = True
        print("the run-time linker looks in the program for", *sorted(left))
    for line in subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout.splitlines():
        if "libc.so.6 =>" in line:
            libc = line.split()[2]
            listed = subprocess.run(["nm", "-D", "--defined-only", libc], capture_output=True, text=True, check=True).stdout
            data = names_in("\n".join(word for word in listed.splitlines() if re.search(" [BDRVb] ", word))) & bound
            if data:
                failed = True
                print("variables, which cannot be bound; is there a reserved name, as __environ for environ?", *sorted(data))
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "own.c"), os.path.join(folder, "own")
        with open(source, "w") as file:
            file.write(PROGRAM % table)
        subprocess.run([os.path.join(prefix, "bin/mpicc"), "-std=c11", "-w", "-fno-builtin", "-o", program, source], check=True)
        seen = nm("--defined-only", program)
        mpiexec = [os.path.join(prefix, "bin/mpiexec"), "-timeout", "60", "-n", "3"]
        ways = {"processes": mpiexec + [program], "that sleep": mpiexec + ["--wait", "event", program], "alone": [program]}
        if os.path.exists(os.path.join(prefix, "libexec/meantime/meantime-host")):
            ways["threads"] = mpiexec + ["--as", "threads", program]
        for way, command in ways.items():
            done = subprocess.run(command, capture_output=True, text=True, timeout=100)
            if done.returncode != 0 or done.stdout != " No Errors\n":
                failed = True
                print(f"{way}: status {done.returncode}: {done.stdout}{done.stderr}")
    print(len(bound), "names bound;", len(seen & bound), "of them seen by the run-time linker")
    return 1 if failed else 0


sys.exit(main())
