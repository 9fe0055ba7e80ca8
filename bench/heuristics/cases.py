"""What is run, under which load, and what each heuristic is tried by."""
import fnmatch
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HEADER = ROOT / "src/base/heuristics.h"


BUSY = {"loaded": 1, "overloaded": 5}  # loops a CPU


@dataclass(frozen=True)
class Case:
    """A row of a benchmark. `key`: p is for process ranks, t for thread ranks."""
    key: str
    program: str
    words: str
    row: str  # name of the row
    value: str  # of the row

    @property
    def ranks(self):
        return int(re.search(r"\.[pt](\d+)", self.key)[1])

    @property
    def threads(self):
        return re.search(r"\.t\d", self.key) is not None

    @property
    def waits(self):
        """mpiexec's options that say how to wait."""
        return ("--wait", "event") if self.key.endswith(" event") else ()

    @property
    def load(self):
        return next((load for load in ("1 core", *BUSY) if self.key.endswith(" " + load)), "quiet")

    def __str__(self):
        return f"{self.key.split('.')[0]}, {self.ranks} {'threads' if self.threads else 'processes'}" + (
            "" if self.load == "quiet" else f", {self.load}") + (", `event`" if self.waits else "")


def _of_turns(where):
    """Of single turns the median, unless somebody else takes the core in some of them."""
    return "median" if where.isalnum() else "mean"


def _ping(bytes_, where):
    return Case(f"ping-pong {bytes_}.{where}", "bench/latency", f"--buffers 1 --bytes {bytes_}", "ping-pong", _of_turns(where))


def _window(bytes_, where):
    return Case(f"window {bytes_}.{where}", "bench/bandwidth", f"--ways one --bytes {bytes_}", "bandwidth", "median")


def _many(operation, bytes_, where):
    size = "" if operation in ("barrier", "halo", "random") else f" {bytes_}"
    words = f"--operations {operation} --communicators world --bytes {bytes_ or '1K'}"
    return Case(f"{operation}{size}.{where}", "bench/oversubscription", words + " --random-operations 60", operation, "median")


def _unlike(name, where):
    return Case(f"{name}.{where}", "bin/meantime-imbalance", f"--programs {name} --us 50 --steps 60", name, "median")


def _late(name, words, where):
    return Case(f"{name}.{where}", "bin/meantime-libra", f"--bytes 8 --place free --iterations 100 {words}", "round trip", "median")


def _looks(name, where, loop="", words=""):
    return Case(f"{name}.{where}", "bench/looks", f"--loops {loop or name} {words}", loop or name, _of_turns(where))


CASES = [
    *(_ping("8", where) for where in ("p2", "p2 1 core", "p2 loaded", "p2 overloaded", "t2")),
    *(_ping(size, "p2") for size in ("16K", "64K", "1M")),
    *(_window(*one) for one in (("8", "p2"), ("64K", "p2"))),
    *(_many("barrier", "", where) for where in ("p2", "p2 loaded", "p2 overloaded", "p8", "p8 1 core", "p8 loaded", "p64", "t64", "t64 loaded",
                                                 "t256")),
    *(_many("halo", "", where) for where in ("p2", "p2 loaded", "p8", "p8 1 core", "p8 loaded", "p64", "t64", "t64 loaded")),
    *(_many("random", "", where) for where in ("p2", "p2 loaded", "p8", "p8 loaded", "t64")),
    *(_many(*one) for one in (("allreduce", "8", "p8"), ("allreduce", "8", "t64"), ("allreduce", "1M", "t16"),
                              ("alltoall", "64K", "p16"), ("alltoall", "64K", "t16"), ("alltoall", "1M", "t8"), ("alltoall", "256K", "t16"),
                              ("allgather", "256K", "t16"), ("bcast", "1M", "t16"), ("scatter", "64K", "t16"), ("bcast", "1M", "t4"))),
    *(_unlike(*one) for one in (("heavy", "t16"), ("heavy", "t16 loaded"), ("hotspot", "t64"), ("hotspot", "p8"))),
    *(_late("late 100 us", "--delays 100", where) for where in ("p2", "p2 loaded")),
    _late("late 1 ms", "--delays 1000", "p2"),
    _late("predicted", "--delays 300 --delay jitter --mode predicted", "p2"),
    _late("predicted bimodal", "--delays 500 --delay bimodal --mode predicted", "p2"),
    *(_looks("late", where) for where in ("p2", "p2 1 core", "p8", "t8")),
    *(_looks("steps", where) for where in ("p2", "p8")),
    *(_looks(*one) for one in (("naps", "t2"), ("naps", "t8"), ("flood", "p8"), ("flood", "t8"))),
    *(_looks("tests 5 ms", where, "late", "--late-us 5000") for where in ("p2", "p2 event", "p8")),
]

