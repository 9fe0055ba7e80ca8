"""meantime bench overlap: how much communication ranks that share a core hide for each other; the figures of the
paper on MPI virtualization, 5 (T_comp, T_comm and T_full over growing communication) and 7 (time in each MPI_Waitall).

Parts: as it is (thread and process ranks), and with the test setting of a network inside the node (thread ranks): the
stencil, and one side of the rendezvous alone, as the paper's Section 4.3 foresees it.
"""
from __future__ import annotations

import json
import os
import statistics
from pathlib import Path

from comparison import launch

from . import drawing, option_types, results

AS_IT_IS, WIRE = "as it is", "by the test wire"
# One side alone: what meantime-overlap's --one-way does, whether the receiver's interface answers and answers at once, and
# how many gaps the paper counts. V ranks fill V - 1 of them.
ONE_SIDE = {"sender": ("sender", True, False, 2), "sender, answered at once": ("sender", True, True, 1),
            "receiver, posted before": ("receiver-early", False, False, 2),
            "receiver, posted after": ("receiver-late", False, False, 1)}


def add_options(parser):
    parser.add_argument("--per-core", default="1,2,3,4,8", metavar="LIST", type=option_types.counts, help="ranks a core (default: %(default)s)")
    parser.add_argument("--kinds", default="threads,processes", metavar="LIST",
                        type=option_types.some_of("threads", "processes"), help="of ranks (default: %(default)s)")
    parser.add_argument("--bytes", default="64K,256K,512K,1M,2M", metavar="LIST", type=option_types.sizes,
                        help="of a core to each side (default: %(default)s)")
    parser.add_argument("--compute-us", default="1000", metavar="C", type=option_types.positive, help="of a core in a turn (default: %(default)s)")
    parser.add_argument("--turns", metavar="N", type=option_types.counts, help="of one batch (default: 20, quick: 5)")
    parser.add_argument("--batches", metavar="N", type=option_types.counts, help="of each phase (default: 5, quick: 1)")
    parser.add_argument("--wire", default="400:500:interface", metavar="LATENCY_US:MB_PER_S[:interface]", type=option_types.wire,
                        help="the test setting of a network (default: %(default)s; none: leave it out)")
    parser.add_argument("--wire-compute-us", default="4000", metavar="C", type=option_types.positive,
                        help="computation of a core in a turn with the wire, long enough that the copies at its end, which a "
                        "processor makes, weigh little (default: %(default)s)")
    parser.add_argument("--realtime", action="store_true",
                        help="SCHED_RR, for a machine that others use too (chrt -r 1; needs the right)")


def wire_of(options, interface, at_once):
    latency, _, speed = options.wire.removesuffix(":interface").partition(":")
    return f"{0 if at_once else latency}{f':{speed}' if speed else ''}{':interface' if interface else ''}"


