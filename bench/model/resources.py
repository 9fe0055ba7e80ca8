"""What start-up, memory and connections cost: of each part that has something for each rank of the world, by what it was measured to
take for one. Times in seconds, memory in bytes.
"""
from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class World:
    nodes: int
    ranks_a_node: int = 128

    @property
    def ranks(self):
        return self.nodes * self.ranks_a_node


def rounds(count):
    return math.ceil(math.log2(count)) if count > 1 else 0


def partners(which, count):
    """Of a dissemination barrier."""
    return {other for distance in (1 << turn for turn in range(rounds(count)))
            for other in ((which + distance) % count, (which - distance) % count)} - {which}


# --- Connections of one process

def after_barrier(world, rank):
    if rank % world.ranks_a_node or world.nodes == 1:
        return set()
    return {node * world.ranks_a_node for node in partners(rank // world.ranks_a_node, world.nodes)}


def after_finalize(world, rank):
    """The last barrier is one of all ranks (src/core/start/use.cpp)."""
    if world.nodes == 1:
        return set()
    near = rank // world.ranks_a_node
    return after_barrier(world, rank) | {other for other in partners(rank, world.ranks) if other // world.ranks_a_node != near}


def after_exchange(world):
    """An alltoall between ranks."""
    return world.ranks - world.ranks_a_node


# --- Memory

@dataclass(frozen=True)
class Memory:
    rank: float       # kept by a process from MPI_Init on
    ending: float     # … and what MPI_Finalize adds
    segment: float    # of a node
    supervisor: float
    wiring: float     # of a node, while its tasks read cards: their wire-up programs' text

    def node(self, world):
        return self.segment + self.supervisor + world.ranks_a_node * self.rank

    def node_at_worst(self, world):
        return self.node(world) + max(self.wiring, world.ranks_a_node * self.ending)


def peers_kept(world):
    """Of how many ranks a rank keeps something at the end: in blocks of 16 (match/local.h), each by one that it has spoken to."""
    return min(world.ranks, 16 * len(after_finalize(world, 0)))


def memory(world, measured):
    ranks = world.ranks
    far = ranks if world.nodes > 1 else 0
    wires = len(after_finalize(world, 0))
    return Memory(
        rank=measured["process"] + far * (measured["addresses"] + measured["nodes"]) + wires * measured["connection"],
        ending=peers_kept(world) * measured["peers"],
        segment=ranks * measured["segment"],
        supervisor=ranks * measured["supervisor"],
        wiring=world.ranks_a_node * far * measured["card text"])


# --- Start and end, where each task has a CPU of its own and the launcher is there

START = ("what two tasks take", "exchange of cards", "reading cards", "address table", "segment", "supervisor's polls")


def start(world, measured, launcher):
    """Seconds of each part; `launcher`: what is assumed of its network."""
    ranks = world.ranks
    far = ranks - world.ranks_a_node
    exchange = far * measured["card text"] * launcher.per_byte + rounds(world.nodes) * (launcher.latency + launcher.send + launcher.receive)
    return dict(zip(START, (
        measured["task seconds"],
        exchange * 1e-6,
        far * (measured["get seconds"] + measured["card seconds"]),
        far * measured["addresses seconds"],
        ranks * measured["segment seconds"],
        2 * world.ranks_a_node**2 * measured["poll seconds"])))


def end(world, measured, network):
    """The last barrier, with a connection to make in each of its rounds; then two looks at what is kept of ranks."""
    if world.nodes == 1:
        return 0.0
    message = (network.latency + network.send + network.receive) * 1e-6
    return (rounds(world.ranks) * message + len(after_finalize(world, 0)) * measured["connection seconds"] +
            2 * peers_kept(world) * measured["peers seconds"])

