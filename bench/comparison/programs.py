"""Compiling the measuring programs: the bare ones with the C++ compiler, the others with each MPI's wrapper.

Standard library only.
"""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
BARE = {name: f"limits/{name}.cpp" for name in ("mailbox", "barrier", "fibers", "wake", "move", "tcp")}
MPI = {
    "latency": "latency/latency.cpp",
    "bandwidth": "bandwidth/bandwidth.cpp",
    "matching": "matching/matching.cpp",
    "datatypes": "datatypes/datatypes.cpp",
    "oversubscription": "oversubscription/oversubscription.cpp",
    "empty": "startup/empty.c",
    "phases": "startup/phases.cpp",
    "network": "network/network.cpp",
    "libra": "libra/libra.cpp",
    "overlap": "overlap/overlap.cpp",
}
CXX_FLAGS = ["-std=c++17", "-O2", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]


class CompileError(RuntimeError):
    pass


def newest(directory):
    return max(path.stat().st_mtime for path in directory.rglob("*.[hc]*") if path.is_file())


def compile_one(compiler, flags, source, target, libraries=()):
    """Does nothing if the program is newer than all sources and the compiler."""
    compiler = shutil.which(compiler) or compiler
    source = BENCH / source
    if target.exists() and target.stat().st_mtime > max(newest(BENCH), os.stat(compiler).st_mtime):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([compiler, *flags, str(source), "-o", str(target), *libraries],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompileError(f"{compiler} cannot compile {source.name}:\n{done.stdout}{done.stderr}")


def compile_bare(names, directory):
    compiler = os.environ.get("CXX", "c++")
    for name in names:
        compile_one(compiler, ["-std=c++17", "-O2", "-pthread"], BARE[name], directory / "bare" / name)
    return {name: directory / "bare" / name for name in names}


def compile_mpi(implementation, names, directory):
    where = directory / implementation.key
    for name in names:
        c_source = MPI[name].endswith(".c")
        compile_one(implementation.cc if c_source else implementation.cxx,
                    ["-O2"] if c_source else CXX_FLAGS, MPI[name], where / name)
    return {name: where / name for name in names}
