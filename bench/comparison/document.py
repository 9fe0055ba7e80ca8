"""The results for people: a table on the terminal (rich), and docs/measurements/performance.md between its markers."""
from __future__ import annotations

import itertools

from . import goals
from .peers import AS_INSTALLED

BEGIN = "<!-- bench/compare: begin. Written by bench/compare --document; do not edit by hand. -->"
END = "<!-- bench/compare: end -->"


def number(value):
    if value is None:
        return "–"
    if value >= 9999.5:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def spread(summary):
    unit = {"us": "µs", "1e6/s": "million/s"}.get(summary.unit, summary.unit)
    return f"{number(summary.median)} {unit} ({number(summary.low)}–{number(summary.high)})"


def ratio(value):
    return "–" if value is None else f"{value:.2f}"


def peer_text(store, judged):
    if judged.peer is None:
        return judged.peer_why or "–"
    setting = "" if judged.peer_who.setting == AS_INSTALLED else f", {judged.peer_who.setting}"
    return f"{store.name_of(judged.peer_who.key)}{setting}: {spread(judged.peer)}"


def bare_text(judged):
    parts = [f"{number(judged.bare.median)}"] if judged.bare else []
    if judged.ucx:
        parts.append(f"UCX {number(judged.ucx.median)}")
    return ", ".join(parts) or "–"


def own_ratio(judged):
    """To the bare prototype; where there is UCX or an own point to compare with, that too."""
    parts = [ratio(judged.bare_ratio)] if judged.bare_ratio is not None else []
    if judged.ucx_ratio is not None:
        parts.append(f"UCX {ratio(judged.ucx_ratio)}")
    if judged.base_ratio is not None:
        parts.append(f"{judged.row.base_title} {ratio(judged.base_ratio)}")
    return ", ".join(parts) or "–"


def met_text(judged):
    if judged.row.goal == "–":
        return ""
    if judged.ours is None:
        return "not measured"
    if judged.met is None:
        return "nothing to compare with"
    if not judged.met:
        return "**no**"
    return "yes" if judged.complete else "yes, as far as measured"


def cells(store, judged):
    ours = judged.ours
    return [judged.row.title, spread(ours) if ours else judged.why or "–",
            number(ours.p99) if ours else "–", number(ours.worst) if ours else "–",
            bare_text(judged), own_ratio(judged), peer_text(store, judged), ratio(judged.peer_ratio),
            judged.row.goal, met_text(judged)]


HEADS = ("", "Meantime", "p99", "worst", "bare", "ratio to bare", "best peer", "ratio to peer", "goal", "met")


def judged_groups(store):
    judged = [goals.judge(store, row) for row in goals.rows(store)]
    return [(group, list(members))
            for group, members in itertools.groupby(judged, key=lambda one: one.row.group)]


def terminal(store, console):
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    for group, members in judged_groups(store):
        table = Table(title=group, title_justify="left", box=box.SIMPLE_HEAD)
        for head in HEADS:
            table.add_column(head, overflow="fold")
        for judged in members:
            table.add_row(*(cell.replace("**", "") for cell in cells(store, judged)),
                          style="red" if judged.met is False else None)
        console.print(table)
    console.print(totals(store))
    for failure in store.failures:
        console.print(f"[red]failed[/red]: {failure['implementation']} ({failure['setting']}), "
                      f"{failure['case']}: ", end="")
        console.print(failure["said"], markup=False)


def totals(store):
    judged = [one for _, members in judged_groups(store) for one in members if one.row.goal != "–"]
    met = sum(one.met is True for one in judged)
    missed = sum(one.met is False for one in judged)
    return (f"{len(judged)} rows have a goal: {met} met, {missed} missed, "
            f"{len(judged) - met - missed} not measured or without anything to compare with.")


def markdown(store, figures):
    runs = store.used_runs()
    lines = [f"Machine: {store.machine}.", ""]
    for run in runs:
        names = ", ".join(run["implementations"].values())
        lines.append(f"- {run['date']}, `{run['command']}`, commit {run['commit'] or 'unknown'}: "
                     f"{run['repetitions']} interleaved repetitions{' (quick)' if run['quick'] else ''}, "
                     f"{names}; load before {run['load before']}.")
    lines += ["", "Figures are medians of the runs' medians, in brackets the smallest and the largest of these; "
              "p99 is the median of the runs' p99, *worst* the worst single value of all runs. A ratio is a "
              "factor of time: below 1, Meantime is faster. The best peer is the better of all peers, each as "
              "installed and with its documented settings for the case; no setting is named where it is as "
              "installed. "
              "“> N s” is a point that was stopped after N seconds.", "", totals(store)]
    for name, text in figures:
        lines += ["", f"![{text}]({name})"]
    for group, members in judged_groups(store):
        lines += ["", f"### {group}", "", "| " + " | ".join(HEADS) + " |", "|" + " --- |" * len(HEADS)]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells(store, judged)) + " |"
                  for judged in members]
    if store.failures:
        lines += ["", "### Runs that failed", ""]
        lines += [f"- {store.name_of(one['implementation'])} ({one['setting']}), {one['case']}: "
                  f"{one['said'].splitlines()[0] if one['said'] else ''}" for one in store.failures]
    return "\n".join(lines) + "\n"


def write(store, path, figures):
    """Replaces what stands between the markers, or makes the document."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        text = f"# Performance\n\n{BEGIN}\n{END}\n"
    if BEGIN not in text or END not in text:
        text += f"\n{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    path.write_text(f"{before}{BEGIN}\n\n{markdown(store, figures)}\n{END}{after}")
