"""What would replace the parts that do not scale (docs/measurements/scale.md has the reasons), by the same model. Nothing of it is
there."""
from __future__ import annotations

import collectives
from resources import rounds


def message(net, size):
    fetched = 2 * net.latency + net.send + net.receive if size > net.offered else 0.0
    return net.latency + net.send + net.receive + fetched + size * net.per_byte


def short_allreduce(job, size):
    """Up and down a binary tree over the numbers of ranks, whose shape depends on nothing else: so do its bits."""
    up = job.meets + job.ranks_a_node * job.joined + rounds(job.nodes) * (message(job.network, size) + job.joined)
    return up + collectives.bcast_time(job, size)


def long_allreduce(job, size):
    """Ranks of a node join their vectors in shares; those of nodes are halved and joined, then doubled and passed on."""
    here = 2 * (job.meets + size * job.read) + size * job.joined_byte
    between = sum(2 * message(job.network, size >> turn) + (size >> turn) * job.joined_byte for turn in range(1, rounds(job.nodes) + 1))
    return here + between


def alltoall(job, block):
    """In two steps whatever its size, each rank of a node for its share of the other nodes."""
    net, between = job.network, block * job.ranks_a_node ** 2
    carried = (job.nodes - 1) * max(net.gap, between * net.per_byte)
    by_rank = -(-(job.nodes - 1) // job.ranks_a_node) * (net.send + net.receive)
    copied = 4 * block * job.ranks * job.read
    return 2 * job.meets + max(carried, by_rank) + copied + message(net, min(between, net.offered))
