"""meantime bench clocks: what the clocks of meantime.h cost at a switch (the paper on MPI virtualization, Figures 3 and
4), and what HPCCG says of itself by them when ranks share a core (its Table 2).
"""
from __future__ import annotations

import os
from pathlib import Path

from comparison import launch

from . import option_types, results

CASES = {"nothing": "the measurement", "none": "no clock", "Rtime": "MPIX_Rtime (Figure 3)", "Ptime": "MPIX_Ptime (Figure 4)",
         "page-faults": "counter page-faults", "two-faults": "counters page-faults and context-switches",
         "cpu-migrations": "counter cpu-migrations", "cycles": "counter cycles"}
PARTS = ("total", "ddot", "waxpby", "sparsemv")
CLOCKS = ("MPI_Wtime", "MPIX_Rtime")


def add_options(parser):
    parser.add_argument("--kinds", default="threads,processes", metavar="LIST",
                        type=option_types.some_of("threads", "processes"), help="of ranks (default: %(default)s)")
    parser.add_argument("--ranks", default="4", metavar="N", type=option_types.counts, help="on one core (default: %(default)s)")
    parser.add_argument("--size", metavar="N", type=option_types.counts,
                        help="points of a rank in x, y and z (default: 24, quick: 16)")
    parser.add_argument("--iterations", default="150", metavar="N", type=option_types.counts,
                        help="of conjugate gradients (default: %(default)s)")


def on_one_cpu(*words):
    return ["taskset", "-c", str(max(os.sched_getaffinity(0))), *map(str, words)]


def switches(prefix):
    """{(case, side): {quantile: ns}} of one run."""
    outcome = launch.run(on_one_cpu(Path(prefix, "bin", "meantime-clocks")), 120, results.clean_environment())
    if outcome.timed_out or outcome.status:
        raise results.Problem(f"meantime-clocks failed: {outcome.errors.strip() or outcome.status}")
    found = {}
    for line in outcome.output.splitlines():
        case, side, quantile, ns = line.split()
        found.setdefault((case, side), {})[float(quantile)] = float(ns)
    return found


def measure(prefix, options, found):
    size = options.size or (16 if options.quick else 24)
    for repetition in range(options.repetitions):
        results.progress(f"run {repetition + 1} of {options.repetitions}: switches")
        for (case, side), values in switches(prefix).items():
            found.add({"median": values[0.5], "p99": values[0.99], "p99.9": values[0.999],
                       "values": [[ns, quantile] for quantile, ns in sorted(values.items()) if quantile < 1]},
                      part="switch", case=case, side=side, repetition=repetition)
        for kind in options.kinds.split(","):
            for ranks in (1, int(options.ranks)):
                results.progress(f"run {repetition + 1} of {options.repetitions}: HPCCG, {kind}, {ranks}")
                command = on_one_cpu(Path(prefix, "bin", "mpiexec"), "--as", kind, "-n", ranks, Path(prefix, "bin", "meantime-hpccg"),
                                     "--json", "--size", size, "--iterations", options.iterations)
                for row in results.run_json(command, 300):
                    found.add(row, part="hpccg", kind=kind, repetition=repetition)
    results.progress("")


def tables(found):
    lines = []
    for case in found.kinds("case", part="switch"):
        def of(side, case=case):
            return ", ".join(f"{found.median(which, part='switch', case=case, side=side):.0f}" for which in ("median", "p99", "p99.9"))
        lines.append([CASES.get(case, case), of("suspend"), of("resume")])
    text = ["## A switch: ns of each invocation: median, p99, p99.9", "",
            results.table(["", "suspend", "resume"], lines), ""]
    for kind in found.kinds("kind", part="hpccg"):
        heads, columns = [""], []
        for ranks in sorted(found.kinds("ranks", part="hpccg", kind=kind)):
            for clock in CLOCKS:
                heads.append(f"{clock}, {ranks} rank{'s' if ranks > 1 else ''}")
                columns.append({"part": "hpccg", "kind": kind, "ranks": ranks, "clock": clock})
        lines = [[f"{part} time [s]", *(results.spread(found.values("median", name=part, **keys)) for keys in columns)]
                 for part in PARTS]
        lines += [[f"{part} MFLOP/s", *(results.spread(found.values("mflops", name=part, **keys)) for keys in columns)]
                  for part in PARTS]
        text += [f"## HPCCG, {kind} on one core: what rank 0 says (Table 2)", "", results.table(heads, lines), ""]
    return "\n".join(text).rstrip()


def figures(found, pyplot):
    """Figures 3 and 4: the share of the invocations that took so long; the middle run by its p99."""
    clocks = ("nothing", "none", "Rtime", "Ptime")
    figure, all_axes = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for axes, side in zip(all_axes, ("suspend", "resume")):
        longest = 0
        # Lines that lie upon each other are still to be seen: broad below, dashed above.
        for (colour, width, dashes), case in zip((("0.75", 5, "-"), ("C0", 2, "--"), ("C3", 4, "-"), ("k", 1.5, ":")), clocks):
            runs = sorted(found.rows(part="switch", case=case, side=side), key=lambda row: row["p99"])
            if not runs:
                continue
            middle = runs[len(runs) // 2]
            longest = max(longest, middle["p99"])
            axes.step([ns for ns, _ in middle["values"]], [quantile for _, quantile in middle["values"]], color=colour,
                      linewidth=width, linestyle=dashes,
                      label=f"{CASES[case]}: P99 {middle['p99']:.0f}, P99.9 {middle['p99.9']:.0f} ns")
        axes.set(title=f"{side} logic", xlabel="ns", xlim=(0, 1.5 * longest))
        axes.grid(True, alpha=0.3)
        axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.25), frameon=False)
    all_axes[0].set_ylabel("share of the invocations")
    yield "clocks.svg", figure
