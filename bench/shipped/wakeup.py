"""meantime bench wakeup: what a wake-up costs by each mechanism, on one CPU and on two."""
from __future__ import annotations

from pathlib import Path

from . import drawing, option_types, results

# As meantime-wakeup has them (its --help; a test compares).
WAYS = ("poll", "yield", "futex", "deadline", "condition", "semaphore", "pipe", "eventfd", "eventfd-epoll", "datagram-poll",
        "signal")
PLACES = {"same": "one CPU", "two": "two CPUs"}


def add_options(parser):
    parser.add_argument("--late", metavar="LIST", type=option_types.numbers,
                        help="µs that the one waits before it is woken (default: 200,1000,10000)")
    parser.add_argument("--ways", metavar="LIST", type=option_types.some_of(*WAYS),
                        help=f"mechanisms: {', '.join(WAYS)} (default: all)")
    parser.add_argument("--realtime", action="store_true",
                        help="SCHED_RR, for a machine that others use too (chrt -r 10; needs the right)")


def command(prefix, ahead, *words):
    return [*ahead, Path(prefix, "bin", "meantime-wakeup"), "--json", *words]


def measure(prefix, options, found):
    ways = ("--ways", options.ways) if options.ways else ()
    for repetition in range(options.repetitions):
        for late in (options.late or ("200,1000" if options.quick else "200,1000,10000")).split(","):
            results.progress(f"run {repetition + 1} of {options.repetitions}: {late} µs")
            turns = max(20, min(1000, round((1e5 if options.quick else 1e6) / max(1.0, float(late)))))
            ahead = results.REALTIME if options.realtime else ()
            for row in results.run_json(command(prefix, ahead, "--late", late, "--turns", turns, *ways), 600):
                found.add(row, repetition=repetition)
    results.progress("")


def tables(found):
    text = []
    for place in found.kinds("place"):
        for late in sorted(found.kinds("late_us", place=place)):
            lines = []
            for way in found.kinds("way", place=place, late_us=late):
                def of(name, factor=1, keys={"place": place, "way": way, "late_us": late}):  # noqa: B006
                    return results.spread(found.values(name, **keys), factor)
                lines.append([way, of("median"), of("p99"), of("telling"), of("round_trip"), of("waiting_cpu_share", 100)])
            text += [f"## {PLACES[place]}, woken after {late:g} µs: medians in µs", "",
                     results.table(["", "until awake", "the same, p99", "of that telling", "round trip",
                                    "processor time of who waits, %"], lines), ""]
    return "\n".join(text).rstrip()


def figures(found, pyplot):
    """Bars: until the one who waited is awake, and of that the teller's part; the line goes to the p99."""
    places = found.kinds("place")
    figure, all_axes = pyplot.subplots(1, len(places), figsize=(5 * len(places), 3.8), squeeze=False)
    for axes, place in zip(all_axes[0], places):
        ways = found.kinds("way", place=place)
        lates = sorted(found.kinds("late_us", place=place))
        for number, late in enumerate(lates):
            for row, way in enumerate(ways):
                def of(name, way=way, late=late):
                    return found.median(name, place=place, way=way, late_us=late)  # noqa: B023
                if of("median") is None:
                    continue
                y = row + (number - (len(lates) - 1) / 2) * 0.25
                axes.barh(y, of("median"), 0.24, alpha=0.7, label=f"after {late:g} µs" if row == 0 else None,
                          **drawing.bar(number))
                axes.barh(y, min(of("telling"), of("median")), 0.08, color="k", alpha=0.5,
                          label="of that telling" if row == number == 0 else None)
                axes.plot([of("median"), of("p99")], [y, y], color=f"C{number}", linewidth=0.8)
        axes.set_yticks(range(len(ways)), ways, fontsize=7)
        axes.set(xscale="log", xlabel="µs", title=PLACES[place])
        axes.invert_yaxis()
        axes.grid(True, axis="x", alpha=0.3)
    drawing.legend_beside(figure, all_axes[0])
    yield "wakeup.svg", figure
