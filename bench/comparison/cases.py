"""What is run: the slices of bench/compare and their cases.

A *case* is one program with one set of arguments on a number of ranks. The `bare` cases have no MPI. Points
that take some implementation minutes have a case of their own, so that a time limit costs only them.
"""
from __future__ import annotations

import dataclasses

SLICES = ("limits", "latency", "bandwidth", "matching", "datatypes", "barrier", "collectives", "random", "startup", "ucx")


@dataclasses.dataclass(frozen=True)
class Case:
    slice: str
    kind: str  # bare, mpi, ucx, start, jobs
    program: str
    ranks: int
    arguments: tuple
    limit: float  # seconds for one run
    threads: bool = False    # Meantime's ranks also as threads
    peers: bool = True       # run with the peers, too
    one_cpu: bool = False    # all ranks on one CPU

    def __str__(self):
        return " ".join((self.program, *self.arguments)) + (" on one CPU" if self.one_cpu else "")

    @property
    def keys(self):
        """What tells its points from those of the same program elsewhere."""
        return {"cpus": 1} if self.one_cpu else {}


@dataclasses.dataclass(frozen=True)
class Scale:
    """The same cases, at more or less cost."""
    repetitions: int
    seconds: float          # per point of a program
    limit: float            # per run
    latency_bytes: str
    bandwidth_bytes: str
    collective_bytes: str
    crowded_ranks: tuple    # of barrier, allreduce, halo
    peers_in_large_crowds: bool
    collective_ranks: tuple
    memory: str
    move_bytes: str
    move_arena: str


FULL = Scale(repetitions=5, seconds=0.3, limit=60,
             latency_bytes="0,8,64,1K,4K,16K,64K,256K,1M,4M,16M",
             bandwidth_bytes="1,8,64,512,1K,4K,16K,64K,256K,1M,4M",
             collective_bytes="1K,4K,16K,64K,256K,1M",
             crowded_ranks=(2, 4, 8, 16, 32, 64), peers_in_large_crowds=True, collective_ranks=(16, 64), memory="10G",
             move_bytes="4K,64K,256K,1M,4M,16M,64M", move_arena="1G")
QUICK = Scale(repetitions=3, seconds=0.1, limit=8,
              latency_bytes="0,8,1K,64K,1M,16M",
              bandwidth_bytes="8,1K,64K,1M",
              collective_bytes="1K,32K",
              crowded_ranks=(2, 16, 64), peers_in_large_crowds=False, collective_ranks=(16, 64), memory="2G",
              move_bytes="64K,1M,16M", move_arena="256M")
LARGE_CROWD = 256  # ranks of a barrier: a matter of thread ranks
UCX_SIZES = (65536, 1 << 20, 16 << 20)


def join(numbers):
    return ",".join(map(str, numbers))


def limits(scale):
    seconds = ("--seconds", str(scale.seconds))
    ranks = join(scale.crowded_ranks)
    return [Case("limits", "bare", "mailbox", 2, seconds, 60),
            Case("limits", "bare", "barrier", 2, (*seconds, "--ranks", ranks), 300),
            Case("limits", "bare", "fibers", 2, (*seconds, "--ways", "loop", "--ranks", f"{ranks},{LARGE_CROWD}"), 300),
            Case("limits", "bare", "wake", 2, seconds, 300),
            Case("limits", "bare", "move", 2, (*seconds, "--bytes", scale.move_bytes, "--arena", scale.move_arena),
                 600)]


def two_ranks(scale):
    seconds = ("--seconds", str(scale.seconds))
    several = 4 * scale.limit  # they have many points
    yield Case("latency", "mpi", "latency", 2, (*seconds, "--bytes", scale.latency_bytes), several, threads=True)
    yield Case("latency", "mpi", "latency", 2, (*seconds, "--bytes", "8,1M", "--buffers", "1"), scale.limit,
               threads=True, one_cpu=True)
    yield Case("bandwidth", "mpi", "bandwidth", 2, (*seconds, "--bytes", scale.bandwidth_bytes), several)
    yield Case("bandwidth", "mpi", "bandwidth", 8, (*seconds, "--bytes", scale.bandwidth_bytes), scale.limit)
    entries = "0,100,10000" if scale is QUICK else "0,10,100,1000,10000"
    yield Case("matching", "mpi", "matching", 2, (*seconds, "--entries", entries), several)
    yield Case("datatypes", "mpi", "datatypes", 2, seconds, several)


def crowds(scale):
    seconds = ("--seconds", str(scale.seconds), "--memory", scale.memory)
    for ranks in scale.crowded_ranks:
        for operation in ("barrier", "allreduce", "halo"):
            yield Case("barrier", "mpi", "oversubscription", ranks,
                       (*seconds, "--operations", operation, "--bytes", "8", "--communicators", "world"),
                       scale.limit, threads=True)
    yield Case("barrier", "mpi", "oversubscription", LARGE_CROWD,
               (*seconds, "--operations", "barrier", "--communicators", "world"), scale.limit, threads=True,
               peers=scale.peers_in_large_crowds)
    for ranks in scale.collective_ranks:
        for operation in ("bcast", "allgather", "alltoall", "allreduce"):
            yield Case("collectives", "mpi", "oversubscription", ranks,
                       (*seconds, "--operations", operation, "--bytes", scale.collective_bytes),
                       scale.limit if scale is QUICK else 2 * scale.limit)
        yield Case("random", "mpi", "oversubscription", ranks,
                   (*seconds, "--operations", "random", "--bytes", "1K,16K,64K,256K,1M"), scale.limit)


def starts(scale):
    yield Case("startup", "start", "empty", 64, (), scale.limit)
    yield Case("startup", "jobs", "phases", 4, ("--phases", "500", "--rounds", "100000"), 2 * scale.limit)


def ucx(scale):
    for size in UCX_SIZES:
        turns = max(50, int(scale.seconds * 1e9 / (2 * size / 8 + 1000)))
        yield Case("ucx", "ucx", "ucx_perftest", 2, (str(size), str(min(turns, 100000))), 60)


def cases(scale, slices):
    every = [*limits(scale), *two_ranks(scale), *crowds(scale), *starts(scale), *ucx(scale)]
    return [case for case in every if case.slice in slices]
