"""A LogGP machine (Alexandrov and others 1995): programs that compute, send and receive, and when each is through. Times are in µs.

    latency   L: from one node's network to the other's
    send      o of who sends, receive: of who receives, of a CPU each
    gap       g: between two messages that leave a node, or come to it
    per_byte  G: for each of their bytes
    copied    the same of a CPU on either side, where no network card moves the bytes
    offered   messages of more bytes are announced, and fetched once they are received (src/match/ways/remote.h)
    cpus      None: each program has its own; else all share so many, as played nodes do
    wake      what giving a CPU to one that waited costs there

A program is a generator of steps.
"""
from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True)
class Network:
    latency: float
    send: float
    receive: float
    gap: float = 0.0
    per_byte: float = 0.0
    copied: float = 0.0
    offered: int = 64 * 1024
    cpus: int | None = None
    wake: float = 0.0


@dataclass(frozen=True)
class Compute:
    us: float


@dataclass(frozen=True)
class Send:
    to: int
    bytes: int


@dataclass(frozen=True)
class Receive:
    origin: int


class Machine:
    def __init__(self, programs, network):
        self.network = network
        self.programs = [iter(program) for program in programs]
        self.cpu_free = [0.0] * (network.cpus or len(self.programs))
        self.out_free = [0.0] * len(self.programs)  # of each one's network
        self.in_free = [0.0] * len(self.programs)
        self.came = {}     # (from, to): what is there for it or on its way, in order
        self.waiting = {}  # (from, to): since when
        self.ready = [(0.0, who) for who in range(len(self.programs))]
        self.through = [0.0] * len(self.programs)

    def run(self):
        while self.ready:
            time, who = heapq.heappop(self.ready)
            step = next(self.programs[who], None)
            if step is None:
                self.through[who] = time
            elif isinstance(step, Compute):
                self.go_on(who, self.use_cpu(who, time, step.us))
            elif isinstance(step, Send):
                self.send(who, time, step)
            else:
                self.receive(who, time, step.origin)
        if self.waiting:
            raise ValueError(f"they wait for ever: {sorted(self.waiting)[:4]}")
        return self.through

    def go_on(self, who, time):
        heapq.heappush(self.ready, (time, who))

    def use_cpu(self, who, time, us):
        cpu = who if self.network.cpus is None else min(range(len(self.cpu_free)), key=self.cpu_free.__getitem__)
        self.cpu_free[cpu] = max(time, self.cpu_free[cpu]) + us
        return self.cpu_free[cpu]

    def on_wire(self, origin, to, time, size):
        """When it is there, of what is ready then."""
        takes = max(self.network.gap, size * self.network.per_byte)
        out = max(time, self.out_free[origin])
        self.out_free[origin] = out + takes
        comes = max(out + self.network.latency, self.in_free[to])
        self.in_free[to] = comes + takes
        return comes + size * self.network.per_byte

    def send(self, who, time, step):
        carried = 0 if step.bytes > self.network.offered else step.bytes
        end = self.use_cpu(who, time, self.network.send + carried * self.network.copied)
        self.came.setdefault((who, step.to), deque()).append((self.on_wire(who, step.to, end, carried), step.bytes))
        self.go_on(who, end)
        since = self.waiting.pop((who, step.to), None)
        if since is not None:
            self.take(step.to, since, who)

    def receive(self, who, time, origin):
        if self.came.get((origin, who)):
            self.take(who, time, origin)
        else:
            self.waiting[origin, who] = time

    def take(self, who, time, origin):
        there, size = self.came[origin, who].popleft()
        woken = self.network.wake if self.network.cpus is not None and there > time else 0.0
        begin = self.use_cpu(who, max(time, there), woken + self.network.receive)
        if size > self.network.offered:  # asks for it, and gets it
            asked = self.on_wire(origin, who, begin + self.network.latency, size)
            given = self.use_cpu(origin, asked, self.network.send + size * self.network.copied)  # (as it goes)
            taken = self.use_cpu(who, asked, size * self.network.copied)
            self.go_on(who, max(given, taken))
        else:
            self.go_on(who, self.use_cpu(who, begin, size * self.network.copied))


def simulate(programs, network):
    """When each is through."""
    return Machine(programs, network).run()
