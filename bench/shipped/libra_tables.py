"""The tables of LIBRA: round trips and the measured side's processor time, by delay and by who waits how."""
from __future__ import annotations

from .results import number, spread, table

SMALL = 8  # bytes; where the paper's overheads are largest


def size_text(size):
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size // factor} {unit}"
    return f"{size} B"


def by_delay(found, part, column, factor=1.0, **keys):
    delays = sorted(found.kinds("delay_us", part=part, **keys))
    lines = [[who, *(spread(found.values(column, part=part, who=who, delay_us=delay, **keys), factor)
                     for delay in delays)] for who in found.kinds("who", part=part)]
    return table(["", *(f"{delay:g} µs late" for delay in delays)], lines)


def energy_line(found):
    said = found.kinds("energy")
    return "Energy: " + "; ".join(said) + "." if said else ""


def small_size(found):
    sizes = found.kinds("bytes", part="grid")
    return SMALL if SMALL in sizes else min(sizes, default=SMALL)


def grid(found):
    size = small_size(found)
    text = [f"## {size_text(size)}, two CPUs: median round trip in µs (smallest–largest of the runs)", "",
            by_delay(found, "grid", "median", bytes=size), "",
            "### The same, 99th percentile", "", by_delay(found, "grid", "p99", bytes=size), "",
            "## Processor time of the measured side, % of the run", "",
            by_delay(found, "grid", "waiting_cpu_share", 100, bytes=size), "", energy_line(found)]
    for larger in sorted(found.kinds("bytes", part="grid")):
        if larger > size:
            text += ["", f"### {size_text(larger)}: median round trip in µs", "",
                     by_delay(found, "grid", "median", bytes=larger)]
    return text


def late(found):
    text = []
    for kind in found.kinds("delay", part="late"):
        text += [f"## 8 B, two CPUs, {kind} delays", "", "Median round trip in µs:", "",
                 by_delay(found, "late", "median", delay=kind), "", "99th percentile:", "",
                 by_delay(found, "late", "p99", delay=kind), "", "Processor time of the measured side, % of the run:",
                 "", by_delay(found, "late", "waiting_cpu_share", 100, delay=kind), ""]
    return text


def one(found):
    lines = [[who, spread(found.values("median", part="one", who=who)),
              spread(found.values("mean", part="one", who=who)), spread(found.values("p99", part="one", who=who)),
              spread(found.values("waiting_cpu_share", part="one", who=who), 100)]
             for who in found.kinds("who", part="one")]
    return ["## Both ranks on one CPU, in the same mode, 50 µs late, 8 B: round trip in µs", "",
            table(["", "median", "average", "99th percentile", "measured side's processor time, %"], lines)]


def bare(found):
    lines = [[way, *(spread(found.values("round_trip", part="bare", way=way, late_us=late)) for late in (200, 1000)),
              *(spread(found.values("waiting_cpu_share", part="bare", way=way, late_us=late), 100)
                for late in (200, 1000))] for way in found.kinds("way", part="bare")]
    return ["## Without an MPI, two CPUs: median round trip in µs, and processor time of who waits, %", "",
            table(["", "200 µs late", "1000 µs late", "%, 200 µs", "%, 1000 µs"], lines)]


def ratio(above, below):
    return above / below if above is not None and below else None


def goals(found):
    """The project's goals for waiting, as far as what was measured tells."""
    size = small_size(found)

    def get(column, mode, late_us, part="grid", **keys):
        return found.median(column, part=part, who=f"Meantime {mode}", delay_us=late_us,
                            **({"bytes": size} if part == "grid" else {}), **keys)

    def against_poll(column, mode, delay):
        return ratio(get(column, mode, delay), get(column, "poll", delay))

    def added(mode, delay):
        values = get("median", mode, delay), get("median", "poll", delay)
        return None if None in values else values[0] - values[1]

    def bare_added(delay):
        values = [found.median("round_trip", part="bare", way=way, late_us=delay) for way in ("futex", "poll")]
        return None if None in values else values[0] - values[1]

    lines = [[f"no delay: {mode} against poll", f"{goal} ×", number(against_poll("median", mode, 0)) + " ×"]
             for mode, goal in (("adaptive", "≤ 1.02"), ("event", "≤ 1.05"))]
    lines += [[f"{delay} µs: processor time of {mode} against poll", f"≤ {goal} ×",
               number(against_poll("waiting_cpu_us", mode, delay)) + " ×"]
              for mode, delay, goal in (("event", 200, 0.06), ("event", 1000, 0.02), ("predicted", 200, 0.32),
                                        ("predicted", 1000, 0.07))]
    lines += [[f"{delay} µs: round trip added by event, against what a bare futex adds", "≤ 1.3 ×",
               f"{number(ratio(added('event', delay), bare_added(delay)))} × ({number(added('event', delay))} against "
               f"{number(bare_added(delay))} µs)"] for delay in (200, 1000)]
    lines += [[f"{delay} µs: round trip added by predicted over poll", "≤ 0.5 µs",
               number(added("predicted", delay)) + " µs"] for delay in (200, 1000)]
    for kind in found.kinds("delay", part="late"):
        for delay in (200, 1000):
            p99 = [get("p99", mode, delay, part="late", delay=kind) for mode in ("predicted", "event")]
            used = [get("waiting_cpu_us", mode, delay, part="late", delay=kind) for mode in ("predicted", "poll")]
            lines.append([f"{delay} µs, {kind}: p99 of predicted, against event's", "≤ event's + its poll",
                          f"{number(p99[0])} against {number(p99[1])} µs"])
            lines.append([f"{delay} µs, {kind}: processor time of predicted against poll", "≤ 0.5 ×",
                          number(ratio(*used)) + " ×"])
    best = [found.median("median", part="one", who=f"Meantime {mode}") for mode in ("event", "adaptive")]
    lines += [[f"one CPU, {mode}: round trip beyond the delay", "≤ 3 µs", number(value) + " µs"]
              for mode, value in zip(("event", "adaptive"), best)]
    return ["## Goals", "", table(["8 B", "goal", "measured"], [line for line in lines if "–" not in line[2]])]


def tables(found):
    text = []
    for part, of in (("grid", grid), ("late", late), ("bare", bare), ("one", one)):
        if found.rows(part=part):
            text += [*of(found), ""]
    return "\n".join([*text, *goals(found)])
