"""The page that says who moves messages while ranks compute, from the results of one measurement."""
from __future__ import annotations

import math
import re
import shlex
import statistics

import cases
from comparison.document import number
from comparison.rows import Sample
from cluster_page import ROOT, conditions, said, table

PATH = ROOT / "docs/measurements/collaborative.md"
HEAD = """# Messages that arrive while a rank computes

<!-- written by bench/collaborative/measure --document; from here -->

Programs whose ranks compute for unequally long, on two nodes of a [cluster with a delay](cluster.md), so that a
message takes its time without taking a CPU: without helpers, with one for what needs an answer (`auto`, as it is by default) or
for all (`on`), and by Open MPI and MPICH, which poll. Each node has one of the machine's two CPUs' worth of ranks times V.
[How](../internals/net.md#while-a-rank-computes) it works. Thread ranks of a node poll for each other with the helper off,
too: that is the paper's collaborative polling (P1), and there is no way to leave it out.

Times by call are those of the mean rank, as `mpiexec --report` has them, in seconds of a whole run, start and end included.
*Messages* are those that were taken in for a rank that computed, in the whole run (for thread ranks also those that their host's
listening thread takes in while they sleep, whatever the helper). Medians of rounds (smallest–largest). *To off* is the mean
of the rounds' ratios to the helper off, of the same round, with its 95 % interval: below 1 a helper saves time.
"""
ABOUT = {
    "pattern": "The paper's Figure 2: each of two ranks asks for messages of 1, 32, 256 and 1024 KiB and sends such, computes, one of "
               "them 30 ms and the other 5 ms, in turns, then waits for all and joins a small reduction.",
    "pattern-balanced": "Both compute 17.5 ms, so nobody waits in MPI while the messages come.",
    "mhd": "`bench/collaborative/mhd.cpp`, which stands for the paper's EulerMHD: halo exchange with Irecv, Isend and Waitall while "
           "the inner cells are computed, a small Allreduce each step. One quarter of the cells takes a hundred rounds of an "
           "equation of state.",
    "mhd-balanced": "The same with as much in all cells.",
    "particles": "`bench/collaborative/particles.cpp`, which stands for the paper's Gadget-2: clustered particles, whose number in "
                 "each rank differs; an Allgather of how many leave, a Sendrecv with each that has some, an Allreduce.",
    "bt.A": "NPB 3.4, which says itself that its result is right; its own time.",
    "bt.B": "NPB 3.4, which says itself that its result is right; its own time.",
}
# Two-sided, 95 %, by degrees of freedom.
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09)


def values(kept, case):
    """{name: {figure: [of each round]}}"""
    found = {}
    for one in kept[case]["rounds"]:
        for name, figures in one["found"]:
            for figure, sample in figures:
                found.setdefault(name, {}).setdefault(tuple(figure), []).append(Sample(**sample).median)
    return found


def of_rounds(each, scale=1.0):
    scaled = [value * scale for value in each]
    middle = number(statistics.median(scaled))
    return middle if len(scaled) < 2 else f"{middle} ({number(min(scaled))}–{number(max(scaled))})"


def to_off(each, off):
    ratios = [one / other for one, other in zip(each, off)]
    if len(ratios) < 2:
        return f"{ratios[0]:.3f}"
    student = STUDENT[min(len(ratios) - 2, len(STUDENT) - 1)]
    half = student * statistics.stdev(ratios) / math.sqrt(len(ratios))
    return f"{statistics.mean(ratios):.3f} ± {half:.3f}"


def time_lines(found, time):
    for name, of in found.items():
        if (time,) not in of:
            continue
        off = found.get(re.sub(r"helper \w+$", "helper off", name), {})
        ratio = to_off(of[time,], off[time,]) if "helper" in name and not name.endswith("off") else ""
        yield [name, of_rounds(of[time,], 1e-3), ratio]


def call_lines(found, way):
    """As the paper's tables: a line for each call that took a hundredth of the waiting, the longest first."""
    three = [found[f"{way}, helper {helper}"] for helper in cases.HELPERS]
    seconds = [{figure[1]: statistics.median(each) for figure, each in of.items() if figure[0] == "in"} for of in three]
    sums = [sum(each.values()) for each in seconds]

    def line(title, each):
        return [title, *map(number, each), f"{each[0] / each[2]:.2f}" if each[2] else "–"]

    yield line("waiting in MPI", sums)
    for call in sorted(seconds[0], key=lambda call: -seconds[0][call]):
        each = [of.get(call, 0.0) for of in seconds]
        if max(each) >= 0.01 * max(sums):
            yield line(f"`{call}`", each)
    for title, what in (("messages, by helpers", "helped"), ("messages, by other ranks", "carried")):
        yield [title, *(number(statistics.median(of[what,])) for of in three), ""]


def section(kept, name):
    case, found = cases.CASES[name], values(kept, name)
    ways = sorted({way.rpartition(",")[0] for way in found if "helper" in way}, key=lambda way: (way[0], way))
    yield from ("", f"## {case.title}", "", ABOUT[name], "", f"`{shlex.join(case.link)}`. {said(kept, name)}", "")
    yield from table(("", f"{case.time}, ms", "to off"), time_lines(found, case.time))
    failed = kept[name].get("failed", [])
    for one in dict.fromkeys(failed):
        yield from ("", f"{one}: {failed.count(one)} of {len(kept[name]['rounds'])} runs failed, or did not end, and are left out.")
    for way in ways:
        yield ""
        yield from table((f"{way}: s", "off", "auto", "on", "off / on"), call_lines(found, way))


def text(kept):
    lines = [HEAD.rstrip("\n")]
    measured = [name for name in cases.CASES if name in kept and kept[name]["rounds"]]
    for name in measured:
        lines += section(kept, name)
    lines += ["", "## How each is started", ""]
    for name in measured:
        lines += [f"- {name}"] + [f"    - `{command}`" for command in kept[name]["started"]]
    return "\n".join(lines) + "\n"
