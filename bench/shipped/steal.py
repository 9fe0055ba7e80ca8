"""meantime bench steal: what guests have of the time that ranks wait, and what that costs the ranks: on Meantime by
`mpiexec --guest`, on Open MPI and MPICH by `meantime steal --steal all`, as a program and as a function.

Ranks are meantime-imbalance's, one for each CPU: in `half` half of them compute and the others wait for them in each
step; in `even` all compute and nobody waits for long. `lammps` is Debian's, with atoms in half of its box. In `wake-up`
(meantime-libra, on Meantime) a message is 1 ms late, for a rank that waits asleep, on a CPU that a guest has meanwhile.
Work is counted in the guest's units and divided by what it does alone on one CPU in a second.
"""
from __future__ import annotations

import dataclasses
import json
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from comparison import launch, peers, programs

from . import option_types, results

NONE, PROGRAM, FUNCTION = "none", "program", "function"
HALF, EVEN, LAMMPS, WAKE_UP = "half", "even", "lammps", "wake-up"
BATCHES = 5.2  # that meantime-imbalance makes of its --steps: five, and a fifth before them
WAITS, MODES = ("ade", "event", "predicted"), ("ade", "naps")
LATE_US = 1000
LAMMPS_STEPS = 100
LAMMPS_INPUT = f"""units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 32 0 16 0 16
create_box 1 box
region half block 0 16 0 16 0 16
create_atoms 1 region half
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
neigh_modify every 20 delay 0 check no
thermo 100
run {LAMMPS_STEPS}
"""


@dataclasses.dataclass(frozen=True)
class Job:
    program: str
    mpi: str
    command: tuple  # a launcher, and what it starts
    ours: bool
    steps: int = 0  # of meantime-imbalance


def add_options(parser):
    parser.add_argument("--guests", metavar="LIST", default="primes,stream",
                        help="ready guests, each measured beside no guest (default: %(default)s)")
    parser.add_argument("--programs", metavar="LIST", default="half,even,wake-up",
                        help="of half, even, lammps (`lmp`, of Open MPI) and wake-up (default: %(default)s)")
    parser.add_argument("--us", metavar="LIST", default="50,500", type=option_types.counts,
                        help="µs that an average rank computes in a step; those who wait wait for twice that (default: %(default)s)")
    parser.add_argument("--seconds", metavar="S", type=option_types.positive, help="that a job takes, about (default: 2, quick: 0.7)")
    parser.add_argument("--modes", metavar="LIST", default="",
                        help="other ways to wait beside programs, too: of ade, event, predicted (mpiexec --wait), ade, naps (meantime "
                             "steal --mode)")
    parser.add_argument("--command", metavar="LINE", action="append", default=[],
                        help="instead: a job of yours, a launcher and a program of any MPI, by the time of the whole job; again and again")
    parser.add_argument("--no-peers", action="store_true", help="Meantime alone, not also Open MPI and MPICH")


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


def jobs(prefix, options, found, seconds):
    """Of programs that are run on each MPI, and commands of the user's."""
    for line in options.command:
        words = shlex.split(line)
        ours = Path(shutil.which(words[0]) or words[0]).resolve().parent.parent == prefix.resolve()
        yield Job(line, "Meantime" if ours else Path(words[0]).name, tuple(words), ours)
    chosen = options.programs.split(",") if not options.command else []
    if wrong := set(chosen) - {HALF, EVEN, LAMMPS, WAKE_UP}:
        raise results.Problem(f"--programs: there is no {', '.join(sorted(wrong))}")
    everybody = [(peers.meantime(prefix), prefix / "bin" / "meantime-imbalance")]
    for peer in [] if options.no_peers or not {HALF, EVEN} & set(chosen) else peers.installed_peers():
        target = (options.output / "programs" / peer.key / "imbalance").absolute()
        try:
            programs.compile_one(peer.cxx, programs.CXX_FLAGS, "imbalance/imbalance.cpp", target)
            everybody.append((peer, target))
        except programs.CompileError as error:
            found.note(f"{peer.name} is left out: {error}")
    waits = [float(us) for us in options.us.split(",")]
    same_rate = None
    for kind, us in [(HALF, us) for us in waits if HALF in chosen] + ([(EVEN, max(waits))] if EVEN in chosen else []):
        for number, (one, program) in enumerate(everybody):
            if same_rate is None:  # rounds of computation a microsecond: told to all, so that all compute the same
                rows = results.run_json(one.command(1, [program, "--json", "--programs", "even", "--us", "1", "--steps", "1"]), 60)
                same_rate = rows[0]["rate"]
            steps = max(1, round(seconds * 1e6 / ((2 if kind == HALF else 1) * us * BATCHES)))
            words = [program, "--json", "--programs", kind, "--us", f"{us:g}", "--steps", steps, "--rate", same_rate]
            name = f"half wait {2 * us:g} µs" if kind == HALF else "none waits for long"
            yield Job(name, one.name, tuple(map(str, one.command(peers.cores(), words))), number == 0, steps)
    if LAMMPS in chosen:
        if shutil.which("lmp") is None or shutil.which("mpiexec.openmpi") is None:
            raise results.Problem("lammps: Debian's is not here; apt-get install lammps")
        script = (options.output / "in.half").absolute()
        script.write_text(LAMMPS_INPUT)
        yield Job("lammps, half a box", "Open MPI", ("mpiexec.openmpi", "-n", "2", "lmp", "-in", str(script), "-log", "none"), False)


