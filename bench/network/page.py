"""The page that says how fast messages between nodes are, from the results of one measurement."""
from __future__ import annotations

import datetime
import shlex
import statistics
from pathlib import Path

import contestants
import quiet
from comparison import machine, store
from comparison.document import number, spread
from comparison.goals import factor, size_text
from comparison.rows import Sample, Summary

PATH = contestants.ROOT / "docs/measurements/network.md"
PARTS = ("messages", "late", "local", "barriers", "overlap", "memory")
OURS, POLLING, UCX = "Meantime", "Meantime `poll`", "ucx_perftest"
PING_PONG = ("ping-pong", ("bytes", 8))
STREAMS = [("stream", ("bytes", contestants.size_of(size))) for size in contestants.WINDOWS]
BARE = "TCP and epoll"
middle = statistics.median


def conditions(command):
    return {"date": datetime.date.today().isoformat(), "machine": machine.describe(), "commit": store.commit(),
            "command": shlex.join([str(Path(command[0]).resolve().relative_to(contestants.ROOT)), *command[1:]])}


class Results:
    def __init__(self, kept):
        samples = {}
        for one in kept["rounds"]:
            for part, of in one["found"].items():
                for name, figures in of.items():
                    for (what, *keys), sample in figures:
                        samples.setdefault((part, name, (what, *map(tuple, keys))), []).append(Sample(**sample))
        self.summaries = {key: Summary.of(each) for key, each in samples.items()}

    def of(self, part, name, figure):
        return self.summaries.get((part, name, figure))

    def best_peer(self, figure):
        """(name, Summary) of the best that is neither ours nor UCX alone."""
        found = {name: summary for (part, name, one), summary in self.summaries.items()
                 if part == "messages" and one == figure and name not in (OURS, POLLING, UCX)}
        if not found:
            return None, None
        first = next(iter(found.values()))
        return min(found.items(), key=lambda item: factor(item[1], first))

    def bare(self, way, late_us, name="late message"):
        return self.of("late", BARE, (name, ("way", way), ("late_us", late_us)))


def title(figure):
    size = dict(figure[1:])["bytes"]
    if figure[0] == "ping-pong":
        return f"{size_text(size)}, half round trip"
    return f"{'message rate' if size <= 1024 else 'bandwidth'}, {size_text(size)}"


def met(*checks):
    """Each None (nothing to compare with) or whether it holds."""
    known = [check for check in checks if check is not None]
    return "–" if not known else "yes" if all(known) else "**no**"


def ratio(value):
    return "–" if value is None else f"{value:.2f}"


def message_rows(results):
    for name, figure in ((POLLING, PING_PONG), (OURS, PING_PONG), *((OURS, stream) for stream in STREAMS)):
        ours, ucx = results.of("messages", name, figure), results.of("messages", UCX, figure)
        peer_name, peer = results.best_peer(figure)
        to_ucx, to_peer = factor(ours, ucx), factor(ours, peer)
        most = 1.15 if figure == PING_PONG else 1 / 0.95
        yield [title(figure) + (", `--wait poll`" if name == POLLING else ""), spread(ours), spread(ucx) if ucx else "–",
               ratio(to_ucx), f"{peer_name}: {spread(peer)}" if peer else "–", ratio(to_peer),
               "≤ 1.15 × UCX, ≤ peer" if figure == PING_PONG else "≥ 0.95 × UCX, ≥ peer",
               met(to_ucx and to_ucx <= most, to_peer and to_peer <= 1)]


def late_rows(results):
    bare = [results.bare(way, 1000) for way in ("poll", "epoll")]
    ours = [results.of("late", f"Meantime `{mode}`", ("round trip", ("bytes", 8))) for mode in ("poll", "event")]
    added = [sleeps.median - polls.median for polls, sleeps in (bare, ours)]
    cpu = [results.bare("epoll", 1000, "waiting CPU"),
           results.of("late", "Meantime `event`", ("waiting CPU", ("bytes", 8)))]
    goals = ("", met(added[1] <= 1.3 * added[0], cpu[1].median <= 0.03))
    names = ("bare TCP, `epoll_wait`", "Meantime, `event`")
    for name, (polls, sleeps), more, share, goal in zip(names, (bare, ours), added, cpu, goals):
        yield [name, spread(polls), spread(sleeps), f"{number(more)} µs", ratio(more / added[0]),
               f"{share.median:.3f} ({share.low:.3f}–{share.high:.3f})", goal]


def barrier_text(results):
    few, many = (results.of("barriers", name, ("barrier",)) for name in ("4 process ranks", "64 thread ranks"))
    return (f"Over four nodes: of a process rank each {spread(few)}, of 16 thread ranks each {spread(many)}, "
            f"{many.median / few.median:.2f} times as long; goal ≤ 2: {met(many.median <= 2 * few.median)}.")


def overlap_rows(results, names):
    for name in names:
        alone = [results.of("overlap", name, (what, ("bytes", 1 << 20))) for what in ("T_comp", "T_comm", "T_full")]
        ratio_ = alone[2].median / max(alone[0].median, alone[1].median)
        yield [name, *map(spread, alone), f"{ratio_:.2f}", met(ratio_ <= 1.05)]


