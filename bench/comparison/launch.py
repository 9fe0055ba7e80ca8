"""Runs a command under a time limit and leaves nothing of it behind, whatever it started.

Standard library only.
"""
from __future__ import annotations

import dataclasses
import os
import resource
import selectors
import signal
import subprocess
import time
from pathlib import Path


@dataclasses.dataclass
class Outcome:
    seconds: float
    cpu_seconds: float  # of the command and all that it waited for
    output: str
    errors: str
    status: int
    timed_out: bool


def children_by_parent():
    table = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # gone meanwhile
        table.setdefault(int(fields[1]), []).append(int(entry.name))
    return table


def descendants(pid):
    table, found, waiting = children_by_parent(), [], [pid]
    while waiting:
        for child in table.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found


def start_time(pid):
    """Tells a process from a later one with the same number; None if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


def stop(process):
    """SIGTERM to the launcher, two seconds, then SIGKILL to it and all it had started."""
    started = {pid: start_time(pid) for pid in descendants(process.pid)}
    process.terminate()
    end = time.monotonic() + 2
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    for pid in [*descendants(process.pid), process.pid]:
        started.setdefault(pid, start_time(pid))
    for pid, moment in started.items():
        if moment is not None and start_time(pid) == moment:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def children_cpu():
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def run(command, limit, environment=None, on_line=None, directory=None):
    """Runs `command` for at most `limit` seconds. `on_line(text)` sees each line of output."""
    before = children_cpu()
    begin = time.monotonic()
    process = subprocess.Popen(command, env=environment, cwd=directory, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    texts = {process.stdout: bytearray(), process.stderr: bytearray()}
    seen = 0
    timed_out = False
    try:
        with selectors.DefaultSelector() as selector:
            for stream in texts:
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                left = begin + limit - time.monotonic()
                if left <= 0:
                    timed_out = True
                    break
                for key, _ in selector.select(left):
                    piece = os.read(key.fileobj.fileno(), 65536)
                    if not piece:
                        selector.unregister(key.fileobj)
                    texts[key.fileobj] += piece
                output = texts[process.stdout]
                while on_line and (line_end := output.find(b"\n", seen)) >= 0:
                    on_line(output[seen:line_end].decode(errors="replace"))
                    seen = line_end + 1
        if not timed_out:
            try:
                process.wait(max(0.0, begin + limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                timed_out = True
        seconds = time.monotonic() - begin
    finally:
        if process.poll() is None:
            stop(process)
        process.wait()
        process.stdout.close()
        process.stderr.close()
    return Outcome(seconds, children_cpu() - before, texts[process.stdout].decode(errors="replace"),
                   texts[process.stderr].decode(errors="replace"), process.returncode, timed_out)
