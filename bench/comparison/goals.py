"""The rows of the performance table: what is compared with what, and which goal it has.

A goal is a factor: a time is to be at most that many times the reference's, a rate at least its inverse.
"""
from __future__ import annotations

import dataclasses

from .measure import BARE, UCX, Who
from .peers import AS_INSTALLED, AS_THREADS
from .rows import Point, Summary

OURS = Who("meantime", AS_INSTALLED)
THREADS = Who("meantime", AS_THREADS)


@dataclasses.dataclass(frozen=True)
class Row:
    group: str
    title: str
    point: Point
    bare: Point | None = None        # the same thing without an MPI
    bare_goal: float | None = None
    peer_goal: float | None = None
    ucx_goal: float | None = None
    base: Point | None = None        # another point of our own
    base_goal: float | None = None
    base_title: str = ""
    who: Who = OURS
    most: float | None = None        # an absolute goal, in the row's unit

    @property
    def goal(self):
        parts = [] if self.most is None else [f"≤ {self.most:g} µs"]
        for factor, text in ((self.bare_goal, "bare prototype"), (self.ucx_goal, "ucx_perftest"),
                             (self.peer_goal, "best peer"), (self.base_goal, self.base_title)):
            if factor is not None:
                parts.append(f"≤ {factor:g} × {text}" if factor != 1 else f"≤ {text}")
        return " and ".join(parts) or "–"


@dataclasses.dataclass(frozen=True)
class Judged:
    """A row with its figures; a ratio is a factor of time, below 1 where we are faster."""
    row: Row
    ours: Summary | None
    why: str                 # there is no figure of ours
    bare: Summary | None
    bare_ratio: float | None
    peer: Summary | None
    peer_who: Who | None
    peer_why: str            # there is no figure of a peer
    peer_ratio: float | None
    ucx: Summary | None
    ucx_ratio: float | None
    base_ratio: float | None
    met: bool | None         # None: nothing to compare with
    complete: bool           # every goal of the row could be compared


def size_text(size):
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def ping_pong(store):
    for point in points(store, "latency", "ping-pong"):
        size, buffers = point.key("bytes"), point.key("buffers")
        title = f"{size_text(size)}, {'one buffer' if buffers == 1 else f'{buffers} rotating buffers'}"
        if on_one_cpu(point):
            yield Row("Ping-pong, half round trip", f"{title}, both on one CPU", point)
        elif size == 8 and buffers == 1:
            yield Row("Ping-pong, half round trip", title, point, bare_goal=1.2, peer_goal=0.8,
                      bare=Point.of("mailbox", 2, "ping-pong", bytes=8))
        else:
            goals = {"peer_goal": 0.8} if size in (65536, 1 << 20, 16 << 20) else {}
            if goals and buffers == 1:
                goals["ucx_goal"] = 1.05
            yield Row("Ping-pong, half round trip", title, point, bare=best_move(store, size, buffers), **goals)


def on_one_cpu(point):
    return point.key("cpus") == 1


def best_move(store, size, buffers):
    """The fastest bare way between two processes at this size."""
    found = [(summary.median, point) for point, summary in of_whom(store, Who(BARE, AS_INSTALLED)).items()
             if point.program == "move" and point.name == "move" and point.key("bytes") == size
             and point.key("way") in ("readv", "writev", "cells")
             and (point.key("buffers") == 1) == (buffers == 1)]
    return min(found)[1] if found else None


def bandwidth(store):
    for name in ("bandwidth", "message rate"):
        for point in points(store, "bandwidth", name):
            size, pairs, ways = point.key("bytes"), point.key("pairs"), point.key("ways")
            if (name == "message rate") != (size <= 1024):
                continue  # small messages are a matter of rate, large ones of bandwidth
            title = f"{name}, {size_text(size)}, {'both ways' if ways == 'both' else 'one way'}"
            yield Row("Windows of 64 messages (osu_bw, osu_bibw, osu_mbw_mr)",
                      f"{title}, {pairs} pair{'s' if pairs > 1 else ''}", point, peer_goal=1)


def matching(store):
    for point in points(store, "matching", "matching"):
        kind, entries = point.key("kind"), point.key("entries")
        if entries:
            goal = 3 if entries == 10000 else None
            yield Row("8-byte ping-pong over filled queues", f"{entries} entries, {kind}", point,
                      base=Point.of("matching", 2, "matching", kind=kind, entries=0), base_goal=goal,
                      base_title="the empty queue")


# Of `oversubscription`, what is in the tables: its operation, the size, and what it is called there.
TOGETHER = (("barrier", 0, "barrier"), ("allreduce", 8, "allreduce 8 B"), ("halo", 1024, "ring halo 1 KiB × 2"))


def crowd(store):
    for name, size, title in TOGETHER:
        for point in points(store, "oversubscription", name):
            if point.key("communicator") != "world" or point.key("bytes") != size:
                continue
            bare = None
            if name != "halo":
                ways = ("poll",) if point.ranks == 2 else ("tree",)
                bare = Point.of("barrier", point.ranks, "barrier", way=ways[0])
            goals = {}
            if name == "barrier" and point.ranks == 2:
                goals = {"peer_goal": 1}
            elif point.ranks == 64:
                goals = {"peer_goal": 0.5} if name == "halo" else {"bare_goal": 1.1, "peer_goal": 0.35}
            yield Row("Waiting together", f"{title}, {point.ranks} ranks", point, bare=bare, **goals)


THREADS_GROUP = "Ranks as threads (`mpiexec --as threads`)"


