"""Whether others use the machine while something is measured: CPU time of all beside that of this process's children."""
from __future__ import annotations

import os
import sys
import time
from pathlib import Path

MOST = 0.3  # CPUs that others may use during a run


def busy():
    """Seconds of CPU that were used since the start, by whomever; the hypervisor's other guests' (steal) are in it."""
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own():
    return sum(os.times()[:4])


class Watch:
    def __init__(self):
        self.start, self.busy, self.own = time.monotonic(), busy(), own()

    def others(self):
        """CPUs in use by others since it began."""
        return max(0.0, (busy() - self.busy - own() + self.own) / (time.monotonic() - self.start))


class Quiet:
    """Waits for others to end, and runs again what they have disturbed; `patience` seconds in all."""

    def __init__(self, patience):
        self.patience = patience
        self.lost = 0.0       # seconds of that
        self.loads = []       # CPUs that others used, of each run that counts
        self.repeated = 0
        self.is_quiet = False

    def run(self, body):
        while True:
            self.wait()
            watch = Watch()
            result = body()
            others = watch.others()
            self.is_quiet = others < MOST
            if self.is_quiet or self.lost >= self.patience:
                self.loads.append(others)
                return result
            self.repeated += 1
            self.lost += time.monotonic() - watch.start

    def wait(self):
        while not self.is_quiet and self.lost < self.patience:
            watch = Watch()
            time.sleep(1)
            self.lost += 1
            self.is_quiet = watch.others() < MOST
            if not self.is_quiet:
                print(f"\rwaiting: others use {watch.others():.1f} CPUs{'':60}", end="", file=sys.stderr, flush=True)
