"""Who sends messages between two ranks of different nodes here, and how each is started: over TCP on the loopback, at ordinary
priority, with default settings but for what keeps its ranks from sharing memory.

A *figure* is what one run says of one thing: (name, keys) -> rows.Sample.
"""
from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from comparison import launch, measure, peers, programs  # noqa: E402
from comparison.rows import Sample  # noqa: E402

LIMIT = 60  # seconds for one run
WITHOUT_SHARED_MEMORY = {
    "openmpi": (
        peers.Setting("TCP", ("--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo")),
        peers.Setting("UCX", ("--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"),
                      (("UCX_TLS", "tcp,self"),))),
    "mpich": (peers.Setting("", (), (("MPIR_CVAR_NOLOCAL", "1"), ("UCX_TLS", "tcp,self"), ("FI_PROVIDER", "tcp"))),),
}
WINDOWS = {"8": "64", "64K": "64", "1M": "16", "16M": "4"}
UCX_TURNS = {"8": 150000, "64K": 6000, "1M": 600, "16M": 40}  # some 0.3 s


class Failed(RuntimeError):
    pass


def size_of(text):
    return int(text.rstrip("KM")) * {"K": 1 << 10, "M": 1 << 20}.get(text[-1], 1)


def shown(command, variables=()):
    """As it is typed."""
    words = [Path(word).name if word.startswith("/") else word for word in map(str, command)]
    return " ".join([*(f"{name}={value}" for name, value in variables), shlex.join(words)])


class Contestant:
    """One program, by one MPI or by none."""

    def __init__(self, name, command, environment=None, variables=()):
        self.name, self.command = name, [str(word) for word in command]
        self.environment, self.variables = environment, tuple(variables)

    def __str__(self):
        return shown(self.command, self.variables)

    def run(self):
        environment = {**(self.environment or peers.os.environ), **dict(self.variables)}
        outcome = launch.run([*self.command, "--json"], LIMIT, environment)
        found = dict(self.figures(outcome.output))
        if outcome.timed_out or outcome.status or not found:
            raise Failed(f"{self}: {outcome.errors.strip() or outcome.status}")
        return found

    @staticmethod
    def figures(output):
        for line in output.splitlines():
            row = json.loads(line).get("row") if line.startswith("{") else None
            if row is None:
                continue
            name, unit, *values = (row[key] for key in ("name", "unit", "median", "p99", "max", "samples"))
            keys = {key: row[key] for key in ("bytes", "way", "late_us", "connections") if key in row}
            yield (name, *keys.items()), Sample(unit, *values)
            if "waiting_cpu_share" in row:  # libra
                share = row["waiting_cpu_share"]
                yield ("waiting CPU", *keys.items()), Sample("of a core", share, share, share, 1)


