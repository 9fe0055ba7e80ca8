"""What a reader must know of the machine to judge a figure. Standard library only."""
from __future__ import annotations

import os
import platform
import re
from pathlib import Path


def read(path):
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def threads_per_core():
    siblings = read("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list").strip()
    return len(re.findall(r"\d+", siblings)) if siblings and "-" not in siblings else (2 if siblings else 1)


def describe():
    """One line; no host name."""
    model = re.search(r"model name\s*:\s*(.*)", read("/proc/cpuinfo"))
    memory = re.search(r"MemTotal:\s*(\d+)", read("/proc/meminfo"))
    virtual = " (virtual machine)" if " hypervisor " in read("/proc/cpuinfo") else ""
    threads = ", hardware threads of shared cores" if threads_per_core() > 1 else ""
    release = platform.release().partition("-")[0]
    return (f"{len(os.sched_getaffinity(0))} CPUs{threads}, {model[1] if model else platform.machine()}"
            f"{virtual}, {int(memory[1]) / 2**20 if memory else 0:.0f} GiB, Linux {release}, "
            f"{platform.libc_ver()[0]} {platform.libc_ver()[1]}")


def load():
    return os.getloadavg()[0]
