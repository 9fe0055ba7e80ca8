"""What ranks do in the collectives of Meantime over several nodes: the steps of the one who speaks for a node (src/coll/by_nodes),
or of each rank where they go by messages between ranks (src/coll/schedule/plans_*.cpp); and which of both it is.

Where that is too much to play, of a hundred thousand ranks, the one who has most to do is computed.
"""
from __future__ import annotations

from dataclasses import dataclass

import loggp

KIB, MIB = 1 << 10, 1 << 20
MOST_TO_ALL = 8                  # nodes, by_nodes/reduce.cpp
MOST_VALUES = 256 * KIB          # thresholds.h
VALUE_AT_ONCE = 16 * KIB         # the same
BCAST_BASE = 4                   # the same
RANKS_TO_EXCHANGE = 2            # the same
ALLTOALL_BLOCK = 4 * KIB         # the same
ALLTOALL_OF_NODE = MIB           # the same
SHARE_BY_MESSAGE = 16 * KIB      # the same
MOST_TO_PLAY = 70_000            # messages


@dataclass(frozen=True)
class Job:
    """`meeting`: of two ranks or more in shared memory, for each of them. `read`: a byte there. `joined`: a value of a reduction, and a
    byte of a long one. In µs."""
    nodes: int
    ranks_a_node: int
    network: loggp.Network
    meeting: float
    read: float
    joined: float
    joined_byte: float

    @property
    def ranks(self):
        return self.nodes * self.ranks_a_node

    @property
    def meets(self):
        """All ranks of a node once."""
        return 0.0 if self.ranks_a_node == 1 else self.meeting * self.ranks_a_node


# --- Which way (and of what size it is, the messages)

def allreduce_by_nodes(job, size):
    return job.nodes > 1 and size * job.ranks <= MOST_VALUES and size <= VALUE_AT_ONCE