FEW = "ping-pong 8.p2*, barrier.p2*, halo.p2*, random.p2*, late *"
CROWD = ("ping-pong 8.p2 1 core, barrier.p8*, barrier.p64, halo.p8*, halo.p64, random.p8*, hotspot.p8, allreduce 8.p8, "
         "alltoall 64K.p16")
THREADS = "barrier.t*, halo.t*, random.t64, hotspot.t64, heavy.t*, allreduce 8.t64"
SMALL = "ping-pong 8.p2, window 8.p2"
TRIED_BY = {  # patterns of keys; "late 100 us" is who waits in Recv, "late" who loops around Test
    "patience": f"{FEW}, hotspot.t64, heavy.t*, random.t64",
    "few_looks": "late *, random.p*, hotspot.p8, halo.p2*",
    "contention": "*.p2 loaded, heavy.t16 loaded",
    "yields": CROWD,
    "yield_skips": CROWD,
    "yield_savings": "ping-pong 8.p2 1 core, halo.p8*, halo.p64, random.p8*, hotspot.p8",
    "polling_yields": FEW,
    "spreading": f"{SMALL}, ping-pong 8.p2*loaded, barrier.p2*loaded, barrier.p2, random.p2",
    "test_yields": "late.*, steps.*",
    "crowd_looks": CROWD,
    "naps": "late.*, tests 5 ms.*, steps.*",
    "nap_work": "late.p*, steps.*",
    "windows": "predicted*",
    "lateness": "predicted*",
    "route": "ping-pong 16K.p2, ping-pong 64K.p2, ping-pong 1M.p2, window 64K.p2",
    "eager_ring": f"{SMALL}, ping-pong 8.p2 loaded, halo.p2*",
    "private_receives": f"{SMALL}, halo.p2*, flood.p8",
    "lanes": "flood.*",
    "gathering": "barrier.t*, allreduce 8.t64",
    "exposed_alltoall": "alltoall *",
    "exposed_allgather": "allgather *",
    "exposed_bcast": "bcast *",
    "exposed_scatter": "scatter *",
    "exposed_inputs": "allreduce 1M.t16",
    "past_caches": "alltoall *, allgather *, bcast *",
    "return_savings": "naps.*",
    "strays_home": "barrier.t64*, halo.t64*, hotspot.t64, heavy.t*",
    "warm_up": "barrier.t*, halo.t64, allreduce 8.t64",
    "sampling": f"{SMALL}, ping-pong 8.t2, barrier.t64, halo.t64",
    "steal": THREADS,
    "wake_up_cost": FEW,
}


@dataclass(frozen=True)
class Variant:
    """Everything but one heuristic. Some can be left out by a setting or an option of mpiexec."""
    name: str
    with_it: str = ""
    without: str = ""
    environment: tuple = ()
    words: tuple = ()

    def tries(self, case):
        return any(fnmatch.fnmatchcase(case.key, pattern) for pattern in TRIED_BY[self.name].split(", "))


def heuristics():
    """Of the header, in its order, which is that of their bits."""
    enum = re.search(r"enum class Heuristic .*?\{(.*?)\};", HEADER.read_text(encoding="utf-8"), re.DOTALL)[1]
    for bit, (name, text) in enumerate(re.findall(r"(\w+), *///< (.*(?:\n *///<? ?.*)*)", enum)):
        with_it, _, without = re.sub(r"\s*\n *///<? ?", " ", text).partition("; ")
        yield Variant(name, with_it, without, (("MEANTIME_TEST_WITHOUT", hex(1 << bit)),))


def variants():
    yield from heuristics()
    yield Variant("steal", "a worker with nothing to run takes a rank of another one", "none moves", words=("--balance", "none"))
    yield Variant("wake_up_cost", "what a wake-up costs is measured at start", "33 us", (("MEANTIME_WAKE_UP_COST", "33"),))
