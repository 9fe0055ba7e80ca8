"""The figures of LIBRA, like the paper's: 2 (one CPU), 7 (latency), 8a (energy of the
measured side, or processor time instead), 8b (energy of the machine)."""
from __future__ import annotations

import dataclasses

from . import drawing
from .libra_tables import size_text

MODES = ("adaptive", "event", "predicted", "yield", "as installed", "poll")  # each a colour and a marker …
PEERS = {"openmpi": "--", "mpich": ":"}  # … and each MPI a kind of line


def number_of(mode):
    return MODES.index(mode) if mode in MODES else len(MODES)


def style(found, who):
    row = found.rows(who=who)[0]
    look = drawing.line(number_of(row["mode"]))
    peer = row["implementation"] in PEERS
    return {**look, "linestyle": PEERS.get(row["implementation"], "-"), "linewidth": 1 if peer else 1.6, "markersize": 4,
            "markerfacecolor": "white" if peer else look["color"]}


def tick(found, who):
    """Its name in three lines: MPI, version, mode."""
    mode = found.rows(who=who)[0]["mode"]
    return who.removesuffix(mode).strip().replace(" 4", "\n4").replace(" 5", "\n5") + "\n" + mode


def one_cpu(found, pyplot):
    """Figure 2: bars are averages with their standard deviation, as there; points are medians."""
    figure, axes = pyplot.subplots(figsize=(7, 3.4))
    everybody = found.kinds("who", part="one")
    for place, who in enumerate(everybody):
        of = lambda name: found.median(name, part="one", who=who)  # noqa: B023, E731
        deviation = min(of("deviation"), of("mean") * 0.999)  # an axis of logarithms has no zero
        peer = found.rows(who=who)[0]["implementation"] in PEERS
        axes.bar(place, of("mean"), yerr=[[deviation], [of("deviation")]], color=style(found, who)["color"], alpha=0.6,
                 capsize=3, hatch="////" if peer else "", edgecolor="white")
        axes.plot(place, of("median"), "kD", markersize=4)
    axes.set_xticks(range(len(everybody)), [tick(found, who) for who in everybody], fontsize=6.5)
    axes.set_ylim(bottom=min(found.values("min", part="one")) / 2)
    axes.set(yscale="log", ylabel="round trip, µs", title="both ranks on one CPU, 50 µs late (◆ median)")
    axes.grid(True, axis="y", alpha=0.3)
    return figure


def panels(pyplot, count, **options):
    columns = min(3, count)
    rows = -(-count // columns)
    figure, grid = pyplot.subplots(rows, columns, figsize=(3.7 * columns, 2.8 * rows), squeeze=False, **options)
    axes = [one for row in grid for one in row]
    for unused in axes[count:]:
        unused.set_visible(False)
    return figure, axes[:count]


def latency(found, pyplot, averages):
    """Figure 7: round trips by delay, one panel a size."""
    sizes = sorted(found.kinds("bytes", part="grid"))
    figure, all_axes = panels(pyplot, len(sizes), sharex=True)
    for axes, size in zip(all_axes, sizes):
        delays = sorted(found.kinds("delay_us", part="grid", bytes=size))
        for who in found.kinds("who", part="grid"):
            keys = [{"part": "grid", "who": who, "bytes": size, "delay_us": delay} for delay in delays]
            if averages:
                middle = [found.median("mean", **key) for key in keys]
                above = [found.median("deviation", **key) for key in keys]
                below = [min(one, value * 0.999) for one, value in zip(above, middle)]
            else:
                middle = [found.median("median", **key) for key in keys]
                below = [value - min(found.values("median", **key)) for value, key in zip(middle, keys)]
                above = [max(found.values("median", **key)) - value for value, key in zip(middle, keys)]
            axes.errorbar(range(len(delays)), middle, yerr=[below, above], capsize=2, elinewidth=0.6, label=who,
                          **style(found, who))
        axes.set(yscale="log", title=size_text(size))
        if averages:  # a deviation as large as its average would take the axis decades below all that was measured
            axes.set_ylim(bottom=min(found.values("min", part="grid", bytes=size)) / 2)
        axes.set_xticks(range(len(delays)), [f"{delay:g}" for delay in delays])
        axes.grid(True, alpha=0.3)
        axes.set_xlabel("µs late")
    all_axes[0].set_ylabel("round trip, µs")
    drawing.legend_beside(figure, all_axes)
    return figure


@dataclasses.dataclass(frozen=True)
class Cost:
    column: str
    unit: str
    factor: float
    whose: str  # for the heading


WAITING_ENERGY = Cost("waiting_joules", "mJ", 1e3, "The measured side: energy of its package")
WAITING_TIME = Cost("waiting_cpu_us", "µs", 1, "The measured side: its processor time")
MACHINE_ENERGY = Cost("machine_joules", "mJ", 1e3, "The whole machine: energy")


def cost(found, pyplot, of):
    """Figure 8: in proportion to polling; in the bars what one round trip took."""
    sizes = sorted(found.kinds("bytes", part="grid"))
    delays = [delay for delay in sorted(found.kinds("delay_us", part="grid")) if delay > 0]
    modes = [mode for mode in found.kinds("mode", part="grid", implementation="meantime") if mode not in ("poll", "yield")]
    if not (sizes and delays and modes and found.rows(part="grid", who="Meantime poll")):
        return None
    figure, all_axes = panels(pyplot, len(delays), sharey=True)
    width = 0.8 / len(modes)
    for axes, delay in zip(all_axes, delays):
        for number, mode in enumerate(modes):
            for place, size in enumerate(sizes):
                key = {"part": "grid", "bytes": size, "delay_us": delay}
                used = found.median(of.column, who=f"Meantime {mode}", **key)
                polling = found.median(of.column, who="Meantime poll", **key)
                if used is None or not polling:
                    continue
                x = place + (number - (len(modes) - 1) / 2) * width
                axes.bar(x, used / polling, width, alpha=0.7, label=mode if place == 0 else None,
                         **drawing.bar(number_of(mode)))
                axes.text(x, 0.02, f"{used * of.factor:.3g}", rotation=90, fontsize=5, ha="center", va="bottom")
        axes.axhline(1, color="0.35", linewidth=0.8, label="poll")
        axes.set_xticks(range(len(sizes)), [size_text(size) for size in sizes], rotation=45, fontsize=6)
        axes.set_title(f"{delay:g} µs late", fontsize=9)
    all_axes[0].set_ylabel("in proportion to poll", fontsize=8)
    drawing.legend_beside(figure, all_axes)
    figure.suptitle(f"{of.whose}; in the bars {of.unit} a round trip", fontsize=9)
    return figure


def figures(found, pyplot):
    if found.rows(part="one"):
        yield "libra-one-cpu.svg", one_cpu(found, pyplot)
    if found.rows(part="grid"):
        yield "libra-latency.svg", latency(found, pyplot, averages=False)
        yield "libra-latency-averages.svg", latency(found, pyplot, averages=True)
        has_energy = any("waiting_joules" in row for row in found.rows(part="grid"))
        costs = [("libra-cost.svg", WAITING_ENERGY if has_energy else WAITING_TIME)]
        if any("machine_joules" in row for row in found.rows(part="grid")):
            costs.append(("libra-cost-machine.svg", MACHINE_ENERGY))
        for name, of in costs:
            if figure := cost(found, pyplot, of):
                yield name, figure