def run(prefix, job, way, guest):
    """The row of a job beside a guest."""
    mode = way.partition(", ")[2]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        guest = f"func:{guest}" if way == FUNCTION else guest
        command = list(job.command)
        if job.ours:
            command[1:1] = [f"--report={report}", *(["--wait", mode] if mode else []), *([] if way == NONE else ["--guest", guest])]
        elif way != NONE:
            command[:0] = [prefix / "bin" / "meantime", "steal", "--steal", "all", *(["--mode", mode] if mode else []), "--guest", guest,
                            "--"]
        environment = results.clean_environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                                PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        outcome = launch.run([str(word) for word in command], 300, environment)
        if outcome.timed_out or outcome.status:
            raise results.Problem(f"{shlex.join(map(str, command))}\nfailed: {outcome.errors.strip() or outcome.status}")
        row = {"seconds": own_seconds(job, outcome)}
        if way == NONE:
            return row
        if not job.ours:
            units = re.search(r"(\d+) units", outcome.errors)
            if units is None:
                raise results.Problem(f"{shlex.join(map(str, command))}\ntold nothing of guests: {outcome.errors.strip()}")
            return {**row, "units": int(units[1])}
        said = json.loads(report.read_text())
        if way == FUNCTION:
            return {**row, "units": said["guest_function"]["units"]}
        return {**row, "units": said["guests"]["units"], "cpu": said["guests"]["cpu"], "left": said["guests"]["left_by_ranks"]}


def own_seconds(job, outcome):
    """The program's own, if it tells: launchers take theirs."""
    if job.steps:
        said = [json.loads(line) for line in outcome.output.splitlines() if line.startswith("{")]
        step = next(line["row"]["median"] for line in said if "row" in line and "perfect" not in line["row"]["name"])
        return step * 1e-6 * job.steps * BATCHES
    loop = re.search(r"Loop time of ([\d.]+)", outcome.output)
    return float(loop[1]) if loop else outcome.seconds


def wake_up(prefix, guest, seconds):
    rows = results.run_json([prefix / "bin" / "mpiexec", "-q", *([] if guest == NONE else ["--guest", guest]), "-n", "2",
                             prefix / "bin" / "meantime-libra", "--json", "--mode", "event", "--bytes", "8", "--delays", LATE_US,
                             "--seconds", seconds], 120)
    return {"late_us": rows[0]["median"]}


def measure(prefix, options, found):
    prefix = Path(prefix)
    if peers.meantime(prefix) is None:
        raise results.Problem(f"no complete Meantime in {prefix}")
    if peers.cores() < 2:
        raise results.Problem("ranks that wait for others need two CPUs; here is one")
    seconds = float(options.seconds or (0.7 if options.quick else 2))
    guests = options.guests.split(",")
    rates = {guest: alone(prefix, guest, min(1, seconds)) for guest in guests}
    everything = list(jobs(prefix, options, found, seconds))
    modes = options.modes.split(",") if options.modes else []
    ways = [(NONE, NONE)] + [(way, guest) for guest in guests
                             for way in (PROGRAM, FUNCTION, *(f"{PROGRAM}, {mode}" for mode in modes))]
    for repetition in range(options.repetitions):
        first = repetition % len(ways)
        for job in everything:
            for way, guest in ways[first:] + ways[:first]:
                if way.partition(", ")[2] not in ("", *(WAITS if job.ours else MODES)):
                    continue
                results.progress(f"run {repetition + 1} of {options.repetitions}: {job.program}, {job.mpi}, beside {guest} ({way})")
                found.add(run(prefix, job, way, guest), program=job.program, mpi=job.mpi, way=way, guest=guest,
                          alone=rates.get(guest), repetition=repetition)
        for guest in [NONE, *guests] if WAKE_UP in options.programs.split(",") and not options.command else []:
            results.progress(f"run {repetition + 1} of {options.repetitions}: wake-up, beside {guest}")
            found.add(wake_up(prefix, guest, seconds), program=WAKE_UP, guest=guest, repetition=repetition)
    results.progress("")


