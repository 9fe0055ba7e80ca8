"""The tables of LIBRA: round trips and the measured side's processor time, by delay and by who waits how."""
from __future__ import annotations

import statistics

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
    text = [f"Energy: {'; '.join(said)}." for said in [found.kinds("energy")] if said]
    if machine := found.kinds("machine_energy"):
        read = any("machine_joules" in row for row in found.rows(part="grid"))
        text.append(f"Energy of the whole machine: {'; '.join(machine)}."
                    + ("" if read else " So there is no Figure 8b, which shows it."))
    return " ".join(text)


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
    lines = [[f"{way}, {'two CPUs' if place == 'two' else 'one CPU'}, {late:g} µs late",
              spread(found.values("round_trip", part="bare", way=way, place=place, late_us=late)),
              spread(found.values("waiting_cpu_share", part="bare", way=way, place=place, late_us=late), 100)]
             for place in found.kinds("place", part="bare") for way in found.kinds("way", part="bare", place=place)
             for late in found.kinds("late_us", part="bare", place=place, way=way)]
    return ["## Without an MPI: median round trip in µs, and processor time of who waits, % of the run", "",
            table(["", "round trip", "processor time"], lines)]


class Medians:
    """What the goals are judged by. `best`: of the runs' medians the smallest instead of the middle."""

    def __init__(self, found, best=False):
        self.found, self.size = found, small_size(found)
        self.of = min if best else statistics.median

    def value(self, column, **keys):
        values = self.found.values(column, **keys)
        return self.of(values) if values else None

    def get(self, column, mode, late, part="grid", **keys):
        if part == "grid":
            keys["bytes"] = self.size
        return self.value(column, part=part, who=f"Meantime {mode}", delay_us=late, **keys)

    def against_poll(self, column, mode, late, **keys):
        above, below = self.get(column, mode, late, **keys), self.get(column, "poll", late, **keys)
        return above / below if above is not None and below else None

    def added(self, mode, late):
        """By the mode over polling, to the round trip."""
        values = self.get("median", mode, late), self.get("median", "poll", late)
        return None if None in values else values[0] - values[1]

    def bare(self, column, way, late):
        return self.value(column, part="bare", place="two", way=way, late_us=late)

    def bare_added(self, way, late):
        values = self.bare("round_trip", way, late), self.bare("round_trip", "poll", late)
        return None if None in values else values[0] - values[1]

    def bare_share(self, way, late):
        values = self.bare("waiting_cpu_share", way, late), self.bare("waiting_cpu_share", "poll", late)
        return None if None in values else values[0] / values[1]


def goals(found):
    """The project's goals for waiting, as far as what was measured tells: [what, goal, measured, the bare prototype]."""
    middle, best = Medians(found), Medians(found, best=True)
    for mode, goal in (("adaptive", "≤ 1.02 ×"), ("event", "≤ 1.05 ×")):
        ratio = [number(one.against_poll("median", mode, 0)) for one in (middle, best)]
        yield f"no delay: {mode} against poll", goal, f"{ratio[0]} × (the best runs: {ratio[1]} ×)", ""
    for name, column in (("p99.9", "p999"), ("maximum", "max")):
        ratio = [number(one.against_poll(column, "adaptive", 0)) for one in (middle, best)]
        yield (f"no delay: {name} of adaptive against poll", "≤ 1 ×", f"{ratio[0]} × (the best runs: {ratio[1]} ×)", "")
    for late in (200, 1000):
        yield (f"{late} µs: round trip added by event over poll", "≤ 1.3 × the bare one's",
               f"{number(middle.added('event', late))} µs", f"{number(middle.bare_added('futex', late))} µs")
    for late in (200, 1000):
        yield (f"{late} µs: round trip added by predicted over poll", "≤ 0.5 µs",
               f"{number(middle.added('predicted', late))} µs", f"{number(middle.bare_added('deadline', late))} µs")
    for mode, way, late, goal in (("event", "futex", 200, 0.06), ("event", "futex", 1000, 0.02),
                                  ("predicted", "deadline", 200, 0.32), ("predicted", "deadline", 1000, 0.07)):
        yield (f"{late} µs: processor time of {mode} against poll", f"≤ {goal} ×",
               f"{number(middle.against_poll('waiting_cpu_us', mode, late))} ×", f"{number(middle.bare_share(way, late))} ×")
    for kind in found.kinds("delay", part="late"):
        for late in (200, 1000):
            keys = {"part": "late", "delay": kind}
            p99 = [number(middle.get("p99", mode, late, **keys)) for mode in ("predicted", "event")]
            yield f"{late} µs, {kind}: p99 of predicted", "≤ event's + its poll", f"{p99[0]} µs; event: {p99[1]} µs", ""
            yield (f"{late} µs, {kind}: processor time of predicted against poll", "≤ 0.5 ×",
                   f"{number(middle.against_poll('waiting_cpu_us', 'predicted', late, **keys))} ×", "")
    for mode in ("event", "adaptive"):
        yield (f"one CPU, {mode}: round trip beyond the 50 µs", "≤ 3 µs",
               f"{number(middle.value('median', part='one', who=f'Meantime {mode}'))} µs",
               f"{number(middle.value('round_trip', part='bare', place='same', way='futex'))} µs")


def tables(found):
    text = []
    for part, of in (("grid", grid), ("late", late), ("bare", bare), ("one", one)):
        if found.rows(part=part):
            text += [*of(found), ""]
    lines = [line for line in goals(found) if not line[2].startswith("–")]
    return "\n".join([*text, "## Goals", "", table(["8 B", "goal", "measured", "bare prototype"], lines)])