class Perftest:
    """ucx_perftest: a process a test. Of tag_bw both as it is by default and with as large a window; the better."""
    name = "ucx_perftest"
    variables = (("UCX_TLS", "tcp"),)

    def __str__(self):
        return "; ".join(shown(["ucx_perftest", "127.0.0.1", "-c", "0", "-t", *test], self.variables)
                         for test in (("tag_lat", "-s", "8"), ("tag_bw", "-s", "8"), ("tag_bw", "-s", "8", "-O", "64")))

    def run(self):
        found = {("ping-pong", ("bytes", 8)): self.sample(["-t", "tag_lat", "-s", "8"], 30000, 1, lambda value: ("us", value))}
        for size, window in WINDOWS.items():
            bytes_ = size_of(size)
            of_rate = lambda rate, size=bytes_: ("1e6/s", rate / 1e6) if size <= 1024 else ("MB/s", rate * size / 1e6)  # noqa: E731
            samples = [self.sample(["-t", "tag_bw", "-s", str(bytes_), *more], UCX_TURNS[size], -1, of_rate)
                       for more in ((), ("-O", window))]
            found["stream", ("bytes", bytes_)] = max(samples, key=lambda sample: sample.median)
        return found

    def sample(self, test, turns, column, of):
        outcome = measure.ucx_perftest([*test, "-n", str(turns), "-w", str(max(2, turns // 10))], dict(self.variables), LIMIT)
        value = measure.ucx_figure(outcome.output, column)
        if outcome.timed_out or outcome.status or value is None:
            raise Failed(f"{self}: {outcome.errors.strip() or outcome.status}")
        unit, value = of(value)
        return Sample(unit, value, None, None, turns)


class Everybody:
    """By what they do: lists of contestants that are named as page.PARTS."""

    def __init__(self, prefix, work, with_peers, seconds):
        self.ours = peers.meantime(prefix) or sys.exit(f"{prefix}: no Meantime there")
        self.work, self.seconds = Path(work), seconds
        others = []
        for peer in peers.installed_peers() if with_peers else ():
            for setting in WITHOUT_SHARED_MEMORY[peer.key]:
                others.append((f"{peer.name}{', ' if setting.name else ''}{setting.name}", peer, setting))
        self.messages = [self.meantime("Meantime", 2, 2),
                         self.meantime("Meantime `poll`", 2, 2, "--wait", "poll", words=("--operations", "ping-pong")),
                         *(self.of_peer(name, peer, setting, 2, "--seconds", seconds) for name, peer, setting in others)]
        self.messages += [Perftest()] if with_peers and shutil.which("ucx_perftest") else []
        bare = programs.compile_bare(["tcp", "wake"], self.work)
        self.probing = Contestant("", [bare["wake"], "--ways", "poll", "--places", "two", "--seconds", "0.02"])
        late = ("--bytes", "8", "--delays", "1000", "--seconds", seconds)
        libra = programs.compile_mpi(self.ours, ["libra"], self.work)["libra"]
        self.late = [Contestant("TCP and epoll", [bare["tcp"], "--seconds", seconds])]
        self.late += [Contestant(f"Meantime `{mode}`", [self.ours.mpiexec, "-n", "2", libra, "--mode", mode, *late],
                                 self.ours.environment(), [("MEANTIME_TEST_NODES", "2")]) for mode in ("poll", "event")]
        pair = ("--operations", "ping-pong", "--pair", "0,1")
        self.local = [self.meantime(f"`{way}`, {count}", 2 * nodes, nodes, "--wait", way, words=pair)
                      for way in ("adaptive", "event") for nodes, count in ((1, "one node"), (2, "two nodes"))]
        barrier = ("--operations", "barrier")
        self.barriers = [self.meantime(name, ranks, 4, "--as", kind, words=barrier)
                         for name, kind, ranks in (("4 process ranks", "processes", 4), ("64 thread ranks", "threads", 64))]
        overlap = programs.compile_mpi(self.ours, ["overlap"], self.work)["overlap"]
        self.overlap = [Contestant(name, [self.ours.mpiexec, "--as", "threads", "-n", str(2 * ranks), overlap, "--per-core", str(ranks),
                                          "--bytes", "1M", "--compute-us", "4000"], self.ours.environment(),
                                   [("MEANTIME_TEST_NODES", "2"), ("MEANTIME_HELPER", helper)])
                        for name, ranks, helper in (("one rank, helper off", 1, "off"), ("one rank, helper on", 1, "on"),
                                                    ("two ranks, helper off", 2, "off"))]
        self.memory = [self.meantime("Meantime", 64, 2, "--wait", "event", words=("--operations", "connections"))]
        if endpoints := self.endpoints():
            self.memory.append(Contestant("UCX alone", [endpoints, "--connections", "32"], None, [("UCX_TLS", "tcp,self")]))

    def probe(self):
        """Microseconds that a word in memory takes from the first CPU to the last."""
        return next(iter(self.probing.run().values())).median

    def program(self, implementation):
        return programs.compile_mpi(implementation, ["network"], self.work)["network"]

    def meantime(self, name, ranks, nodes, *options, words=()):
        words = (self.program(self.ours), *words, "--seconds", self.seconds)
        return Contestant(name, [self.ours.mpiexec, *options, "-n", ranks, *words],
                          self.ours.environment(), [("MEANTIME_TEST_NODES", str(nodes))] if nodes > 1 else ())

    def of_peer(self, name, peer, setting, ranks, *words):
        return Contestant(name, peer.command(ranks, [self.program(peer), *words], setting), peer.environment(setting),
                          setting.environment)

    def endpoints(self):
        target = self.work / "bare" / "endpoints"
        try:
            programs.compile_one(peers.os.environ.get("CXX", "c++"), ["-std=c++17", "-O2"], "network/endpoints.cpp", target,
                                 ["-lucp", "-lucs"])
        except programs.CompileError as error:
            print(str(error).splitlines()[0], file=sys.stderr)
            return None
        return target