def ratios(found, column, guest, **keys):
    """With the guest / without one, of each repetition."""
    apart = {key: value for key, value in keys.items() if key != "way"}
    without = {row["repetition"]: row[column] for row in found.rows(guest=NONE, **apart)}
    return [row[column] / without[row["repetition"]] for row in found.rows(guest=guest, **keys) if row["repetition"] in without]


def work(found, **keys):
    """What it does in a second of the program, in seconds of one idle CPU."""
    return [row["units"] / row["alone"] / row["seconds"] for row in found.rows(**keys)]


def cases(found):
    """Program, MPI."""
    return list(dict.fromkeys((row["program"], row["mpi"]) for row in found.data["rows"] if "mpi" in row))


def guests_of(found):
    return [guest for guest in found.kinds("guest") if guest != NONE]


def tables(found):
    text = []
    for program in dict.fromkeys(program for program, _ in cases(found)):
        lines = []
        for mpi in [mpi for of, mpi in cases(found) if of == program]:
            for guest in guests_of(found):
                for way in found.kinds("way", program=program, mpi=mpi, guest=guest):
                    keys = {"program": program, "mpi": mpi, "guest": guest, "way": way}
                    left = [100 * row["cpu"] / row["left"] for row in found.rows(**keys) if row.get("left")]
                    lines.append([mpi, f"{guest}, {way}", results.spread(work(found, **keys)), results.spread(left),
                                  results.spread(ratios(found, "seconds", **keys))])
        text += [f"## {program}", "", results.table(
            ["MPI", "guest", "work done a second, in seconds of one idle CPU", "time that it has of what ranks leave, %",
             "run time, in proportion to none"], lines), ""]
    if found.rows(program=WAKE_UP):
        lines = [[guest, results.spread(found.values("late_us", program=WAKE_UP, guest=guest)),
                  "" if guest == NONE else results.spread(ratios(found, "late_us", guest, program=WAKE_UP))]
                 for guest in [NONE, *guests_of(found)]]
        text += ["## A message that is 1 ms late, for a rank that sleeps: round trip", "",
                 results.table(["guest", "µs", "in proportion to none"], lines)]
    return "\n".join(text)


def figures(found, pyplot):
    """The first guest: as the paper's Figures 2 and 6, beside each program what each MPI and way has, and costs."""
    guest = guests_of(found)[0]
    programs_shown = list(dict.fromkeys(program for program, _ in cases(found)))
    bars = [(mpi, way) for mpi in dict.fromkeys(mpi for _, mpi in cases(found)) for way in (PROGRAM, FUNCTION)]
    if not bars:
        return
    figure, (had, cost) = pyplot.subplots(2, 1, figsize=(8, 5), sharex=True)
    width = 0.8 / len(bars)
    for number, (mpi, way) in enumerate(bars):
        for place, program in enumerate(programs_shown):
            keys = {"program": program, "mpi": mpi, "way": way, "guest": guest}
            if not found.rows(**keys):
                continue
            look = {"width": 0.9 * width, "color": f"C{number // 2}", "alpha": 1 if way == PROGRAM else 0.5}
            label = f"{mpi.split(' (')[0]}, {way}"
            known = had.get_legend_handles_labels()[1]
            had.bar(place + number * width, statistics.median(work(found, **keys)), label=None if label in known else label, **look)
            cost.bar(place + number * width, 100 * (statistics.median(ratios(found, "seconds", **keys)) - 1), **look)
    cost.set_xticks([place + 0.4 for place in range(len(programs_shown))], programs_shown, fontsize=8)
    had.set(ylabel="work done, of one idle CPU", title=guest)
    cost.set(ylabel="run time added, %")
    for axes in (had, cost):
        axes.grid(True, axis="y", alpha=0.3)
    had.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    yield "steal.svg", figure
