"""The figures of LIBRA, like the paper's: 2 (one CPU), 7 (latency), 8 (energy, or processor time instead)."""
from __future__ import annotations

from .libra_tables import size_text

COLOURS = {"poll": "0.35", "yield": "C1", "event": "C3", "adaptive": "C0", "predicted": "C2"}
PEERS = {"openmpi": "--", "mpich": ":"}


def style(found, who):
    row = found.rows(who=who)[0]
    return {"color": COLOURS.get(row["mode"], "C5"), "linestyle": PEERS.get(row["implementation"], "-"),
            "linewidth": 1 if row["implementation"] in PEERS else 1.6}


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
        axes.bar(place, of("mean"), yerr=[[deviation], [of("deviation")]], color=style(found, who)["color"], alpha=0.6,
                 capsize=3)
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
            axes.errorbar(range(len(delays)), middle, yerr=[below, above], capsize=2, marker="o", markersize=2.5,
                          elinewidth=0.6, label=who, **style(found, who))
        axes.set(yscale="log", title=size_text(size))
        axes.set_xticks(range(len(delays)), [f"{delay:g}" for delay in delays])
        axes.grid(True, alpha=0.3)
        axes.set_xlabel("µs late")
    all_axes[0].set_ylabel("round trip, µs")
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.5, 0), ncols=4,
                  fontsize=7)
    return figure


def cost(found, pyplot):
    """Figure 8: what the measured side used, in proportion to polling; in the bars what it used in one round trip."""
    joules = any("waiting_joules" in row for row in found.rows(part="grid"))
    column, factor, unit = ("waiting_joules", 1e3, "mJ") if joules else ("waiting_cpu_us", 1, "µs")
    what = "energy of its package" if joules else "its processor time"
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
                used = found.median(column, who=f"Meantime {mode}", **key)
                polling = found.median(column, who="Meantime poll", **key)
                if used is None or not polling:
                    continue
                x = place + (number - (len(modes) - 1) / 2) * width
                axes.bar(x, used / polling, width, color=COLOURS.get(mode, "C5"), alpha=0.7,
                         label=mode if place == 0 else None)
                axes.text(x, 0.02, f"{used * factor:.3g}", rotation=90, fontsize=5, ha="center", va="bottom")
        axes.axhline(1, color="0.35", linewidth=0.8)
        axes.set_xticks(range(len(sizes)), [size_text(size) for size in sizes], rotation=45, fontsize=6)
        axes.set_title(f"{delay:g} µs late", fontsize=9)
    all_axes[0].set_ylabel(f"{what},\nin proportion to poll", fontsize=8)
    all_axes[0].legend(fontsize=6, loc="upper right")
    figure.suptitle(f"The measured side: {what}; in the bars {unit} a round trip", fontsize=9)
    return figure


def figures(found, pyplot):
    if found.rows(part="one"):
        yield "libra-one-cpu.svg", one_cpu(found, pyplot)
    if found.rows(part="grid"):
        yield "libra-latency.svg", latency(found, pyplot, averages=False)
        yield "libra-latency-averages.svg", latency(found, pyplot, averages=True)
        figure = cost(found, pyplot)
        if figure:
            yield "libra-cost.svg", figure
