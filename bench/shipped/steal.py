"""meantime bench steal: what guests (mpiexec --guest) have of the time that ranks wait, and what that costs the ranks.

The ranks are meantime-imbalance's, one for each CPU: in its program `half` half of them compute and the others wait for
them in each step; in `even` all compute and nobody waits for long. The wake-up is meantime-libra's: a message that is
1 ms late, for a rank that waits asleep, on a CPU that a guest has meanwhile.
"""
from __future__ import annotations

import json
import re
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from comparison import launch, peers

from . import option_types, results

NONE = "none"
HALF, EVEN, WAKE_UP = "half", "even", "wake-up"
BATCHES = 5.2  # that meantime-imbalance makes of its --steps: five, and a fifth before them
LATE_US = 1000


def add_options(parser):
    parser.add_argument("--guests", metavar="LIST", default="primes,aes,stream",
                        help="ready guests, each measured beside no guest (default: %(default)s)")
    parser.add_argument("--us", metavar="LIST", default="25,50,500", type=option_types.counts,
                        help="µs that an average rank computes in a step; those who wait wait for twice that (default: %(default)s)")
    parser.add_argument("--seconds", metavar="S", type=option_types.positive, help="that a job takes, about (default: 2, quick: 0.7)")


def alone(prefix, guest, seconds):
    """Units a second on a CPU that nobody else wants."""
    process = subprocess.Popen([prefix / "libexec" / "meantime" / "guests" / guest], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=results.clean_environment())
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate()
    units = re.match(r"units (\d+)", said)
    if units is None:
        raise results.Problem(f"the guest {guest} does not run: {errors.strip() or said.strip()}")
    return int(units[1]) / seconds


def run(prefix, guest, ranks, program, *words):
    """The report of a job, and its output."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [prefix / "bin" / "mpiexec", "-q", f"--report={report}", "-n", ranks]
        command[1:1] = [] if guest == NONE else ["--guest", guest]
        outcome = launch.run([str(word) for word in [*command, prefix / "bin" / program, "--json", *words]], 120,
                             results.clean_environment())
        if outcome.timed_out or outcome.status:
            raise results.Problem(f"{program} beside {guest} failed: {outcome.errors.strip() or outcome.status}")
        return json.loads(report.read_text()), [json.loads(line) for line in outcome.output.splitlines() if line.startswith("{")]


def rate(prefix):
    """Rounds of computation a microsecond: told to all runs, so that all compute the same."""
    _, said = run(prefix, NONE, 1, "meantime-imbalance", "--programs", "even", "--us", "1", "--steps", "1")
    return next(line["rate"] for line in said if "rate" in line)


def measure_one(prefix, guest, kind, us, seconds, same_rate):
    if kind == WAKE_UP:
        _, said = run(prefix, guest, 2, "meantime-libra", "--mode", "event", "--bytes", "8", "--delays", LATE_US, "--seconds", seconds)
        return {"late_us": next(line["row"]["median"] for line in said if "row" in line)}
    steps = max(1, round(seconds * 1e6 / ((2 if kind == HALF else 1) * us * BATCHES)))
    report, _ = run(prefix, guest, peers.cores(), "meantime-imbalance", "--programs", kind, "--us", f"{us:g}", "--steps", steps,
                    "--rate", same_rate)
    row = {"seconds": report["wall"]}
    if report["guests"]:
        row.update(cpu=report["guests"]["cpu"], left=report["guests"]["left_by_ranks"], units=report["guests"]["units"])
    return row


def measure(prefix, options, found):
    prefix = Path(prefix)
    if peers.meantime(prefix) is None:
        raise results.Problem(f"no complete Meantime in {prefix}")
    if peers.cores() < 2:
        raise results.Problem("ranks that wait for others need two CPUs; here is one")
    seconds = float(options.seconds or (0.7 if options.quick else 2))
    guests = options.guests.split(",")
    rates = {guest: alone(prefix, guest, min(1, seconds)) for guest in guests}
    same_rate = rate(prefix)
    waits = [float(us) for us in options.us.split(",")]
    cases = [(HALF, us) for us in waits] + [(EVEN, max(waits)), (WAKE_UP, 0)]
    for repetition in range(options.repetitions):
        for kind, us in cases:
            first = repetition % (len(guests) + 1)
            everybody = [NONE, *guests]
            for guest in everybody[first:] + everybody[:first]:
                results.progress(f"run {repetition + 1} of {options.repetitions}: {kind} {us:g}, beside {guest}")
                found.add(measure_one(prefix, guest, kind, us, seconds, same_rate), guest=guest, kind=kind, us=us,
                          alone=rates.get(guest), repetition=repetition)
    results.progress("")


def ratios(found, column, guest, **keys):
    """With the guest / without one, of each repetition."""
    without = {row["repetition"]: row[column] for row in found.rows(guest=NONE, **keys)}
    return [row[column] / without[row["repetition"]] for row in found.rows(guest=guest, **keys) if row["repetition"] in without]


def shares(found, guest, **keys):
    """Of the core-seconds that ranks left: as processor time, and in units of work done alone in them."""
    rows = [row for row in found.rows(guest=guest, **keys) if row.get("left")]
    return ([100 * row["cpu"] / row["left"] for row in rows], [100 * row["units"] / row["alone"] / row["left"] for row in rows])


def tables(found):
    guests = [guest for guest in found.kinds("guest") if guest != NONE]
    text = []
    for kind, title in ((HALF, "Half of the ranks wait"), (EVEN, "No rank waits for long")):
        lines = []
        for us in found.kinds("us", kind=kind):
            for guest in guests:
                time_share, work = shares(found, guest, kind=kind, us=us)
                waits = f"{2 * us:g} µs" if kind == HALF else "–"
                lines.append([guest, waits, results.spread(time_share), results.spread(work),
                              results.spread(ratios(found, "seconds", guest, kind=kind, us=us))])
        text += [f"## {title}", "", results.table(["guest", "waits", "time that it has of what ranks leave, %",
                                                   "work that it does, of what it does alone in that time, %",
                                                   "run time of the job, in proportion to none"], lines), ""]
    lines = [[guest, results.spread(found.values("late_us", kind=WAKE_UP, guest=guest)),
              "" if guest == NONE else results.spread(ratios(found, "late_us", guest, kind=WAKE_UP))] for guest in [NONE, *guests]]
    text += ["## A message that is 1 ms late, for a rank that sleeps: round trip", "",
             results.table(["guest", "µs", "in proportion to none"], lines)]
    return "\n".join(text)


def figures(found, pyplot):
    panels = [(HALF, us) for us in found.kinds("us", kind=HALF)] + [(EVEN, us) for us in found.kinds("us", kind=EVEN)]
    guests = [guest for guest in found.kinds("guest") if guest != NONE]
    figure, axes = pyplot.subplots(figsize=(7, 3.2))
    for number, guest in enumerate(guests):
        for place, (kind, us) in enumerate(panels):
            values = shares(found, guest, kind=kind, us=us)[0]
            if values:
                axes.bar(place + 0.25 * number, statistics.median(values), 0.22, color=f"C{number}",
                         label=guest if place == 0 else None)
    axes.set_xticks([place + 0.25 for place in range(len(panels))],
                    [f"half wait {2 * us:g} µs" if kind == HALF else "none waits" for kind, us in panels], fontsize=8)
    axes.set(ylabel="of what ranks leave, %", ylim=(0, 105))
    axes.grid(True, axis="y", alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    yield "steal.svg", figure
