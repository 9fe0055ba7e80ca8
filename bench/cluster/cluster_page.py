"""The page that says what is seen in a cluster with a delay, from the results of one measurement."""
from __future__ import annotations

import datetime
import shlex
import statistics
from pathlib import Path

import started  # noqa: F401  (finds the folders of the next ones)
from comparison import machine, store
from comparison.document import number, spread
from comparison.rows import Sample, Summary

ROOT = started.HERE.parent.parent
PATH = ROOT / "docs/measurements/cluster.md"
PARTS = ("relay", "messages", "posted first", "overlap")
LINKS = {"a bridge": (), "a relay, 1 µs": ("--delay", "1us"), "a relay, 1 ms": ("--delay", "1ms"),
         "a bridge, 1 Gbit/s": ("--bandwidth", "1gbit"), "a relay, 1 ms, 1 Gbit/s": ("--delay", "1ms", "--bandwidth", "1gbit")}
MESSAGES = ("--delay", "1ms", "--bandwidth", "1gbit")
# So little that what the CPUs have to do for it weighs little beside the computation, which takes as long.
OVERLAP = ("--delay", "1ms", "--bandwidth", "100mbit")
COMPUTE_US = "370000"
MOST = 1.05
middle = statistics.median


def conditions(command):
    return {"date": datetime.date.today().isoformat(), "machine": machine.describe(), "commit": store.commit(),
            "command": shlex.join([str(Path(command[0]).resolve().relative_to(ROOT)), *command[1:]])}


def summaries(kept, part):
    """{name: {figure: Summary}}, in the order in which they ran."""
    samples = {}
    for one in kept[part]["rounds"]:
        for name, figures in one["found"]:
            for (what, *keys), sample in figures:
                figure = (what, *map(tuple, keys))
                samples.setdefault(name, {}).setdefault(figure, []).append(Sample(**sample))
    return {name: {figure: Summary.of(each) for figure, each in of.items()} for name, of in samples.items()}


def said(kept, part):
    one = kept[part]
    loads = [load for each in one["rounds"] for load in each["loads"]]
    disturbed = sum(each["disturbed"] for each in one["rounds"])
    return (f"`{one['command']}`, {one['date']}, commit {one['commit']}, {one['machine']}: {len(one['rounds'])} rounds in turns; others "
            f"used {middle(loads):.2f} CPUs meanwhile ({min(loads):.2f}–{max(loads):.2f}); of {len(loads)} runs that count, {disturbed} "
            "were disturbed, by others or by the hypervisor, which moves the CPUs apart now and then."
            + (" So this is a look: ratios to those that poll say more of the machine than of them." if 2 * disturbed > len(loads) else ""))


def with_bytes(what, size):
    return (what, ("bytes", size))


def cell(of, figure):
    return spread(of[figure]) if figure in of else "–"


def table(heads, lines):
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for line in lines:
        yield "| " + " | ".join(line) + " |"


def relay_lines(kept):
    figures = (with_bytes("ping-pong", 8), with_bytes("stream", 1 << 20), ("CPU",))
    for name, of in summaries(kept, "relay").items():
        yield [name, *(cell(of, figure) for figure in figures)]


def message_lines(kept, figures):
    for name, of in summaries(kept, "messages").items():
        yield [name, *(cell(of, figure) for figure in figures)]


def overlap_lines(kept, part):
    for name, of in summaries(kept, part).items():
        times = [of[with_bytes(what, 1 << 20)] for what in ("T_comp", "T_comm", "T_full")]
        ratio = times[2].median / max(times[0].median, times[1].median)
        yield [name, *(f"{number(each.median / 1e3)} ({number(each.low / 1e3)}–{number(each.high / 1e3)})" for each in times),
               f"{ratio:.2f}", "yes" if ratio <= MOST else "**no**"]


def relay_section(kept):
    yield ("With `--delay` a thread passes packets on instead of a bridge. A message of 8 B then takes longer than the delay by what it "
           "takes to wake that thread, and what is carried takes CPU for two copies more: *CPU* is what plain sockets take for a GB, of "
           "sender, receiver and relay together.")
    yield ""
    yield from table(("nodes joined by", "8 B, half round trip", "stream of 1 MiB", "CPU for a GB"), relay_lines(kept))


def messages_section(kept):
    figures = [with_bytes(what, size) for what, size in (("ping-pong", 8), ("ping-pong", 1 << 16), ("ping-pong", 1 << 20),
                                                         ("stream", 1 << 16), ("stream", 1 << 20))]
    yield f"`{shlex.join(MESSAGES)}`, two ranks. Half round trips, and streams in windows of 64 and 16 messages, each answered."
    yield ""
    yield from table(("", "8 B", "64 KiB", "1 MiB", "stream of 64 KiB", "of 1 MiB"), message_lines(kept, figures))


def overlap_table(kept, part):
    yield from table(("", "T_comp", "T_comm", "T_full", "ratio", "met"), overlap_lines(kept, part))


def posted_first_section(kept):
    yield (f"`{shlex.join(OVERLAP)}`, `meantime-overlap --post-first`: a rank a node begins to send 1 MiB to each of four neighbours, and "
           "to receive as much, computes, then waits. The network carries a turn's bytes in 0.34 s, and for a few per cent of that it "
           "needs a CPU, so what is seen is who sends and answers while ranks compute, and not who copies. Goal: "
           f"T_full ≤ {MOST} × the longer of the other two. ms.")
    yield ""
    yield from overlap_table(kept, "posted first")


def overlap_section(kept):
    yield ("The same, but by a program that computes, and only then begins to communicate and waits: overlap comes from V ranks of a "
           "node that take turns on its core, each with 1/V of the bytes and the computation. Same goal. ms.")
    yield ""
    yield from overlap_table(kept, "overlap")


SECTIONS = {"relay": ("What the relay costs", relay_section), "messages": ("Messages", messages_section),
            "posted first": ("Computing meanwhile", posted_first_section),
            "overlap": ("Computing meanwhile, by other ranks of the core", overlap_section)}


def text(kept):
    lines = [
        "# A cluster with a delay",
        "",
        "<!-- written by bench/cluster/measure --document; from here -->",
        "",
        "Two nodes that [`meantime cluster`](../reference/meantime.md#cluster) plays on this machine, each a network namespace; Open "
        "MPI's and MPICH's ranks are in the same two, by a remote shell that enters them (`bench/cluster/node-shell`). Medians of the "
        "rounds' medians (smallest–largest).",
    ]
    measured = [part for part in PARTS if part in kept]
    for part in measured:
        title, section = SECTIONS[part]
        lines += ["", f"## {title}", "", said(kept, part), "", *section(kept)]
    lines += ["", "## How each is started", ""]
    for part in measured:
        lines += [f"- {part}"] + [f"    - `{command}`" for command in kept[part]["started"]]
    return "\n".join(lines) + "\n"
