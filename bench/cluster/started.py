"""How a program is started on nodes that `meantime cluster` plays: by Meantime, and by other MPIs in the same network."""
from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "network")]
from contestants import Contestant  # noqa: E402

SHELL = HERE / "node-shell"
# Of peers: no memory between nodes, which they cannot know to be one machine's otherwise.
OVER_UCX = (("UCX_TLS", "tcp,self"), ("FI_PROVIDER", "tcp"))


def in_cluster(ours, nodes, link, command):
    """`link`: the cluster's options."""
    return [Path(ours.mpiexec).with_name("meantime"), "cluster", nodes, *link, "--", *command]


def by_meantime(name, ours, nodes, ranks, link, program, options=(), variables=()):
    command = in_cluster(ours, nodes, link, [ours.mpiexec, *options, "-n", ranks, *program])
    return Contestant(name, command, ours.environment(), variables)


def by_peer(peer, ours, nodes, ranks, link, program):
    """In blocks, as ours. None: not known how."""
    hosts = [f"10.0.0.{node + 1}:{ranks // nodes}" for node in range(nodes)]
    crowded = ranks > len(os.sched_getaffinity(0))
    if peer.key == "openmpi":
        words = ["--mca", "plm_rsh_agent", SHELL, "--host", ",".join(hosts), "--mca", "pml", "ob1", "--mca", "btl", "tcp,vader,self",
                 "--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0", "--bind-to", "none",
                 *(("--mca", "mpi_yield_when_idle", "1") if crowded else ())]
        variables = ()
    elif peer.key == "mpich":
        words = ["-launcher", "ssh", "-launcher-exec", SHELL, "-hosts", ",".join(hosts)]
        variables = (*OVER_UCX, *((("MPIR_CVAR_POLLS_BEFORE_YIELD", "1"),) if crowded else ()))
    else:
        return None
    command = in_cluster(ours, nodes, link, [SHELL, "10.0.0.1", peer.mpiexec, *words, "-n", ranks, *program])
    return Contestant(peer.name, command, {**peer.environment(), **dict(variables)}, variables)
