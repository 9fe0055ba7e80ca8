"""What a benchmark has found: kept as one JSON file, told as tables, drawn as figures.

A *row* is a dictionary: what one run of a program says about one point, with the keys under which it was run.
"""
from __future__ import annotations

import datetime
import importlib.util
import itertools
import json
import os
import re
import shlex
import statistics
import sys
import textwrap

from comparison import launch, machine

FORMAT = 1
# Somebody had a CPU for half of the last minute or so: what was measured then had one CPU less for as long.
BUSY = 0.5
# In front of a command, so that what else runs on the machine does not hold it up: with CPUs of its own; and where its
# processes share one, for there a real-time poller would keep it for 100 ms at a time.
REALTIME = ("chrt", "-r", "10")
FAVOURED = ("nice", "-n", "-15")


class Problem(RuntimeError):
    """Something that the user can do something about."""


class Results:
    def __init__(self, data):
        self.data = data

    @classmethod
    def new(cls, name, words):
        return cls({"format": FORMAT, "benchmark": name, "machine": machine.describe(),
                    "date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
                    "command": shlex.join(words), "load before": round(machine.load(), 2), "notes": [], "rows": []})

    @classmethod
    def load(cls, path, name):
        try:
            data = json.loads(path.read_text())
        except FileNotFoundError as error:
            raise Problem(f"no results to show: there is no {path}; `meantime bench {name}` measures, "
                          "--output says where the results are") from error
        except (OSError, json.JSONDecodeError) as error:
            raise Problem(f"no results to show: {path}: {error}") from error
        if data.get("format") != FORMAT or data.get("benchmark") != name:
            raise Problem(f"{path} has no results of {name}")
        return cls(data)

    def save(self, path):
        path.write_text(json.dumps(self.data, indent=1) + "\n")

    def heading(self):
        lines = [f"# meantime bench {self.data['benchmark']}", "", f"{self.data['machine']}.", "",
                 f"{self.data['date']}, `{self.data['command']}`; load before {self.data['load before']}."]
        notes = [note for note in [self.busy(), *self.data["notes"]] if note]
        return "\n".join([*lines, *(f"- {note}" for note in notes)])

    def busy(self):
        """A sentence if others were on the machine, else nothing."""
        load = self.data["load before"]
        return "" if load < BUSY else (f"This machine was busy when it began (load {load:g}): these are not its figures when it "
                                       "is left alone.")

    def note(self, text):
        self.data["notes"].append(text)

    def add(self, row, **keys):
        self.data["rows"].append({**row, **keys})

    def rows(self, **keys):
        return [row for row in self.data["rows"] if all(row.get(key) == value for key, value in keys.items())]

    def values(self, column, /, **keys):
        """Of every repetition."""
        return [row[column] for row in self.rows(**keys) if row.get(column) is not None]

    def median(self, column, /, **keys):
        """Of the repetitions; None if there are none."""
        values = self.values(column, **keys)
        return statistics.median(values) if values else None

    def kinds(self, column, /, **keys):
        """The different values of a key, as they first appear."""
        return list(dict.fromkeys(row[column] for row in self.rows(**keys) if column in row))


def clean_environment(**changes):
    """Without settings of the user's, which would be measured instead of what is meant."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MEANTIME_")}
    return {**clean, **changes}


def run_json(command, limit, environment=None):
    """The rows that a program prints with --json, each with the header's keys."""
    header, rows = {}, []

    def line(text):
        if not text.startswith("{"):
            return
        said = json.loads(text)
        if "program" in said:
            header.update(said)
        elif "row" in said:
            rows.append({**header, **said["row"]})

    outcome = launch.run([str(word) for word in command], limit, environment or clean_environment(), line)
    if outcome.timed_out:
        raise Problem(f"stopped after {limit} s: {shlex.join(map(str, command))}")
    if outcome.status:
        raise Problem(f"{shlex.join(map(str, command))}\nfailed: {outcome.errors.strip() or outcome.status}")
    return rows


def progress(text):
    """What is done now; "" at the end. One line that changes on a terminal, else a line each."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)


def number(value):
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.4g}" if 99 < value < 100 else f"{value:.3g}"


def spread(values, factor=1.0):
    """The median with the smallest and the largest."""
    if not values:
        return "–"
    values = [value * factor for value in values]
    if len(values) == 1:
        return number(values[0])
    return f"{number(statistics.median(values))} ({number(min(values))}–{number(max(values))})"


def table(heads, lines):
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


# Where a cell of a table that is too wide goes on in the next line: brackets first, then what is in them and "a → b: c".
BREAKS = (r" (?=\()", r" (?=\(|→)|(?<=\d–)|(?<=:) (?=\d)")


def in_columns(cells, width):
    """The heads, and the other rows of a table."""
    def wide(rows):
        return [max(len(part) for cell in column for part in cell) for column in zip(*rows)]

    rows = [[[cell] for cell in row] for row in cells]
    for where in BREAKS:
        if sum(wide(rows)) + 2 * len(cells[0]) - 2 > width:
            rows = [[re.split(where, cell) for cell in row] for row in cells]
            rows[0] = [textwrap.wrap(head, max(least, 8), break_long_words=False) or [""]
                       for head, least in zip(cells[0], wide(rows[1:]))]
    widths = wide(rows)
    heads, *rest = ["\n".join("  ".join(f"{part:{'<' if place == 0 else '>'}{columns}}"
                                       for place, (part, columns) in enumerate(zip(parts, widths))).rstrip()
                              for parts in itertools.zip_longest(*row, fillvalue="")) for row in rows]
    return [heads, "  ".join("-" * columns for columns in widths), *rest]


def for_terminal(text, width):
    """Markdown's tables in columns, its headings without marks, no longer line than the terminal has if that can be."""
    shown = []
    for is_table, lines in itertools.groupby(text.split("\n"), lambda line: line.startswith("| ")):
        if is_table:
            rows = [line[2:-2].split(" | ") for line in lines]
            shown += in_columns([row for row in rows if set(row) != {"---"}], width)
        else:
            shown += [textwrap.fill(re.sub("^#+ ", "", line), width, subsequent_indent="  " if line.startswith("- ") else "",
                                    break_long_words=False, break_on_hyphens=False) for line in lines]
    return "\n".join(shown)


NO_FIGURES = ("No figures: Python's matplotlib is missing. After `apt-get install python3-matplotlib`, "
              "or with a python3 in PATH that has it, --show draws them.")


def say_before(found):
    """What can still be mended before anything is measured: other work on the machine, no matplotlib."""
    if found.busy():
        print(f"Load {found.data['load before']:g}: others use this machine. Figures of a busy machine say little of it; better "
              "wait until it is quiet.", file=sys.stderr)
    if importlib.util.find_spec("matplotlib") is None:
        print(NO_FIGURES, file=sys.stderr)

