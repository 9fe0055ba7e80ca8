"""meantime bench yieldshare: what sched_yield gives away on this kernel; the paper's Figures 3 and 4."""
from __future__ import annotations

from pathlib import Path

from . import drawing, option_types, results


NO_THIRD_BAR = ("The paper's third bar (Yield*) is of a kernel that its authors patched; the kernel that runs here has "
                "only its own sched_yield.")


def add_options(parser):
    parser.add_argument("--seconds", metavar="S", type=option_types.positive, help="of each pair (default: 5, quick: 1; the paper: 30)")


def measure(prefix, options, found):
    seconds = options.seconds or ("1" if options.quick else "5")
    for repetition in range(options.repetitions):
        results.progress(f"run {repetition + 1} of {options.repetitions}")
        for row in results.run_json([Path(prefix, "bin", "meantime-yieldshare"), "--json", "--seconds", seconds],
                                    60 + 10 * float(seconds)):
            found.add(row, repetition=repetition)
    results.progress("")


def scheduler(found):
    row = found.rows()[0]
    return f"{row['scheduler']} (found by {row['found_by']}), {row['policy']}"


def tables(found):
    lines = []
    for pair in found.kinds("pair"):
        for which in (1, 2):
            keys = {"pair": pair, "which": which}
            lines.append([pair if which == 1 else "", f"{which}: {found.rows(**keys)[0]['call']}",
                          results.spread(found.values("median", **keys), 100),
                          results.spread(found.values("cpu_share", **keys), 100),
                          results.spread(found.values("turns", **keys), 1e-6),
                          results.spread(found.values("voluntary_switches", **keys)),
                          results.spread(found.values("involuntary_switches", **keys))])
    return "\n".join([f"Scheduler: {scheduler(found)}. {NO_THIRD_BAR}", "",
                      results.table(["two processes on one CPU", "", "share of the turns, %", "share of the processor time, %",
                                     "turns, millions", "switches by itself", "switches by the kernel"], lines)])


def figures(found, pyplot):
    figure, axes = pyplot.subplots(figsize=(5.5, 3.4))
    pairs = found.kinds("pair")
    for place, pair in enumerate(pairs):
        below = 0
        for which in (1, 2):
            keys = {"pair": pair, "which": which}
            share = 100 * found.median("median", **keys)
            axes.bar(place, share, 0.6, bottom=below, alpha=0.75, **drawing.bar(which - 1))
            call = found.rows(**keys)[0]["call"]
            label = f"{call}: {share:.{1 if 1 < share < 99 else 2}f} %"
            # What is too thin for its label has it above, or below.
            where = below + share / 2 if share >= 8 else (102 if which == 2 else -2)
            axes.text(place, where, label, fontsize=7, ha="center",
                      va="center" if share >= 8 else "bottom" if which == 2 else "top")
            below += share
    axes.set_xticks(range(len(pairs)), pairs, fontsize=8)
    axes.set(ylabel="share of the turns, %", xlim=(-0.5, len(pairs) - 0.5), ylim=(0, 110))
    axes.set_title(f"two processes on one CPU: {found.rows()[0]['scheduler']}, {found.rows()[0]['policy']}", fontsize=9)
    figure.text(0.01, -0.02, NO_THIRD_BAR.replace("; ", ";\n"), fontsize=6, va="top")
    yield "yieldshare.svg", figure