def memory_text(results):
    figure = ("memory by connection", ("connections", 32))
    ours, ucx = results.of("memory", "Meantime", figure), results.of("memory", "UCX alone", figure)
    text = f"A rank that is connected to 32 others keeps {number(ours.median)} KiB for each of them"
    if ucx is None:
        return f"{text} (UCX alone: not measured); goal ≤ 64 KiB beyond UCX's own."
    beyond = ours.median - ucx.median
    return (f"{text}, UCX alone {number(ucx.median)} KiB: {beyond:.1f} KiB beyond it; goal ≤ 64 KiB: {met(beyond <= 64)}.")


def said_of_rounds(rounds):
    of_all = {key: [value for one in rounds for value in one[key]] for key in ("loads", "words")}
    sums = {key: sum(one[key] for one in rounds) for key in ("seconds", "waited", "repeated", "disturbed")}
    loads, words = of_all["loads"], of_all["words"]
    text = (f"{len(rounds)} rounds in turns, {(sums['seconds'] - sums['waited']) / 60:.1f} minutes, and {sums['waited'] / 60:.0f} for a "
            f"quiet machine. Others used {middle(loads):.2f} CPUs meanwhile ({min(loads):.2f}–{max(loads):.2f} during a run). ")
    if words:
        text += f"A word takes {min(words):.2f} µs through memory from one CPU to the other"
        text += f", and now and then {max(words):.2f}, as the hypervisor places them. " if max(words) > quiet.FURTHER * min(words) else ". "
    return text + (f"{sums['repeated']} runs were repeated because others used 0.3 CPUs or more, or the CPUs were further apart; of "
                   f"{len(loads)} that count, {sums['disturbed']} were disturbed so.")


def table(heads, lines):
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for line in lines:
        yield "| " + " | ".join(line) + " |"


def text(kept):
    results = Results(kept)
    names = list(kept["started"]["messages"])
    lines = [
        "# Messages between nodes",
        "",
        "<!-- written by bench/network/measure --document; from here -->",
        "",
        "Two ranks whose nodes are played on one machine (`MEANTIME_TEST_NODES=2`), over TCP on the loopback, beside Open MPI, "
        "MPICH, UCX alone and bare sockets that do the same.",
        "",
        f"`{kept['command']}`, {kept['date']}, commit {kept['commit']}, {kept['machine']}: {said_of_rounds(kept['rounds'])}",
        "",
        "Medians of the rounds' medians (smallest–largest). A ratio is a factor of time: below 1, Meantime is faster. A stream is "
        "windows of 64 messages (16 of 1 MiB, 4 of 16 MiB), each answered; `tag_bw` has no answers, and the better of its default "
        "and the same window counts.",
        "",
        *table(("", "Meantime", "ucx_perftest", "ratio", "best peer", "ratio", "goal", "met"), message_rows(results)),
        "",
        f"Two processes that poll bare sockets have 8 B there in {number(results.bare('poll', 0).median / 2)} µs (`limits-tcp`).",
        "",
        "## All of them",
        "",
        "With the median of the rounds' p99, and the worst of all; of a rate, by window.",
        "",
        *table(("", *(title(figure) for figure in (PING_PONG, *STREAMS))),
               [[name, *(with_tail(results.of("messages", name, figure)) for figure in (PING_PONG, *STREAMS))] for name in names]),
        "",
        "## A rank that sleeps",
        "",
        "8 bytes are a millisecond late, and answered. The sender polls, the receiver polls or sleeps, each bound to a CPU "
        "(`meantime-libra`, `limits-tcp`). Goal: sleeping adds ≤ 1.3 × what it adds to the bare round trip, and takes ≤ 0.03 of "
        "a core.",
        "",
        *table(("", "round trip, polling", "asleep", "added", "ratio", "receiver's CPU, asleep", "met"), late_rows(results)),
        "",
        "## What the network costs a neighbour",
        "",
        "Ping-pong of the two ranks of a node: alone, and where a second node has two more, which wait in a barrier. Then the pair "
        "looks at the network, too.",
        "",
        *table(("", "8 B, half round trip"),
               [[name, with_tail(results.of("local", name, PING_PONG))] for name in kept["started"]["local"]]),
        "",
        "## Barriers",
        "",
        barrier_text(results),
        "",
        "## Computing meanwhile",
        "",
        "`meantime-overlap`, 1 MiB to each of four neighbours, thread ranks of two nodes that share the two CPUs with the kernel's "
        "part of TCP: what a message costs over the loopback is nearly all copying by these CPUs, so little of it can be hidden "
        "behind computation here; [where the network takes its time by itself](cluster.md). Goal: T_full ≤ 1.05 × the longer of the other two.",
        "",
        *table(("ranks of a node", "T_comp", "T_comm", "T_full", "ratio", "met"), overlap_rows(results, kept["started"]["overlap"])),
        "",
        "## Memory",
        "",
        memory_text(results) + " (Growth of its resident memory, 8 bytes to and from each; what the kernel keeps for sockets is not "
        "in it.)",
        "",
        "## How each is started",
        "",
    ]
    for part, of in kept["started"].items():
        lines += [f"- {part}"] + [f"    - {name}: `{command}`" for name, command in of.items()]
    return "\n".join(lines) + "\n"


def with_tail(summary):
    if summary is None:
        return "–"
    tail = "" if summary.p99 is None else f"; {number(summary.p99)}; {number(summary.worst)}"
    return spread(summary) + tail