def thread_ranks(store):
    """Beside the same points of process ranks, of the peers, and beside bare fibers."""
    bare_goals = {64: 1.8, 256: 1.7}
    for name, size, title in TOGETHER:
        for point in points(store, "oversubscription", name):
            if point.key("communicator") != "world" or point.key("bytes") != size:
                continue
            goals = {"base": point, "base_title": "process ranks"}
            if name == "halo":
                goals |= {"peer_goal": 0.4} if point.ranks == 64 else {}
            else:
                goals |= {"bare": bare_fibers(store, point.ranks), "bare_goal": bare_goals.get(point.ranks)}
            yield Row(THREADS_GROUP, f"{title}, {point.ranks} ranks", point, who=THREADS, **goals)
    for point in points(store, "latency", "ping-pong"):
        size = point.key("bytes")
        if size not in (8, 65536, 1 << 20) or point.key("buffers") != 1:
            continue
        goals = {"base": point, "base_title": "process ranks"}
        if size == 8:
            goals |= {"most": 0.1} if on_one_cpu(point) else {"base_goal": 1}
        elif size == 1 << 20:
            goals |= {"bare_goal": 1.1}
        if size > 8:
            goals["bare"] = Point.of("move", 2, "move", way="memcpy", bytes=size, buffers=1)
        place = "one CPU" if on_one_cpu(point) else "two CPUs"
        yield Row(THREADS_GROUP, f"ping-pong {size_text(size)}, {place}", point, who=THREADS, **goals)


def bare_fibers(store, ranks):
    return next((point for point in of_whom(store, Who(BARE, AS_INSTALLED)) if point.program == "fibers"
                 and point.ranks == ranks and point.key("way") == "loop"), None)


def collectives(store):
    for name in ("bcast", "allgather", "alltoall", "allreduce"):
        for point in points(store, "oversubscription", name):
            size, where = point.key("bytes"), point.key("communicator")
            if size < 1024:
                continue
            half = ", shuffled halves" if where == "half" else ""
            yield Row("Collectives", f"{name} {size_text(size)}, {point.ranks} ranks{half}", point, peer_goal=1)
    for point in points(store, "oversubscription", "random"):
        yield Row("Collectives", f"random order between random computations, {point.ranks} ranks", point,
                  bare=dataclasses.replace(point, name="random: computation"), peer_goal=1)


def starting(store):
    for point in points(store, "phases", "eight jobs"):
        if point.key("at once") == 8:
            yield Row("Starting", "eight jobs of 4 ranks at once", point, base_goal=1.1,
                      base=Point.of("phases", 4, "eight jobs", **{"at once": 1}),
                      base_title="one after another")
    for point in points(store, "empty", "start to end"):
        yield Row("Starting", f"empty program, {point.ranks} ranks, start to end", point, peer_goal=1)


def points(store, program, name):
    return sorted({point for point, who in store.results if point.program == program and point.name == name
                   and who.key not in (BARE, UCX)}, key=lambda point: (point.ranks, point.keys))


def of_whom(store, who):
    return {point: summary for (point, one), (summary, _, _) in store.results.items()
            if one == who and summary}


def rows(store):
    for part in (ping_pong, bandwidth, matching, crowd, collectives, starting):
        yield from part(store)
    if any(who == THREADS for _, who in store.results):
        yield from thread_ranks(store)


def factor(summary, reference):
    """How many times the reference's time (or its inverse, for a rate)."""
    if not summary or not reference or not reference.median or not summary.median:
        return None
    ratio = summary.median / reference.median
    return 1 / ratio if summary.higher_is_better else ratio


def best(store, point, of_kind):
    """(Summary, Who) of the best figure for a point, and why there is none."""
    found, reasons = [], []
    for (one, who), (summary, _, why) in store.results.items():
        if one != point or not of_kind(who):
            continue
        if summary:
            found.append((-summary.median if summary.higher_is_better else summary.median, summary, who))
        else:
            reasons.append(f"{store.name_of(who.key)} {why}")
    if found:
        _, summary, who = min(found, key=lambda item: item[0])
        return summary, who, ""
    return None, None, "; ".join(sorted(set(reasons)))


def judge(store, row):
    ours, _, why = store.results.get((row.point, row.who), (None, None, "not measured"))
    bare, _, _ = (None, None, "") if row.bare is None else best(
        store, row.bare, lambda who: who.key == BARE if row.bare.program != "oversubscription" else who == row.who)
    peer, peer_who, peer_why = best(store, row.point, lambda who: who.key not in (OURS.key, BARE, UCX))
    ucx, _, _ = best(store, row.point, lambda who: who.key == UCX)
    base, _, _ = store.results.get((row.base, OURS), (None, None, "")) if row.base else (None, None, "")
    ratios = {"bare": factor(ours, bare), "peer": factor(ours, peer), "ucx": factor(ours, ucx),
              "base": factor(ours, base)}
    # A peer that did not get there in time is beaten; without any figure of ours nothing is met.
    if ours and peer is None and ">" in peer_why:
        ratios["peer"] = 0.0
    wanted = {name: goal for name, goal in (("bare", row.bare_goal), ("peer", row.peer_goal),
                                            ("ucx", row.ucx_goal), ("base", row.base_goal))
              if goal is not None}
    checks = [ratios[name] <= goal for name, goal in wanted.items() if ratios[name] is not None]
    if row.most is not None:
        wanted["most"] = row.most
        if ours:
            checks.append(ours.median <= row.most)
    return Judged(row, ours, why, bare, ratios["bare"], peer, peer_who, peer_why,
                  ratios["peer"] if peer else None, ucx, ratios["ucx"], ratios["base"],
                  all(checks) if checks else None, len(checks) == len(wanted))
