"""meantime bench makespan: two jobs on this machine, both at once and one after the other, by the way in which their
ranks wait. Who waits asleep leaves its CPU to the other job.

A job (meantime-imbalance, its program `half`) has a rank for each CPU; half of the ranks compute, the others wait for
them in each step. So two jobs at once could be done in the time of one.
"""
from __future__ import annotations

import dataclasses
import shlex
import statistics
from pathlib import Path

from comparison import launch, peers, programs

from . import drawing, option_types, results

MODES = "poll,event,predicted"
IN_TURN, AT_ONCE = "one after the other", "at once"
BATCHES = 5.2  # that meantime-imbalance makes of its --steps: five, and a fifth before them


@dataclasses.dataclass(frozen=True)
class Contestant:
    name: str
    implementation: peers.Implementation
    setting: peers.Setting
    program: Path

    def job(self, ranks, *words):
        return shlex.join(map(str, self.implementation.command(
            ranks, [self.program, "--json", *words], self.setting, cpus=peers.cores()))) + " >/dev/null"

    def environment(self):
        return {name: value for name, value in self.implementation.environment(self.setting).items()
                if not name.startswith("MEANTIME_")}


def add_options(parser):
    parser.add_argument("--modes", metavar="LIST", default=MODES,
                        help="of Meantime, besides as installed: what mpiexec --wait takes (default: %(default)s)")
    parser.add_argument("--us", metavar="LIST", default="50,500", type=option_types.counts,
                        help="µs that an average rank computes in a step; those who wait wait for twice that (default: %(default)s)")
    parser.add_argument("--seconds", metavar="S", type=option_types.positive, help="that a job takes, about (default: 3, quick: 1)")
    parser.add_argument("--no-peers", action="store_true", help="Meantime alone, not also Open MPI and MPICH")


def contestants(prefix, options, found):
    ours = peers.meantime(prefix)
    if ours is None:
        raise results.Problem(f"no complete Meantime in {prefix}")
    program = Path(prefix, "bin", "meantime-imbalance")
    ways = [peers.Setting(f"--wait {mode}", ("--wait", mode)) for mode in options.modes.split(",")]
    chosen = [Contestant(f"Meantime {way.name}", ours, way, program)
              for way in [*ways, peers.Setting(peers.AS_INSTALLED)]]
    for peer in [] if options.no_peers else peers.installed_peers():
        target = (options.output / "programs" / peer.key / "imbalance").absolute()
        try:
            programs.compile_one(peer.cxx, programs.CXX_FLAGS, "imbalance/imbalance.cpp", target)
        except programs.CompileError as error:
            found.note(f"{peer.name} is left out: {error}")
            continue
        chosen += [Contestant(f"{peer.name} {setting.name}", peer, setting, target) for setting in peer.settings
                   if setting.crowded is not False]
    return chosen


def rate(one):
    """Rounds of computation a microsecond: told to all runs, so that all compute the same."""
    rows = results.run_json(["sh", "-c", one.job(1, "--programs", "even", "--us", "1", "--steps", "1").removesuffix(
        " >/dev/null")], 60, one.environment())
    return rows[0]["rate"]


def run(one, how, limit, words):
    """The row of two jobs; None: not done within the limit."""
    job = one.job(peers.cores(), *words)
    script = f"{job} && {job}" if how == IN_TURN else f"{job} & one=$!; {job} & other=$!; wait $one && wait $other"
    outcome = launch.run(["sh", "-c", script], limit, one.environment())
    if outcome.timed_out:
        return None
    if outcome.status:
        raise results.Problem(f"{job}\nfailed: {outcome.errors.strip() or outcome.status}")
    return {"seconds": outcome.seconds, "cpu_seconds": outcome.cpu_seconds}


