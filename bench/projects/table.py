"""docs/measurements/projects.md from results.json."""
from pathlib import Path

from . import mpi4py

IMPLEMENTATIONS = ("meantime", "openmpi", "mpich", "openmpi5")
INTRODUCTION = Path(__file__).with_name("introduction.md")


def cell(result):
    if result is None:
        return "–"
    failed = f", **{len(result['failed'])} not**" if result["failed"] else ""
    runs = f", {result['runs']} runs" if result["runs"] > 1 else ""
    return f"{result['passed']} pass{failed}{runs}; {result['seconds']:.1f} s"


def names(results):
    found = {}
    for parts in results.values():
        for by_implementation in parts.values():
            for key, result in by_implementation.items():
                found[key] = result["name"]
    return [found.get(key, key) for key in IMPLEMENTATIONS]


def failures(project, parts):
    lines = []
    for part, by_implementation in parts.items():
        for key in IMPLEMENTATIONS:
            result = by_implementation.get(key)
            if result and result["failed"]:
                shown = result["failed"][:12]
                more = f" and {len(result['failed']) - 12} more" if len(result["failed"]) > 12 else ""
                lines.append(f"- {project.NAME}, {part}, {result['name']}: "
                             + "; ".join(f"`{name}`" for name in shown) + more)
    return lines


def floor(parts):
    """mpi4py: each rank runs every test, so ranks' CPU work on 2 cores is the least that any MPI can take."""
    timed = {ranks: parts.get(f"{mpi4py.WITHOUT_UTIL}on {ranks}", {}).get("meantime") for ranks in mpi4py.TIMED_RANKS}
    if not all(timed.values()):
        return []
    of_a_rank = {ranks: result["cpu_seconds"] / ranks for ranks, result in timed.items()}
    lines = [f"mpi4py, {mpi4py.WITHOUT_UTIL.strip()}: tests go through all roots, counts and blocks, so a rank's own work grows with the ranks. "
             "Its CPU time on Meantime, waiting awake included: "
             + ", ".join(f"{seconds:.1f} s with {ranks}" for ranks, seconds in of_a_rank.items()) + "."]
    for ranks in mpi4py.TIMED_RANKS[1:]:
        seconds, scaled, own = timed[ranks]["seconds"], of_a_rank[2] * ranks / 2, of_a_rank[ranks] * ranks / 2
        lines.append(f"{ranks} ranks on 2 cores: {seconds:.1f} s, {seconds / scaled:.2f} times the 2-rank run's CPU time scaled "
                     f"({scaled:.1f} s), {seconds / own:.2f} times their own ({own:.1f} s).")
    return [*lines, ""]


def document(projects, results):
    lines = [INTRODUCTION.read_text(encoding="utf-8").rstrip(), "",
             "| project | part | " + " | ".join(names(results)) + " | load before |",
             "|---" * (len(IMPLEMENTATIONS) + 3) + "|"]
    for name, parts in results.items():
        for part, by_implementation in parts.items():
            loads = [f"{result['load']:.1f}" for result in by_implementation.values()]
            lines.append(f"| {projects[name].NAME} | {part} | "
                         + " | ".join(cell(by_implementation.get(key)) for key in IMPLEMENTATIONS)
                         + f" | {', '.join(loads)} |")
    lines += ["", *floor(results.get("mpi4py", {})), "## What does not pass", ""]
    failed = [line for name, parts in results.items() for line in failures(projects[name], parts)]
    lines += failed or ["Nothing of what ran."]
    return "\n".join(lines) + "\n"
