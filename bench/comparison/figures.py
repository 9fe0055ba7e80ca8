"""Two plots of the results: waiting together by number of ranks, and ping-pong by size."""
from __future__ import annotations

from . import goals
from .measure import BARE, UCX, Who
from .peers import AS_INSTALLED
from .rows import Point


def colour(key):
    return {"meantime": "C3", "openmpi": "C0", "mpich": "C2", BARE: "0.4", UCX: "C1", "ampi": "C4"}.get(key, "C5")


def series(store, chosen, x_of):
    """{Who: [(x, Summary)]}"""
    result = {}
    for (point, who), (summary, _, _) in store.results.items():
        if summary and chosen(point):
            result.setdefault(who, []).append((x_of(point), summary))
    return {who: sorted(values, key=lambda pair: pair[0]) for who, values in result.items()}


def draw(axes, store, lines, label_suffix=""):
    for who, values in sorted(lines.items(), key=lambda item: (item[0].key != goals.OURS.key, str(item[0]))):
        setting = "" if who.setting == AS_INSTALLED else f", {who.setting}"
        xs = [x for x, _ in values]
        axes.plot(xs, [one.median for _, one in values], marker="o", markersize=3, color=colour(who.key),
                  linewidth=2.2 if who == goals.OURS else 1.1, linestyle="--" if setting else "-",
                  label=f"{store.name_of(who.key)}{setting}{label_suffix}")
        axes.fill_between(xs, [one.low for _, one in values], [one.high for _, one in values],
                          color=colour(who.key), alpha=0.15, linewidth=0)


def waiting(store, pyplot):
    figure, all_axes = pyplot.subplots(1, 3, figsize=(11, 3.8), sharey=True)
    for axes, (name, size, title) in zip(all_axes, (("barrier", 0, "barrier"), ("allreduce", 8, "allreduce, 8 bytes"),
                                                    ("halo", 1024, "ring halo, 1 KiB both ways"))):
        wanted = {"bytes": size, "communicator": "world"}
        draw(axes, store, series(store, lambda p: p.program == "oversubscription" and p.name == name  # noqa: B023
                                 and dict(p.keys) == wanted, lambda p: p.ranks))  # noqa: B023
        if name != "halo":
            bare = {Who(BARE, f"{way}"): values for way in ("tree", "poll") for values in series(
                store, lambda p: p.program == "barrier" and p.key("way") == way,  # noqa: B023
                lambda p: p.ranks).values()}
            bare |= {Who(BARE, "fibers"): values for values in series(
                store, lambda p: p.program == "fibers" and p.key("way") == "loop", lambda p: p.ranks).values()}
            draw(axes, store, bare)
        axes.set(xscale="log", yscale="log", xlabel="ranks", title=title)
        ticks = sorted({point.ranks for point, _ in store.results if point.program == "oversubscription"})
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.grid(True, alpha=0.3)
    all_axes[0].set_ylabel("µs per operation")
    all_axes[1].legend(fontsize=7)
    figure.tight_layout()
    return figure


def messages(store, pyplot):
    figure, all_axes = pyplot.subplots(1, 2, figsize=(10, 3.8), sharey=True)
    for axes, buffers in zip(all_axes, (1, 64)):
        draw(axes, store, series(store, lambda p: p.program == "latency" and p.key("buffers") == buffers  # noqa: B023
                                 and not goals.on_one_cpu(p) and p.key("bytes") > 0, lambda p: p.key("bytes")))
        if buffers == 1:
            bare = series(store, lambda p: p == Point.of("mailbox", 2, "ping-pong", bytes=8), lambda p: 8)
            draw(axes, store, bare)
        axes.set(xscale="log", yscale="log", xlabel="bytes",
                 title="one buffer" if buffers == 1 else f"{buffers} rotating buffers")
        axes.grid(True, alpha=0.3)
    all_axes[0].set_ylabel("half round trip, µs")
    all_axes[0].legend(fontsize=7)
    figure.tight_layout()
    return figure


def write(store, directory):
    """Writes the plots that there are figures for: [(file name, what it shows)]."""
    import matplotlib  # noqa: PLC0415
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "meantime"  # the same figures give the same file
    from matplotlib import pyplot  # noqa: PLC0415
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, program, draw_it, text in (
            ("waiting.svg", "oversubscription", waiting, "Barrier, allreduce and halo exchange by number of ranks"),
            ("messages.svg", "latency", messages, "Ping-pong by message size")):
        if any(point.program == program for point, _ in store.results):
            figure = draw_it(store, pyplot)
            figure.savefig(directory / name, metadata={"Date": None})
            pyplot.close(figure)
            written.append((name, text))
    return written