def measure(prefix, options, found):
    if peers.cores() < 2:
        raise results.Problem("two jobs at once need two CPUs; here is one")
    seconds = float(options.seconds or (1 if options.quick else 3))
    limit = max(20, 20 * seconds)
    everybody = contestants(prefix, options, found)
    same_rate = rate(everybody[0])
    given_up = set()
    for repetition in range(options.repetitions):
        for us in options.us.split(","):
            steps = max(1, round(seconds * 1e6 / (2 * float(us) * BATCHES)))
            words = ("--programs", "half", "--us", us, "--steps", steps, "--rate", same_rate)
            first = repetition % len(everybody)
            for one in everybody[first:] + everybody[:first]:
                for how in (IN_TURN, AT_ONCE):
                    key = (one.name, us, how)
                    if key in given_up:
                        continue
                    what = f"{one.name}, waits of {2 * float(us):g} µs, two jobs {how}"
                    results.progress(f"run {repetition + 1} of {options.repetitions}: {what}")
                    row = run(one, how, limit, words)
                    if row is None:
                        given_up.add(key)
                        found.note(f"{what}: not done after {limit:g} s, not run again")
                        continue
                    found.add(row, who=one.name, implementation=one.implementation.key, us=float(us), how=how,
                              cpus=peers.cores(), repetition=repetition)
    results.progress("")
    if not found.data["rows"]:
        raise results.Problem("\n".join(["nothing could be measured", *found.data["notes"]]))


def perfect(found):
    """Of the time one after the other, if every CPU computed all the time."""
    cpus = found.rows()[0]["cpus"]
    computing = (cpus + 1) // 2
    return max(1, 2 * computing / cpus) / 2


def shares(found, us, who):
    """At once / one after the other, of each repetition."""
    in_turn = {row["repetition"]: row["seconds"] for row in found.rows(us=us, who=who, how=IN_TURN)}
    return [row["seconds"] / in_turn[row["repetition"]] for row in found.rows(us=us, who=who, how=AT_ONCE)
            if row["repetition"] in in_turn]


def tables(found):
    text = []
    for us in found.kinds("us"):
        lines = []
        for who in found.kinds("who", us=us):
            def of(column, how, who=who, us=us):
                return results.spread(found.values(column, us=us, who=who, how=how))
            lines.append([who, of("seconds", IN_TURN), of("seconds", AT_ONCE), results.spread(shares(found, us, who)),
                          of("cpu_seconds", AT_ONCE)])
        text += [f"## Two jobs, ranks that wait for {2 * us:g} µs in each step: seconds until both are done", "",
                 results.table(["", IN_TURN, AT_ONCE, f"{AT_ONCE}, in proportion", f"processor time {AT_ONCE}, s"], lines), ""]
    return "\n".join([*text, f"{perfect(found):.3g} in proportion would be every CPU computing all the time; 1 is no gain."])


def figures(found, pyplot):
    panels = found.kinds("us")
    everybody = found.kinds("who")
    figure, all_axes = pyplot.subplots(1, len(panels), figsize=(1.5 + 3.6 * len(panels), 1.2 + 0.4 * len(everybody)),
                                       sharey=True, sharex=True, squeeze=False)
    for axes, us in zip(all_axes[0], panels):
        for place, who in enumerate(everybody):
            values = shares(found, us, who)
            if not values:
                axes.text(0.5, place, "not done in time", transform=axes.get_yaxis_transform(), ha="center", va="center", fontsize=6)
                continue
            middle = statistics.median(values)
            ours = found.rows(who=who)[0]["implementation"] == "meantime"
            axes.errorbar(middle, place, xerr=[[middle - min(values)], [max(values) - middle]], capsize=2,
                          color="C0" if ours else "C1", marker="o" if ours else "s", markersize=5, linestyle="none")
            axes.annotate(f"{middle:.2f}", (middle, place), xytext=(0, 5), textcoords="offset points", ha="center", fontsize=6)
        axes.axvline(1, color="0.2", linewidth=0.8, label="no gain")
        axes.axvline(perfect(found), color="0.2", linewidth=0.8, linestyle="--", label="every CPU computes all the time")
        axes.set_title(f"ranks that wait for {2 * us:g} µs", fontsize=9)
        axes.set(xscale="log", xlabel="both at once / one after the other")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
        axes.grid(True, axis="x", alpha=0.3)
    all_axes[0][0].set_yticks(range(len(everybody)), everybody, fontsize=7)
    all_axes[0][0].set_ylim(len(everybody) - 0.5, -0.7)
    drawing.legend_beside(figure, all_axes[0])
    yield "makespan.svg", figure
