#!/usr/bin/env python3
"""Random MPI programs on our library and on the oracle: what every rank received must be the same.

    fuzz.py --build build/release --oracle build/oracle --seconds 600      new seeds for ten minutes
    fuzz.py --build build/release --oracle build/oracle --seeds 1-20       these, and no more
    fuzz.py --build build/release --oracle build/oracle --record 24        writes seeds.txt
    fuzz.py --build build/release --expect                                 checks against seeds.txt
    fuzz.py --build build/release --oracle build/oracle --nodes            all over nodes that mpiexec plays

Each seed is one program (tests/fuzz) with some number of ranks. It runs on the oracle once, on ours as
processes or threads in some way of waiting, some over 2 to 4 nodes. What differs is made smaller: fewer operations, fewer
ranks; the line that repeats it is printed. Where the oracle itself fails, our runs are compared with
each other. Exit status 1 if anything differed, crashed or was not over in time.
"""
import argparse
import hashlib
import os
import random
import subprocess
import sys
import time

SEEDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds.txt")
RANKS = (1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 11, 16)
WAITS = ("adaptive", "event", "yield", "poll", "predicted", "ade", "overprovisioned")


def digest_of(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


class Setting:
    """How a program runs on ours."""

    def __init__(self, threads, wait, cma="1", more=()):
        self.threads, self.wait, self.cma, self.more = threads, wait, cma, list(more)

    def words(self):
        words = ["--as", "threads"] if self.threads else []
        words += ["--wait", self.wait]
        if self.cma == "0":
            words += ["-x", "MEANTIME_CMA=0"]
        for setting in self.more:
            words += ["-x", setting]
        return words


def draw_setting(numbers, ranks):
    # Ranks that only poll crawl where there are more of them than cores.
    waits = [wait for wait in WAITS if wait != "poll" or ranks <= 2]
    more = []
    if numbers.random() < 0.15:
        more.append("MEANTIME_EAGER_LIMIT=" + numbers.choice(("64", "1K", "128K")))
    if numbers.random() < 0.1 and "MEANTIME_EAGER_LIMIT=128K" not in more:
        more.append("MEANTIME_EAGER_PAIR=64K")
    threads = numbers.random() < 0.4
    if threads and numbers.random() < 0.2:
        more.append("MEANTIME_TEST_ALWAYS_MOVE=1")
    return Setting(threads, numbers.choice(waits), numbers.choice(("0", "1", "1")), more)


class Fuzzer:
    def __init__(self, options):
        self.options = options
        self.program = os.path.join(options.build, "tests/fuzz/fuzz")
        self.mpiexec = os.path.join(options.build, "bin/mpiexec")

    def execute(self, command, library=None):
        """(status, lines): status is "timeout" if it was not over."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("MEANTIME_", "MPIEXEC_TIMEOUT", "MPIR_CVAR_"))}
        environment.pop("LD_LIBRARY_PATH", None)
        # Not the user's own (as cmake/MeantimeTests.cmake for CTest).
        environment["XDG_CACHE_HOME"] = os.path.join(os.path.abspath(self.options.build), "tests/cache")
        self.said = ""
        if library:
            environment["LD_LIBRARY_PATH"] = library
        try:
            done = subprocess.run(["timeout", "-k", "5", str(self.options.limit), *command],
                                  env=environment, stdin=subprocess.DEVNULL, text=True,
                                  errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=self.options.limit + 30)
        except subprocess.TimeoutExpired:
            return "timeout", []
        self.said = done.stderr[-3000:]
        if done.returncode == 0 and not done.stdout.endswith("finished\n"):
            return "unfinished", []
        status = "timeout" if done.returncode == 124 else done.returncode
        return status, done.stdout.splitlines()

    def ours(self, ranks, words, setting):
        return self.execute([self.mpiexec, *setting.words(), "-n", str(ranks), self.program, *words],
                            os.path.join(self.options.build, "lib"))

    def theirs(self, ranks, words):
        return self.execute([os.path.join(self.options.oracle, "bin/mpiexec"), "-n", str(ranks),
                             self.program, "--plain", *words],
                            os.path.join(self.options.oracle, "lib"))

    def failure(self, ranks, words, setting):
        """Why this program fails on ours, or None. The oracle's own failures are no reason."""
        status, lines = self.ours(ranks, words, setting)
        if status != 0:
            return f"status {status}: {' '.join(self.said.split())[:300]}"
        expected = None
        if self.options.oracle:
            their_status, expected = self.theirs(ranks, words)
            if their_status != 0:
                self.oracle_failed += 1
                expected = None
        if expected is None:  # ourselves, in the plainest way
            plain_status, expected = self.ours(ranks, ["--plain", *words], Setting(False, "adaptive"))
            if plain_status != 0:
                return f"status {plain_status} with --plain: {' '.join(self.said.split())[:300]}"
        if lines == expected:
            return None
        first = next((a for a, b in zip(lines, expected) if a != b), "fewer lines")
        return "another digest at " + " ".join(first.split()[:2])

    def operations(self, ranks, words):
        """All of the program's operations, also of one that crashes."""
        status, lines = self.ours(ranks, [*words, "--list"], Setting(False, "adaptive"))
        return [line.split()[0] for line in lines if line[0].isdigit()] if status == 0 else []

    def shrink(self, ranks, words, setting):
        """The smallest program that still fails, as far as a limited number of tries finds it."""
        nodes = [int(more.partition("=")[2]) for more in setting.more if more.startswith("MEANTIME_TEST_NODES=")]
        for fewer in range(max(nodes, default=1), ranks):
            if self.failure(fewer, words, setting):
                ranks = fewer
                break
        kept = self.operations(ranks, words)
        part, tries = max(len(kept) // 2, 1), 0
        while kept and tries < self.options.tries:
            at, smaller = 0, False
            while at < len(kept) and tries < self.options.tries:
                rest = kept[:at] + kept[at + part:]
                tries += 1
                if rest and self.failure(ranks, [*words, "--only=" + ",".join(rest)], setting):
                    kept, smaller = rest, True
                else:
                    at += part
            if part == 1 and not smaller:
                break
            part = max(part // 2, 1)
        only = ["--only=" + ",".join(kept)] if kept else []
        return ranks, [*words, *only]

    def draw(self, seed):
        """The program of a seed and how it runs on ours."""
        numbers = random.Random(seed)
        ranks = numbers.choice(RANKS) if self.options.ranks is None else self.options.ranks
        steps = 12 if ranks <= 4 else 8 if ranks <= 8 else 4
        words = [f"--seed={seed}", f"--steps={steps}"]
        if numbers.random() < 0.5:
            words.append("--limit=" + numbers.choice(("300", "20000", "100000")))
        setting = draw_setting(numbers, ranks)
        share = 1 if self.options.nodes else 0 if self.options.expect else 0.25
        if ranks > 1 and numbers.random() < share:
            setting.more.append(f"MEANTIME_TEST_NODES={min(numbers.choice((2, 2, 3, 4)), ranks)}")
        return ranks, words, setting

    def record(self):
        """Writes what the oracle prints for the first seeds with which it does not fail itself."""
        with open(SEEDS, "w") as file:
            seed, left = 0, self.options.record
            while left:
                seed += 1
                ranks, words, _ = self.draw(seed)
                status, lines = self.theirs(ranks, words)
                if status == 0:
                    print(digest_of(lines), ranks, *words, file=file)
                    left -= 1
        return 0

    def expect(self):
        """Runs what was recorded, as processes and as threads."""
        failed = done = 0
        with open(SEEDS) as file:
            recorded = [line.split() for line in file]
        for line in recorded:
            digest, ranks, words = line[0], int(line[1]), line[2:]
            _, _, setting = self.draw(int(words[0].partition("=")[2]))
            for setting.threads in (False, True) if self.options.threads else (False,):
                status, lines = self.ours(ranks, words, setting)
                done += 1
                if status != 0 or digest_of(lines) != digest:
                    failed += 1
                    why = f"status {status}: {self.said}" if status != 0 else "another result"
                    print(f"{why}: mpiexec {' '.join(setting.words())} -n {ranks} fuzz {' '.join(words)}")
        print(f"{done - failed} of {done} runs are as recorded")
        return 1 if failed or not done else 0

    def one(self, seed):
        ranks, words, setting = self.draw(seed)
        why = self.failure(ranks, words, setting)
        if why is None:
            return True
        print(f"seed {seed}, {ranks} ranks: {why}", flush=True)
        if self.options.tries:
            ranks, words = self.shrink(ranks, words, setting)
        command = [self.mpiexec, *setting.words(), "-n", str(ranks), self.program, *words]
        print(f"  {self.failure(ranks, words, setting) or 'passes when repeated'}")
        print("  repeat: " + " ".join(command), flush=True)
        return False

    def run(self):
        options, failed, done = self.options, 0, 0
        self.oracle_failed, self.said = 0, ""
        if options.record:
            return self.record()
        if options.expect:
            return self.expect()
        if options.seeds:
            first, _, last = options.seeds.partition("-")
            seeds = iter(range(int(first), int(last or first) + 1))
        else:
            start = options.start if options.start is not None else random.SystemRandom().randrange(10**9)
            seeds = iter(range(start, start + 10**9))
        end = time.monotonic() + options.seconds if not options.seeds else None
        for seed in seeds:
            if end is not None and time.monotonic() > end:
                break
            failed += not self.one(seed)
            done += 1
        print(f"{done - failed} of {done} programs agree" +
              (f"; the oracle failed in {self.oracle_failed} runs" if self.oracle_failed else ""))
        return 1 if failed or not done else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--oracle", help="without: our runs are compared with each other")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seeds", help="FIRST-LAST instead of new ones")
    parser.add_argument("--start", type=int, help="the first seed of a timed run")
    parser.add_argument("--ranks", type=int, help="always as many")
    parser.add_argument("--nodes", action="store_true", help="all programs over several nodes")
    parser.add_argument("--limit", type=int, default=60, help="seconds for one run")
    parser.add_argument("--tries", type=int, default=60, help="runs to make a failure smaller")
    parser.add_argument("--record", type=int, help="so many seeds")
    parser.add_argument("--expect", action="store_true")
    parser.add_argument("--threads", action="store_true", help="with --expect: as threads, too")
    return Fuzzer(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
