#!/usr/bin/env python3
"""A thousand short jobs with guests, of each kind, beside Meantime's ranks and beside other MPIs' that are installed,
of which something is killed at a random moment: a rank, the launcher, mpiexec's supervisor, the guests' keeper, a guest,
or all of them at once. Afterwards no process may be left, no file, and no command of the queue lost.

    tests/stress/guests.py BUILD_FOLDER [--jobs 1000] [--seed 1]

Prints a line for each launcher and kind of guest; exit status 1 if anything was left. Processes that are Open MPI's or
MPICH's own affair (ranks that outlive their launcher) are ended, and not counted."""

import argparse
import collections
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "..", "launch", "guest_waits.c")
VICTIMS = ("nobody", "rank", "launcher", "supervisor", "keeper", "guest", "all")
STUBBORN = "trap : INT TERM HUP; (setsid sleep 30 &) ; while :; do sleep 1 & wait; done"
FUNCTION = "void do_extrawork(void) { for (volatile int i = 0; i < 5000; ++i) {} }\n"
LONGEST_END_S = 20


def processes(word, folder=None):
    """Living ones with it in their command line, or with this TMPDIR: pid, and the words."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
            with open(f"/proc/{entry}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
            environment = b""
            if folder is not None:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    environment = file.read()
            if state != "Z" and int(entry) != os.getpid() and (
                    any(word in one for one in words) or (folder is not None and f"TMPDIR={folder}\0".encode() in environment)):
                found[int(entry)] = words
    return found


def kind_of(words, program):
    name = os.path.basename(words[0])
    if words[0] == program:
        return "rank"
    if name == "meantime-guests":
        return "keeper"
    if name == "meantime-job":
        return "supervisor"
    if name in ("mpiexec", "mpirun", "mpiexec.openmpi", "mpiexec.mpich", "meantime", "orterun", "mpiexec.hydra", "hydra_pmi_proxy"):
        return "launcher"
    return "guest"


class Stress:
    def __init__(self, build, seed, folder):
        self.build = build
        self.folder = folder
        self.temporary = os.path.join(folder, "tmp")
        os.mkdir(self.temporary)
        self.random = random.Random(seed)
        self.word = f"stress-of-guests-{os.getpid()}"
        self.queue = os.path.join(folder, f"queue-{self.word}")
        os.mkdir(self.queue, 0o755)
        self.entries = 0
        self.left = []
        self.environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", TMPDIR=self.temporary)
        self.launchers = {}
        bin_folder = os.path.join(build, "bin")
        for name, compiler, launcher in (("Meantime", f"{bin_folder}/mpicc", f"{bin_folder}/mpiexec"),
                                         ("Open MPI", "mpicc.openmpi", "mpiexec.openmpi"), ("MPICH", "mpicc.mpich", "mpiexec.mpich")):
            if shutil.which(compiler) and shutil.which(launcher):
                program = os.path.join(folder, f"{self.word}-{launcher.rpartition('/')[2]}")
                subprocess.run([compiler, "-O1", PROGRAM, "-o", program], check=True, stderr=subprocess.DEVNULL)
                self.launchers[name] = (launcher, program)
        source = os.path.join(folder, "function.c")
        with open(source, "w") as file:
            file.write(FUNCTION)
        self.function = os.path.join(folder, f"{self.word}.so")
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", source, "-o", self.function], check=True)

    def guest(self, kind):
        if kind == "queue":
            for _ in range(2):
                with open(os.path.join(self.queue, f"{self.entries:06}"), "w") as file:
                    file.write("sleep 0.01\n")
                self.entries += 1
            return f"queue:{self.queue}"
        return f"func:{self.function}" if kind == "func" else f"proc:sh -c '{STUBBORN}' {self.word}"

    def run(self, name, kind, victim):
        launcher, program = self.launchers[name]
        guest = self.guest(kind)
        length = str(self.random.randint(1, 150))
        if name == "Meantime":
            command = [launcher, "-q", "--guest", guest, "-x", "MEANTIME_GUEST_GRACE=50000", "-n", "2", program, length]
        else:
            command = [os.path.join(self.build, "bin", "meantime"), "steal", "--guest", guest, "--steal", "all", "--", launcher, "-n", "2",
                       program, length]
        environment = dict(self.environment, MEANTIME_GUEST_GRACE="50000")
        job = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
        time.sleep(self.random.uniform(0, 0.25 if name == "Meantime" else 0.6))
        victims = [pid for pid, words in processes(self.word).items() if victim in ("all", kind_of(words, program))]
        if victim == "supervisor" and name == "Meantime":
            with contextlib.suppress(OSError), open(f"/proc/{job.pid}/task/{job.pid}/children") as file:
                victims = [int(pid) for pid in file.read().split()]
        for pid in victims if victim == "all" else victims[:1]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            job.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.left.append(f"{name}, {kind}, {victim}: it hangs: {processes(self.word)}")
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
        what = f"{name}, {kind}, {victim}"
        if victim == "nobody" and job.returncode:
            self.left.append(f"{what}: status {job.returncode}")
        self.look(what, name)
        for file in os.listdir(self.temporary):
            if not file.startswith(("ompi.", "openmpi-")):
                self.left.append(f"{what}: {file} in TMPDIR")
            shutil.rmtree(os.path.join(self.temporary, file), ignore_errors=True)

    def look(self, what, name):
        end = time.monotonic() + LONGEST_END_S
        while time.monotonic() < end:
            there = processes(self.word, self.temporary)
            # What a foreign launcher has left of its own.
            for pid, words in list(there.items()):
                if name != "Meantime" and kind_of(words, self.launchers[name][1]) in ("rank", "launcher"):
                    with contextlib.suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
                    del there[pid]
            if not there:
                return
            time.sleep(0.02)
        self.left.append(f"{what}: processes {there}")
        for pid in there:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def finish_queue(self):
        """Every command is there still, or has ended."""
        worker = subprocess.Popen([os.path.join(self.build, "libexec", "meantime", "meantime-queue"), self.queue], stdout=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while any(entry.is_file() for entry in os.scandir(self.queue)) and time.monotonic() < end:
            time.sleep(0.05)
        worker.terminate()
        worker.wait()
        done = {name for part in ("done", "failed") for name in os.listdir(os.path.join(self.queue, part)) if "." not in name}
        if lost := {f"{number:06}" for number in range(self.entries)} - done:
            self.left.append(f"the queue has lost {sorted(lost)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    shared = set(os.listdir("/dev/shm"))
    done = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        stress = Stress(os.path.abspath(options.build), options.seed, folder)
        names = [name for name in stress.launchers for _ in range(3 if name == "Meantime" else 1)]
        for number in range(options.jobs):
            name = stress.random.choice(names)
            kind = stress.random.choice(("proc", "func", "queue"))
            victim = stress.random.choice(VICTIMS)
            stress.run(name, kind, victim)
            done[name, kind] += 1
            if sys.stderr.isatty():
                print(f"\r{number + 1} of {options.jobs}", end="", file=sys.stderr)
        if stress.entries:
            stress.finish_queue()
    ours = {file for file in set(os.listdir("/dev/shm")) - shared if not file.startswith(("vader_", "sm_segment", "mpich_sh", "ompi"))}
    if ours:
        stress.left.append(f"/dev/shm: {ours}")
    for (name, kind), jobs in sorted(done.items()):
        print(f"{name:10} {kind:6} {jobs:5} jobs")
    for line in stress.left:
        print("left:", line)
    print(f"{options.jobs} jobs, seed {options.seed}: {len(stress.left)} times something was left")
    return 1 if stress.left else 0


if __name__ == "__main__":
    sys.exit(main())
