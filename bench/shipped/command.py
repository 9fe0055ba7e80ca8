"""meantime bench NAME: the benchmarks there are, and what they have in common."""
from __future__ import annotations

import argparse
import importlib
import os
import shutil
import signal
import sys
from pathlib import Path

from . import drawing, results

BENCHMARKS = {
    "clocks": "what clocks for ranks cost at a switch, and HPCCG by them",
    "libra": "round trips of late messages, and what waiting for them costs",
    "makespan": "two jobs at once: whether one can use what the other waits",
    "overlap": "how much communication ranks of one core hide for each other",
    "steal": "what guests have of the time that ranks wait, and what they cost",
    "yieldshare": "what sched_yield gives away on this kernel",
    "wakeup": "what waking a process costs by each mechanism",
}


def overview():
    lines = ["meantime bench NAME [options]: measures, writes tables and figures", ""]
    lines += [f"  {name:<12}{text}" for name, text in BENCHMARKS.items()]
    return "\n".join([*lines, "", "meantime bench NAME --help lists its options."])


def common_options(name):
    parser = argparse.ArgumentParser(prog=f"meantime bench {name}", description=BENCHMARKS[name])
    parser.add_argument("--output", type=Path, default=Path(f"meantime-{name}"), metavar="DIR",
                        help="for the results, the tables and the figures (default: %(default)s)")
    parser.add_argument("--show", action="store_true",
                        help="measure nothing: tables and figures again, from the results in DIR")
    parser.add_argument("--repetitions", type=int, metavar="N", help="of everything, in turn (default: 5)")
    parser.add_argument("--quick", action="store_true", help="a short look, not for a claim")
    return parser


def main(prefix, words):
    if not words or words[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    name, *words = words
    if name not in BENCHMARKS:
        shown = "".join(letter if letter.isprintable() else "?" for letter in name)
        print(f"meantime bench: there is no benchmark '{shown}'\n\n{overview()}", file=sys.stderr)
        return 2
    benchmark = importlib.import_module(f"shipped.{name}")
    parser = common_options(name)
    benchmark.add_options(parser)
    options = parser.parse_args(words)
    if options.output.exists() and not options.output.is_dir():
        parser.error(f"--output: {options.output} is not a folder")
    if options.repetitions is None:
        options.repetitions = 3 if options.quick else 5
    if options.repetitions < 1:
        parser.error("--repetitions: at least 1")
    try:
        if not options.show:
            make_folder(options.output)
        path = options.output / "results.json"
        if options.show:
            found = results.Results.load(path, name)
        else:
            found = results.Results.new(name, ["meantime", "bench", name, *words])
            results.say_before(found)
            signal.signal(signal.SIGTERM, interrupt)
            try:
                benchmark.measure(prefix, options, found)
            except BaseException as end:
                keep_what_there_is(found, path, end)
                raise
            found.save(path)
        text = benchmark.tables(found)
        (options.output / "results.md").write_text(f"{found.heading()}\n\n{text}\n")
        shown = f"{found.heading()}\n\n{text}"
        print((results.for_terminal(shown, shutil.get_terminal_size().columns) if sys.stdout.isatty() else shown)
              + f"\n\nWritten to {options.output}: results.json, results.md"
              + drawing.draw(benchmark.figures, found, options.output, why_not=options.show))
    except results.Problem as problem:
        print(f"meantime bench {name}: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def make_folder(folder):
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise results.Problem(f"--output: {folder} cannot be made: {error.strerror}") from error
    if not os.access(folder, os.W_OK):
        raise results.Problem(f"--output: {folder} cannot be written to")


def interrupt(number, _):
    raise KeyboardInterrupt


def keep_what_there_is(found, path, end):
    """The rows so far, if the measurement ends early."""
    if not found.data["rows"]:
        return
    found.note("interrupted: these are the results until then" if isinstance(end, KeyboardInterrupt)
               else "ended early: these are the results until then")
    found.save(path)
    results.progress("")
    print(f"\nWritten to {path}: what was measured so far (--show makes tables of it)", file=sys.stderr)