def alltoall_by_nodes(job, block):
    return (job.nodes > 1 and job.ranks_a_node >= RANKS_TO_EXCHANGE and
            block <= min(ALLTOALL_BLOCK, ALLTOALL_OF_NODE // job.ranks // job.ranks_a_node))


def is_split(job, size):
    return job.ranks > 2 and size // job.ranks >= SHARE_BY_MESSAGE


# --- Steps

def here(job, size=0):
    return loggp.Compute(job.meets + (size * job.read if job.ranks_a_node > 1 else 0.0))


def barrier(job, node):
    yield here(job)
    distance = 1
    while distance < job.nodes:
        yield loggp.Send((node + distance) % job.nodes, 1)
        yield loggp.Receive((node - distance) % job.nodes)
        distance *= 2
    yield here(job)


def bcast(job, node, size):
    """From node 0, a tree in which a node gives it to up to three others at a time."""
    distance = 1
    while distance < job.nodes and node // distance % BCAST_BASE == 0:
        distance *= BCAST_BASE
    if node != 0:
        yield loggp.Receive(node - node // distance % BCAST_BASE * distance)
    distance //= BCAST_BASE
    while distance > 0:
        for to in range(node + distance, min(job.nodes, node + BCAST_BASE * distance), distance):
            yield loggp.Send(to, size)
        distance //= BCAST_BASE
    yield here(job, size)


def to_one_and_back(job, node, size):
    """A short allreduce: values of nodes, to all or to the first, and then as a bcast."""
    values = size * job.ranks_a_node
    others = [other for other in range(job.nodes) if other != node]
    joins = loggp.Compute(job.ranks * job.joined)
    yield here(job, values)
    if job.nodes <= MOST_TO_ALL:
        yield from (loggp.Send(other, values) for other in others)
        yield from (loggp.Receive(other) for other in others)
        yield joins
        yield here(job, size)
        return
    if node == 0:
        yield from (loggp.Receive(other) for other in others)
        yield joins
    else:
        yield loggp.Send(0, values)
    yield from bcast(job, node, size)


def star(job, rank, size):
    """A reduction between ranks: all to the first, and back."""
    others = range(1, job.ranks)
    if rank != 0:
        yield loggp.Send(0, size)
        yield loggp.Receive(0)
        return
    yield from (loggp.Receive(other) for other in others)
    yield loggp.Compute((job.ranks - 1) * (job.joined + size * job.joined_byte))
    yield from (loggp.Send(other, size) for other in others)


def split(job, rank, size):
    """Each rank joins a share, and gives it to all."""
    share = size // job.ranks
    others = [other for other in range(job.ranks) if other != rank]
    yield from (loggp.Send(other, share) for other in others)
    yield from (loggp.Receive(other) for other in others)
    yield loggp.Compute((job.ranks - 1) * (job.joined + share * job.joined_byte))
    yield from (loggp.Send(other, share) for other in others)
    yield from (loggp.Receive(other) for other in others)


def nodes_exchange(job, node, block):
    """An alltoall by nodes: blocks of all from and for a node go through its first rank, which sorts them twice."""
    others = [other for other in range(job.nodes) if other != node]
    of_node = block * job.ranks * job.ranks_a_node
    sorts = loggp.Compute(2 * of_node * job.read)
    yield here(job, of_node)
    yield sorts
    yield from (loggp.Send(other, block * job.ranks_a_node ** 2) for other in others)
    yield from (loggp.Receive(other) for other in others)
    yield sorts
    yield here(job, of_node)


def ranks_exchange(job, rank, block):
    others = [other for other in range(job.ranks) if other != rank]
    yield from (loggp.Send(other, block) for other in others)
    yield from (loggp.Receive(other) for other in others)


# --- Times

def played(job, program, count, *words):
    """µs until the last one is through."""
    return max(loggp.simulate([program(job, which, *words) for which in range(count)], job.network))


def star_at_first(job, size):
    """The first rank's time: it receives from all, joins and sends to all, and its node's network carries all that."""
    net, others = job.network, job.ranks - 1
    carried = max(net.gap, size * net.per_byte)
    into = max(net.receive + size * net.copied, carried)
    out = max(net.send + (0 if size > net.offered else size * net.copied), carried)
    fetched = 2 * net.latency if size > net.offered else 0.0
    return others * (into + out + job.joined + size * job.joined_byte) + 2 * (net.latency + fetched) + net.send + net.receive


def exchange_of_one(job, block):
    """An alltoall between ranks, of the last one: all send to the first rank first, then to the second, so what is for the last one
    comes when everybody's network has carried all it has to."""
    net, others = job.network, job.ranks - 1
    sends = others * (net.send + block * net.copied)
    carried = job.ranks_a_node * (job.ranks - job.ranks_a_node) * max(net.gap, block * net.per_byte)
    return max(sends, carried) + net.latency + others * (net.receive + block * net.copied)


def barrier_time(job):
    return job.meets if job.nodes == 1 else played(job, barrier, job.nodes)


def bcast_time(job, size):
    return here(job, size).us if job.nodes == 1 else played(job, bcast, job.nodes, size)


def allreduce_time(job, size):
    if job.nodes == 1:
        return here(job, 3 * size).us + job.ranks * job.joined + size * job.joined_byte
    if allreduce_by_nodes(job, size):
        return played(job, to_one_and_back, job.nodes, size)
    if job.ranks ** 2 > MOST_TO_PLAY and not is_split(job, size):
        return star_at_first(job, size)
    return played(job, split if is_split(job, size) else star, job.ranks, size)


def alltoall_time(job, block):
    if job.nodes == 1:
        return here(job, block * job.ranks).us
    if alltoall_by_nodes(job, block):
        return played(job, nodes_exchange, job.nodes, block)
    if job.ranks ** 2 > MOST_TO_PLAY:
        return exchange_of_one(job, block)
    return played(job, ranks_exchange, job.ranks, block)
