"""Whether the machine is fit to measure: nobody else uses it, and its CPUs are as near to each other as they are at best.

A hypervisor may put two CPUs on one core or on two, now and then, and times of messages change by a third; a word that two
processes send each other through memory tells.
"""
from __future__ import annotations

import os
import sys
import time
from pathlib import Path

MOST = 0.3  # CPUs that others may use during a run
FIRST_LOOKS = 20  # to see it at its best
FURTHER = 2.5  # times as long as the word took at best: the CPUs are further apart


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
    """Waits until it is fit, and repeats what was measured when it was not; `patience` seconds in all."""

    def __init__(self, patience, probe):
        self.patience, self.probe = patience, probe
        self.lost = 0.0      # seconds of that
        self.nearest = None  # microseconds for a word
        self.is_fit = False
        self.begin()
        while len(self.words) < FIRST_LOOKS and not self.at_an_end:
            self.look()

    def begin(self):
        """What is said of a round."""
        self.lost_before, self.repeated, self.disturbed = self.lost, 0, 0
        self.loads = []      # CPUs that others used, of each run that counts
        self.words = []      # while nobody else was there

    def said(self):
        """Of what was since the last time."""
        text = {"waited": self.lost - self.lost_before, "repeated": self.repeated, "disturbed": self.disturbed, "loads": self.loads,
                "words": self.words}
        self.begin()
        return text

    @property
    def at_an_end(self):
        return self.lost >= self.patience

    def run(self, body):
        while True:
            while not self.is_fit and not self.at_an_end:
                self.look()
            watch = Watch()
            result = body()
            others = watch.others()
            self.is_fit = others < MOST and self.is_near()
            if self.is_fit or self.at_an_end:
                self.loads.append(others)
                self.disturbed += not self.is_fit
                return result
            self.repeated += 1
            self.lost += time.monotonic() - watch.start

    def look(self):
        watch = Watch()
        time.sleep(0.5)
        others = watch.others()
        self.is_fit = others < MOST and self.is_near()
        if not self.is_fit:
            why = f"others use {others:.1f} CPUs" if others >= MOST else f"a word takes {self.words[-1]:.2f} us"
            print(f"\rwaiting: {why}{'':60}", end="", file=sys.stderr, flush=True)
        self.lost += time.monotonic() - watch.start

    def is_near(self):
        self.words.append(self.probe())
        self.nearest = min(self.nearest or self.words[-1], self.words[-1])
        return self.words[-1] <= FURTHER * self.nearest
