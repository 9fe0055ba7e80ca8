"""docs/projects.md from results.json."""
from pathlib import Path

IMPLEMENTATIONS = ("meantime", "openmpi", "mpich")
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
    two = parts.get("without util on 2", {}).get("meantime")
    five = parts.get("without util on 5", {}).get("meantime")
    if not two or not five:
        return []
    least = two["cpu_seconds"] / 2 * 5 / 2
    return [f"mpi4py with 5 ranks, without util: the CPU time of the 2-rank run is {two['cpu_seconds']:.1f} s, so 5 ranks on 2 cores take "
            f"{least:.1f} s at least; measured {five['seconds']:.1f} s, {five['seconds'] / least:.2f} times that. A rank's own work grows "
            f"with their number, because tests go through all roots, counts and blocks: {two['cpu_seconds'] / 2:.0f} s of CPU time a rank "
            f"with 2, {five['cpu_seconds'] / 5:.0f} with 5, waiting awake included.", ""]


def document(projects, results):
    lines = [INTRODUCTION.read_text(encoding="utf-8").rstrip(), "",
             "| project | part | " + " | ".join(names(results)) + " | load before |", "|---|---|---|---|---|---|"]
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