def run(prefix, options, kind, per_core, wire, one_way=None):
    """The rows of one run, and its lists of times in MPI_Waitall."""
    cores = len(os.sched_getaffinity(0))
    environment = results.clean_environment(MEANTIME_WAIT="adaptive")
    if wire:
        environment = results.clean_environment(MEANTIME_WAIT="yield", MEANTIME_TEST_WIRE=wire)
    command = [*(("chrt", "-r", "1") if options.realtime else ()), Path(prefix, "bin", "mpiexec"), "--as", kind,
               *(("--balance", "none") if wire else ()), "-n", cores * per_core,
               Path(prefix, "bin", "meantime-overlap"), "--json", "--per-core", per_core, "--waitall", "--bytes",
               options.bytes, "--compute-us", options.wire_compute_us if wire else options.compute_us, "--turns",
               options.turns or (5 if options.quick else 20), "--batches", options.batches or (1 if options.quick else 5)]
    if one_way:
        sizes = options.bytes.split(",")
        command += ["--one-way", one_way, "--bytes", sizes[(len(sizes) - 1) // 2]]
    command = [str(word) for word in command]
    outcome = launch.run(command, 300, environment)
    if outcome.timed_out or outcome.status:
        raise results.Problem(f"{' '.join(command)}\nfailed: {outcome.errors.strip() or outcome.status}")
    for line in outcome.output.splitlines():
        if line.startswith("{"):
            said = json.loads(line)
            if found := said.get("row") or said.get("list"):
                yield found


def measure(prefix, options, found):
    sides = [(AS_IT_IS, kind, None) for kind in options.kinds.split(",")]
    if options.wire != "none" and "threads" in options.kinds:
        sides.append((WIRE, "threads", options.wire))
    for repetition in range(options.repetitions):
        for side, kind, wire in sides:
            for per_core in map(int, options.per_core.split(",")):
                results.progress(f"run {repetition + 1} of {options.repetitions}: {kind}, V = {per_core}, {side}")
                for row in run(prefix, options, kind, per_core, wire):
                    found.add(row, side=side, kind=kind, per_core=per_core, repetition=repetition)
        if options.wire == "none" or "threads" not in options.kinds or len(os.sched_getaffinity(0)) % 2:
            continue
        for side, (one_way, interface, at_once, _) in ONE_SIDE.items():
            for per_core in map(int, options.per_core.split(",")):
                results.progress(f"run {repetition + 1} of {options.repetitions}: {side}, V = {per_core}")
                for row in run(prefix, options, "threads", per_core, wire_of(options, interface, at_once), one_way):
                    found.add(row, one_side=side, kind="threads", per_core=per_core, repetition=repetition)
    if options.wire != "none":
        found.note(f"The test wire: MEANTIME_TEST_WIRE={options.wire}, MEANTIME_WAIT=yield, --balance none")
    results.progress("")


def phases(found, **keys):
    return [found.median("median", name=name, **keys) for name in ("T_comp", "T_comm", "T_full")]


def tables(found):
    text = []
    for side in found.kinds("side"):
        sizes = sorted(found.kinds("bytes", side=side, name="T_full"))
        lines = []
        for kind in found.kinds("kind", side=side):
            for per_core in found.kinds("per_core", side=side, kind=kind):
                cells = []
                for size in sizes:
                    comp, comm, full = phases(found, side=side, kind=kind, per_core=per_core, bytes=size)
                    if None in (comp, comm, full):  # interrupted before
                        cells.append("–")
                        continue
                    cells.append(f"{comp:.0f} + {comm:.0f} → {full:.0f}: {full / max(comp, comm):.2f}")
                lines.append([kind, per_core, *cells])
        text += [f"## {side}: T_comp + T_comm → T_full in µs: T_full / max(T_comp, T_comm)", "",
                 results.table(["ranks", "V", *(f"{size // 1024} KiB" for size in sizes)], lines), ""]
    return "\n".join([*text, *one_side_table(found)]).rstrip()


def one_side_table(found):
    """Section 4.3."""
    sides = found.kinds("one_side")
    if not sides:
        return []
    ratios, lines = found.kinds("per_core", one_side=sides[0]), []
    for side in sides:
        cells = []
        for per_core in ratios:
            comp, comm, full = phases(found, one_side=side, per_core=per_core)
            cells.append("–" if None in (comp, comm, full) else f"{comp:.0f} + {comm:.0f} → {full:.0f}: {full / max(comp, comm):.2f}")
        gaps = ONE_SIDE[side][3]
        lines.append([side, gaps, f"V = {gaps + 1}", *cells])
    return ["## One side of the rendezvous, by the test wire: the same", "",
            results.table(["who computes", "gaps foreseen", "hidden from", *(f"V = {per_core}" for per_core in ratios)], lines), ""]


def over_communication(found, pyplot, side):
    """Figure 5."""
    kinds, ratios = found.kinds("kind", side=side), found.kinds("per_core", side=side)
    figure, grid = pyplot.subplots(len(kinds), len(ratios), figsize=(2.6 * len(ratios), 2.6 * len(kinds)), sharex=True,
                                   sharey=True, squeeze=False)
    for row, kind in zip(grid, kinds):
        for axes, per_core in zip(row, ratios):
            keys = {"side": side, "kind": kind, "per_core": per_core}
            sizes = sorted(found.kinds("bytes", name="T_full", **keys))
            if not sizes:  # interrupted before
                continue
            lines = list(zip(*(phases(found, bytes=size, **keys) for size in sizes)))
            for number, (values, name) in enumerate(zip(lines, ("T_comp", "T_comm", "T_full"))):
                axes.plot([size / 1024 for size in sizes], [value / 1000 for value in values], markersize=3, label=name,
                          **drawing.line(number))
            axes.plot([size / 1024 for size in sizes], [max(two) / 1000 for two in zip(*lines[:2])], "0.5",
                      linestyle=":", label="max")
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_title(f"{kind}, V = {per_core}", fontsize=9)
            axes.grid(True, alpha=0.3)
        row[0].set_ylabel("ms a turn")
    for axes in grid[-1]:
        axes.set_xlabel("KiB of a core to each side", fontsize=8)
    drawing.legend_beside(figure, [grid[0][0]])
    return figure


def in_waitall(found, pyplot):
    """Figure 7, for the size in the middle."""
    sides = [side for side in found.kinds("side") if found.rows(side=side, kind="threads", name="waitall")]
    if not sides:
        return None
    figure, all_axes = pyplot.subplots(1, len(sides), figsize=(5 * len(sides), 3.4), squeeze=False)
    for axes, side in zip(all_axes[0], sides):
        sizes = sorted(found.kinds("bytes", side=side, name="waitall"))
        size = sizes[len(sizes) // 2]
        usual = 0  # all but a few stragglers
        for number, per_core in enumerate(found.kinds("per_core", side=side, kind="threads")):
            runs = found.values("values", side=side, kind="threads", per_core=per_core, name="waitall", bytes=size)
            middle = [statistics.median(values) for values in zip(*runs)]
            usual = max(usual, middle[97 * (len(middle) - 1) // 100])
            axes.step(middle, [step / (len(middle) - 1) for step in range(len(middle))], markevery=10, markersize=3,
                      label=f"V = {per_core}", **drawing.line(number))
        if side == WIRE:  # all of them long: by an axis in which twice the time is twice as far
            axes.set(xlim=(0, 1.1 * usual))
        else:
            axes.set(xscale="symlog")
        axes.set(xlabel="µs in one MPI_Waitall", title=f"thread ranks, {size // 1024} KiB, {side}")
        axes.grid(True, alpha=0.3)
    drawing.legend_beside(figure, all_axes[0])
    all_axes[0][0].set_ylabel("share of the calls")
    return figure


def figures(found, pyplot):
    for side, name in ((AS_IT_IS, "overlap.svg"), (WIRE, "overlap-wire.svg")):
        if found.rows(side=side):
            yield name, over_communication(found, pyplot, side)
    waits = in_waitall(found, pyplot)
    if waits:
        yield "overlap-waitall.svg", waits
