#!/usr/bin/env python3
"""The matrix of the MPI behaviour tests: which program runs with which ranks and settings.

    catalogue.py --cmake BUILD_KIND      lines for CTest (tests/mpi/CMakeLists.txt includes them)
    catalogue.py --run --programs DIR    runs them without CTest; --oracle PREFIX on MPICH's library
    catalogue.py --matrix                docs/internals/test-matrix.md: what there is to run
    catalogue.py --table RESULT.xml      the same of what was run, from CTest's --output-junit

Tiers: quick (`make test`) covers, for each program, every number of ranks, every way of waiting and
cross-memory attach on and off, and each pair of ranks and waiting over all programs; full (label
`slow`) is the whole product. Sanitizer builds run a sample at 2 and 4 ranks.
"""
import argparse
import itertools
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import foreign_files  # noqa: E402  (beside this folder)
import run_mpi_test  # noqa: E402

RANKS = (1, 2, 3, 4, 7, 16)
WAITS = ("poll", "yield", "event", "adaptive")
# Those that are the same code with other numbers, or with a timer: for programs about waiting.
ALL_WAITS = WAITS + ("predicted", "ade", "overprovisioned")
CROSS_MEMORY = ("0", "1")


class Program:
    """One entry. `ranks`: with how many it makes sense. `arguments(ranks, wait)`: smaller work where
    the plain one takes too long. `seconds`: time limit of a release build. `crawls`: has smaller
    work for polling with more ranks than cores. `on_oracle`: not where it takes minutes there."""

    def __init__(self, name, ranks=RANKS, arguments=lambda ranks, wait: [], seconds=60, alone=False,
                 full_only=False, sanitizers=("asan", "tsan"), folder="mpi", label="", extra=(),
                 waits=WAITS, crawls=False, on_oracle=True):
        self.name, self.ranks, self.arguments, self.seconds = name, ranks, arguments, seconds
        self.alone, self.full_only, self.sanitizers = alone, full_only, sanitizers
        self.folder, self.label, self.extra = folder, label, tuple(extra)
        self.waits, self.crawls, self.on_oracle = waits, crawls, on_oracle

    def title(self):
        return self.name + (f".{self.label}" if self.label else "")


def smaller(*arguments):
    """Other arguments where the program crawls: polling with more ranks than cores."""
    return lambda ranks, wait: list(arguments) if wait == "poll" and ranks > 3 else []


def limited(limit):
    """Collectives with more ranks: smaller sizes."""
    return lambda ranks, wait: [f"--limit={limit}"] if ranks > 4 else []


PROGRAMS = [
    Program("pt2pt_modes"),
    Program("pt2pt_order"),
    Program("pt2pt_probe"),
    Program("pt2pt_completion", crawls=True, arguments=smaller("--rounds=1")),
    Program("pt2pt_persistent"),
    Program("partitioned"),
    Program("tools_interface", ranks=(1, 2)),
    Program("profiling"),
    Program("pt2pt_cancel"),
    Program("pt2pt_truncate"),
    Program("pt2pt_sendrecv", crawls=True, arguments=smaller("--limit=300")),
    Program("pt2pt_bsend"),
    Program("pt2pt_buffers"),
    Program("pt2pt_large"),
    Program("datatype_constructors", ranks=(1,), waits=WAITS[:1]),
    Program("datatype_pack", ranks=(1,), waits=WAITS[:1]),
    Program("reduce_local", ranks=(1,), waits=WAITS[:1]),
    Program("datatype_messages"),
    Program("coll_rooted", arguments=limited(40000), seconds=120),
    Program("coll_all", arguments=limited(40000), seconds=120),
    Program("coll_reduce", arguments=limited(16384), seconds=120),
    Program("coll_ops"),
    Program("coll_user_ops"),
    Program("coll_random", crawls=True, arguments=smaller("--operations=60")),
    Program("coll_meetings"),
    Program("coll_inter"),
    Program("coll_neighbor"),
    Program("traffic", seconds=120),
    Program("traffic", label="long", full_only=True, seconds=600,
            arguments=lambda ranks, wait: ["--rounds=40", "--seed=2"]),
    Program("threads_pt2pt", seconds=120),
    Program("threads_test_loops", seconds=120),
    Program("threads_sleepers", seconds=120),
    Program("threads_coll", seconds=120),
    Program("communicators"),
    Program("comm_intercommunicators"),
    Program("comm_groups"),
    Program("comm_sessions"),
    Program("comm_sessions_again", ranks=(1, 2)),
    # MPICH's ranks poll: three of them beside other work on two CPUs take minutes for it.
    Program("comm_sessions_again", label="more", ranks=(3, 4), on_oracle=False),
    Program("comm_endless", crawls=True, arguments=smaller("--rounds=20")),
    Program("comm_million", ranks=(1, 2, 4)),
    Program("comm_million", label="million", ranks=(2,), waits=("adaptive",), seconds=300,
            sanitizers=(), on_oracle=False, arguments=lambda ranks, wait: ["--loops=1000000"]),
    Program("topo_graphs"),
    Program("cartesian"),
    Program("attributes", crawls=True),
    Program("windows", extra=["--env", "MEANTIME_MISSING_CALLS=error"]),
    Program("errors", crawls=True),
    Program("errors_initial", ranks=(1, 2, 4), on_oracle=False,  # MPICH has no such option
            extra=["--mpiexec-argument=-initial-errhandler", "--mpiexec-argument=mpi_errors_return"]),
    Program("errors_arguments", crawls=True),
    Program("errors_buffers"),
    # MPICH checks other things; the sanitizers see it look at memory that is freed.
    Program("errors_stale", ranks=(1, 2), on_oracle=False, sanitizers=()),
    Program("errors_arrays"),
    Program("errors_unchecked", on_oracle=False, extra=["--env", "MEANTIME_CHECKS=0"]),
    # Exceptions and pthread_exit through C frames, which the sanitizers' runtimes unwind in their own way.
    Program("callbacks_throw", sanitizers=()),
    Program("threads_callbacks", ranks=(1, 2, 4), sanitizers=()),
    Program("environment", crawls=True),
    Program("environment_info", ranks=(1, 2, 4)),
    Program("environment_info", label="kinds", ranks=(1, 2), on_oracle=False,
            arguments=lambda ranks, wait: ["cuda,mpi:win_allocate", "mpi,system,mpi:win_allocate"],
            extra=["--mpiexec-argument=-memory-alloc-kinds", "--mpiexec-argument=cuda,mpi:win_allocate"]),
    Program("affinity", ranks=(2, 4), waits=("yield", "adaptive")),
    Program("wait_late", waits=("predicted", "ade", "event")),
    Program("progress"),
    Program("clocks", ranks=(1, 2, 4), sanitizers=("asan", "tsan")),
    # It counts page faults, of which ThreadSanitizer makes as many as it likes.
    Program("counters", ranks=(1, 2, 4), sanitizers=("asan",)),
    Program("counters_migrations", ranks=(1, 2)),
    Program("memory_unexpected", seconds=240),
    Program("coll_bottom"),
    Program("finalize_sends", ranks=RANKS[1:]),
    # MPICH does not stay in MPI_Finalize for it.
    Program("finalize_receives", ranks=RANKS[1:], on_oracle=False),
    Program("finalize_attributes"),
    Program("threads_bsend", ranks=(1, 2, 4)),
    # MPICH crashes: its collectives do not hold them either.
    Program("threads_free", ranks=(2, 4), on_oracle=False, sanitizers=()),
    Program("threads_sessions", ranks=(1, 2, 4)),
    Program("threads_sessions", label="more", ranks=(2, 4), arguments=lambda ranks, wait: ["--more"]),
    Program("pt2pt_fairness", ranks=RANKS[1:], crawls=True, arguments=smaller("--messages=50")),
    Program("coll_layouts", arguments=limited(2000), seconds=120),
    Program("coll_exposed", arguments=limited(8192), seconds=120, extra=["--env", "MEANTIME_TEST_ATTACHES=1"]),
    Program("coll_long", ranks=(2, 4, 7), seconds=120),
    Program("coll_exposed", label="refused", ranks=(2, 4, 7), arguments=limited(8192), seconds=120,
            on_oracle=False, extra=["--env", "MEANTIME_TEST_ATTACHES=1", "--env", "MEANTIME_FAULT_CMA_AFTER=20"]),
    Program("pt2pt_overflow", ranks=RANKS[1:], crawls=True, arguments=smaller("--messages=1500"), seconds=120),
    Program("threads_overflow", ranks=(2, 4), seconds=120),
    Program("memory_unexpected", label="million", ranks=(2, 16), waits=("adaptive",), seconds=600,
            full_only=True, sanitizers=(),
            arguments=lambda ranks, wait: ["--messages=1000000", "--isends=100000"]),
    Program("pt2pt_computing", seconds=120, arguments=lambda ranks, wait: ["--rounds=6"] if ranks > 4 else []),
]


def deadlock(case, *patterns, ranks=(2, 4, 16), waits=("event", "adaptive"), **more):
    """A real deadlock: ends at once with status 125, and the list has lines like these. Who polls or
    yields is seen to wait for ever after a second, when it sleeps at last. A line may be about several
    ranks, of which the pattern's is the first or second."""
    extra = ["--expect", "125", "--within", "8"]
    for pattern in patterns:
        extra += ["--output-has", re.sub(r"^rank (\d) ", r"ranks? (0-\\d+|\1)[ :,-]", pattern)]
    return Program("deadlock", folder="hang", label=case, ranks=ranks, seconds=30, extra=extra,
                   arguments=lambda ranks, wait: [case], waits=waits,
                   sanitizers=("asan",), **more)


def perhaps_deadlock(case, *patterns):
    """What may be one: that is told, and goes on, so that --timeout has to end it."""
    extra = ["--env", "MEANTIME_TEST_STILL=2", "--mpiexec-argument=--timeout", "--mpiexec-argument=10", "--expect", "124",
             "--output-has", "perhaps a deadlock: for 2 s .*ranks 0-1 have", "--output-has", "mpiexec: the job goes on"]
    for pattern in patterns:
        extra += ["--output-has", pattern]
    return Program("deadlock", folder="hang", label=case, ranks=(2,), seconds=30, extra=extra,
                   arguments=lambda ranks, wait: [case], waits=("event", "adaptive"), sanitizers=())


def no_deadlock(case, ranks=(2, 4), extra=(), waits=WAITS, label=""):
    return Program("no_deadlock", folder="hang", label=f"{case}_{label}" if label else case, ranks=ranks, seconds=60, waits=waits,
                   extra=["--output-lacks", "for ever", *extra], sanitizers=("asan",),
                   arguments=lambda ranks, wait: [case, "--seconds=5"])


def death(way, status, *patterns, ranks=(2, 4, 16), within=8, extra=(), arguments=()):
    words = ["--expect", status, "--within", str(within), *extra]
    for pattern in patterns:
        words += ["--output-has", pattern]
    return Program("death", folder="death", label=way, ranks=ranks, seconds=30, extra=words,
                   arguments=lambda ranks, wait: [way, *arguments], sanitizers=())


# Of a list's line: rank, call, peer, tag, communicator, for how long.
WORLD = "on MPI_COMM_WORLD"
PROGRAMS += [
    deadlock("recv_recv", rf"rank 0 .*MPI_Recv .*rank 1, tag 10 {WORLD}.* s$",
             rf"rank 1 .*MPI_Recv .*tag 11 {WORLD}", waits=WAITS),
    deadlock("missing_send", rf"rank 0 .*MPI_Recv .*rank 1, tag 7 {WORLD}", "rank 1 .*[Ff]inali"),
    deadlock("missing_send_after_traffic", rf"MPI_Recv .*rank 0, tag 7 {WORLD}"),
    deadlock("barrier_without_one", rf"rank 0 .*MPI_Recv .*rank 1, tag 3 {WORLD}",
             "rank 1 .*MPI_Barrier", waits=WAITS),
    deadlock("ssend_cycle", rf"rank 0 .*MPI_Ssend .*rank 1, tag 5 {WORLD}"),
    deadlock("large_send_cycle", rf"rank 0 .*MPI_Send .*rank 1, tag 5 {WORLD}", r"all wait in sends .* call MPI_Sendrecv"),
    deadlock("mismatched_tags", r"rank 1 .*MPI_Recv .*rank 0, tag 1001"),
    deadlock("mismatched_communicators", r"rank 1 .*MPI_Recv .*rank 0, tag 8 on "),
    deadlock("named_communicator",
             r"rank 0 .*MPI_Recv for rank 3, tag 12 on communicator 'a rather long name: eighty "
             r"characters of it are shown' \(rank 0 there\)", ranks=(4,)),
    deadlock("wildcard", rf"rank 0 .*MPI_Recv for any rank, any tag {WORLD}"),
    deadlock("probe", rf"rank 0 .*MPI_Probe .*rank 1, tag 6 {WORLD}"),
    deadlock("waitall", rf"rank 0 .*MPI_Waitall for \d requests, the first for rank 1, tag \d+ {WORLD}"),
    deadlock("waitany", r"rank 0 .*MPI_Waitany"),
    deadlock("different_collectives", r"rank 0 .*MPI_Recv .*tag 2", r"rank 1 .*MPI_Allreduce"),
    deadlock("two_threads", r"rank 0 .*MPI_Recv", r"rank 1 .*MPI_Recv"),
    deadlock("thread_ends", r"rank 0 .*MPI_Recv .*rank 1, tag 9", "rank 1 .*[Ff]inali"),
    deadlock("main_thread_ends", r"rank 0 .*MPI_Recv .*rank 1, tag 31.* called from .*\(deadlock.cpp:", r"rank 1 .*MPI_Recv"),
    perhaps_deadlock("thread_joined", r"rank 0 .*MPI_Recv .*rank 1, tag 32"),
    perhaps_deadlock("team_idles", r"rank 1 .*MPI_Recv .*rank 0, tag 33"),
    deadlock("stopped_meanwhile", r"rank 0 .*MPI_Recv .*rank 1, tag 9", ranks=(2,)),
    deadlock("session_with_ended", "rank 1 .*MPI_Comm_create_from_group", "rank 0 .*[Ff]inali"),
    deadlock("session_with_ended_abruptly", "rank 1 .*MPI_Comm_create_from_group", "rank 0 .*[Ff]inali"),
    no_deadlock("thread_sends"),
    no_deadlock("thread_sends", label="told", extra=["--env", "MEANTIME_TEST_STILL=1", "--output-has",
                                                     "perhaps a deadlock: .*rank 0 has"]),
    no_deadlock("generalised_request"),
    no_deadlock("stopped_running"),
    no_deadlock("stopped_waiting"),
    no_deadlock("reads_input", extra=["--stdin-after", "5:hello"]),
    no_deadlock("computes"),
    no_deadlock("sleeps"),
    no_deadlock("finalized"),
    no_deadlock("between_sessions"),
    no_deadlock("test_loop"),
    no_deadlock("iprobe_loop"),
    death("segv", "139", "rank [0-9]+.*[Ss]egmentation fault"),
    death("kill", "137", "rank [0-9]+.*[Kk]illed"),
    death("term", "143", "rank [0-9]+.*[Tt]erminated"),
    death("abort", "134", "rank [0-9]+.*[Aa]borted"),
    death("throw", "134", "rank [0-9]+.*[Aa]borted"),
    death("exit", "3", "rank [0-9]+.*(status|code) 3"),
    death("exit0", "failure", "rank [0-9]+.*MPI_Finalize"),
    death("_exit", "4", "rank [0-9]+.*(status|code) 4"),
    death("return", "6", "rank [0-9]+.*(status|code) 6"),
    death("mpi_abort", "42", "rank [0-9]+.*MPI_Abort.*42"),
    death("abort_in_collective", "42", "rank [0-9]+.*MPI_Abort.*42"),
    death("mpi_abort_self", "43", "rank [0-9]+.*MPI_Abort.*43"),
    death("error", "failure", "MPI_ERR_COUNT|[Cc]ount"),
    death("thread", "137", "rank [0-9]+.*[Kk]illed"),
    death("after_finalize", "5"),
    death("in_a_session", "failure", "rank [0-9]+.*MPI_Session_finalize"),
    death("world_after_a_session", "failure", "rank [0-9]+.*MPI_Finalize"),
    death("world_in_a_session", "failure", "rank [0-9]+.*MPI_Barrier.*MPI_ERR_COMM.*MPI_COMM_WORLD.*MPI_Init"),
    death("computing", "failure", extra=["--kill-launcher-after", "1.5"]),
]


PROGRAMS += [
    Program("wait_random", label=wait, waits=(wait,), seconds=120, crawls=True,
            ranks=(2, 4, 7) if wait in WAITS else (2, 3, 16),
            arguments=smaller("--rounds=60", "--delay=100"))
    for wait in ALL_WAITS
] + [
    Program("wait_random", label="of_threads", waits=("event", "adaptive"), seconds=180, ranks=(2, 3),
            on_oracle=False,
            arguments=lambda ranks, wait: ["--threads=3", "--unmatched=1", "--rounds=60",
                                           "--delay=100"]),
]

PROGRAMS += [
    Program("hardware", ranks=(1, 2, 4)),
    Program("hardware", label="bound", ranks=(1, 2, 3, 4), waits=("adaptive",), on_oracle=False,
            extra=["--mpiexec-argument=--bind", "--mpiexec-argument=hwthread"],
            arguments=lambda ranks, wait: ["--bound=1"]),
    Program("errors_odd"),
    Program("pt2pt_get_status"),
    Program("large_forms", ranks=(1, 2, 3, 4), seconds=120),
    Program("coll_split", ranks=(2, 3, 4, 7), seconds=120),
    Program("coll_together", seconds=120),
    Program("coll_uneven", seconds=120),
    # 2 and 4 GiB at a time, of which only a few MiB are memory.
    Program("counts_beyond_int", ranks=(2,), waits=("adaptive", "yield"), seconds=240, sanitizers=()),
]


def makes_sense(program, ranks, wait):
    """A rank that only polls gives its core away once a tick: more of them than cores crawl, so only
    the programs that have smaller work for it run so."""
    return wait != "poll" or ranks <= 3 or program.crawls


def settings(program):
    """All combinations for a program, each with whether it is of the quick tier."""
    shift = PROGRAMS.index(program)
    for r, ranks in enumerate(RANKS):
        if ranks not in program.ranks:
            continue
        waits = [wait for wait in program.waits if makes_sense(program, ranks, wait)]
        for (w, wait), (c, cma) in itertools.product(enumerate(waits), enumerate(CROSS_MEMORY)):
            # One run per number of ranks; the way of waiting and cross-memory attach go round, a
            # step further with each program, so that all pairs come up.
            quick = (w == (r + shift) % len(waits) and c == (r + shift // len(WAITS)) % 2
                     and not program.full_only)
            yield ranks, wait, cma, quick


# As thread ranks: what needs MPI_THREAD_MULTIPLE (calls of MPI by other threads), or looks at the
# processor time of its process, cannot be.
ONLY_PROCESSES = {"threads_pt2pt", "threads_test_loops", "threads_sleepers", "threads_coll", "threads_bsend",
                  "threads_callbacks", "threads_sessions", "threads_overflow", "threads_free", "progress", "affinity",
                  "counters_migrations", "wait_late", "wait_random.of_threads", "deadlock.two_threads", "no_deadlock.thread_sends", "no_deadlock.thread_sends_told",
                  "deadlock.main_thread_ends", "deadlock.thread_joined", "deadlock.team_idles",
                  "no_deadlock.generalised_request", "hardware.bound"}


def thread_rank_runs():
    """(name, program, ranks, wait): two numbers of ranks for each program, one for those that hang or
    die; the ways of waiting go round."""
    for shift, program in enumerate(PROGRAMS):
        if program.full_only or {program.name, program.title()} & ONLY_PROCESSES:
            continue
        numbers = (4, (1, 2, 7, 16)[shift % 4]) if program.folder == "mpi" else ((4, 2, 16)[shift % 3],)
        for step, ranks in enumerate(numbers):
            ranks = ranks if program.folder == "mpi" or ranks in program.ranks else program.ranks[-1]
            if ranks in program.ranks:
                wait = WAITS[(shift + step) % 4] if program.waits == WAITS else program.waits[0]
                yield f"thread_ranks.{program.title()}.n{ranks}.{wait}", program, ranks, wait


def sanitized_thread_rank_runs(kind):
    """(name, program, ranks): each program once, with the smaller work that it has for a rank more."""
    for program in PROGRAMS:
        if program.folder == "mpi" and not program.full_only and kind in program.sanitizers \
                and not {program.name, program.title()} & ONLY_PROCESSES:
            ranks = 4 if 4 in program.ranks else max(program.ranks)
            yield f"thread_ranks.{program.title()}.n{ranks}.{kind}", program, ranks


def split_runs():
    """(name, program, ranks, wait, cma, options): thread ranks of two processes, and half of them
    beside process ranks. What goes on between two processes is the same for all programs, so each
    runs in one of these ways, and those about messages and collectives in both."""
    for shift, program in enumerate(PROGRAMS):
        if program.folder != "mpi" or program.full_only or {program.name, program.title()} & ONLY_PROCESSES:
            continue
        both = program.name.startswith(("pt2pt", "coll", "traffic", "wait_random", "comm", "partitioned"))
        ways = ("split_ranks", "mixed_ranks") if both else (("split_ranks", "mixed_ranks")[shift % 2],)
        for step, way in enumerate(ways):
            ranks = (4, 7)[(shift // 2 + step) % 2]
            if ranks in program.ranks:
                wait = WAITS[(shift + 2 * step + 1) % 4] if program.waits == WAITS else program.waits[0]
                wait = wait if makes_sense(program, ranks, wait) else "adaptive"
                cma = CROSS_MEMORY[(shift // 4 + step) % 2]
                options = (["--mpiexec-argument=--as", "--mpiexec-argument=threads",
                            "--mpiexec-argument=--ranks-per-process", f"--mpiexec-argument={(ranks + 1) // 2}"]
                           if way == "split_ranks" else ["--mixed"])
                yield f"{way}.{program.title()}.n{ranks}.{wait}.cma{cma}", program, ranks, wait, cma, options


# What is about one node, or about options that this runner does not pass on to several.
# (Over several nothing is told as "perhaps a deadlock": docs/internals/net.md.)
ONE_NODE = {"deadlock.thread_joined", "deadlock.team_idles", "no_deadlock.thread_sends_told", "deadlock.session_with_ended",
            "deadlock.session_with_ended_abruptly", "affinity", "counters", "counters_migrations", "hardware", "clocks",
            "errors_unchecked"}
# Whose collectives go in two steps only where there are several ranks on a node (coll/by_nodes/by_nodes.h):
# on two more than elsewhere. Subcommunicators have them unevenly, and in reverse order.
CROWDED = {"coll_rooted", "coll_all", "coll_layouts", "coll_random", "coll_bottom", "coll_meetings",
           "coll_neighbor", "coll_together", "coll_uneven"}
# … on which there is a grid without rings of two.
WITH_GRID = {"coll_neighbor"}
# And on so many nodes that an allreduce goes by the first of them, a broadcast by others.
SPREAD = {"coll_together"}


def node_runs():
    """(name, program, ranks, wait, options): over 2, 3 or 4 nodes that mpiexec plays, which send each
    other their messages by UCX and TCP. Those that die do so on two nodes. Mixed kinds of rank are of the slow tier."""
    for shift, program in enumerate(PROGRAMS):
        if program.full_only or {program.name, program.title()} & ONE_NODE:
            continue
        ranks, nodes = ((4, 2), (7, 3), (4, 4))[shift % 3] if program.folder == "mpi" else (4, 2)
        ranks = ranks if ranks in program.ranks else max(r for r in program.ranks if r <= 7)
        if ranks < 2:
            continue
        wait = WAITS[(shift // 3) % 4] if program.waits == WAITS else program.waits[0]
        some = []
        if shift % 4 == 1:  # everything is fetched by its receiver
            some += ["--env", "MEANTIME_REMOTE_EAGER=0"]
        elif shift % 4 == 3:  # much is beyond credit
            some += ["--env", "MEANTIME_EAGER_PAIR=20K"]
        for ranks, nodes in ((ranks, min(nodes, ranks)), *(((7, 2),) if program.name in CROWDED else ()),
                             *(((12, 3),) if program.name in WITH_GRID else ()),
                             *(((18, 9),) if program.name in SPREAD else ())):
            wait = wait if makes_sense(program, ranks, wait) else "adaptive"
            options = ["--env", f"MEANTIME_TEST_NODES={nodes}", *some]
            yield f"nodes.{program.title()}.n{ranks}.{wait}.on{nodes}", program, ranks, wait, options
            if not {program.name, program.title()} & ONLY_PROCESSES and program.label != "million":
                # (An option of mpiexec's for a program would be for the first half alone.)
                if program.folder == "mpi" and not any("--mpiexec-argument" in word for word in program.extra):
                    yield f"nodes.{program.title()}.n{ranks}.{wait}.mixed.on{nodes}", program, ranks, wait, [*options, "--mixed"]
                options += ["--mpiexec-argument=--as", "--mpiexec-argument=threads"]
                if shift % 3 == 1:  # two processes on a node
                    options += ["--mpiexec-argument=--ranks-per-process", "--mpiexec-argument=2"]
                yield f"nodes.{program.title()}.n{ranks}.{wait}.threads.on{nodes}", program, ranks, wait, options


# What messages and collectives of other nodes do to memory.
SANITIZED_OVER_NODES = {"pt2pt_modes", "pt2pt_order", "pt2pt_completion", "pt2pt_probe", "pt2pt_large", "pt2pt_overflow",
                        "pt2pt_cancel", "pt2pt_persistent", "pt2pt_computing", "traffic", "coll_all", "coll_random", "coll_uneven",
                        "communicators", "comm_sessions", "finalize_sends", "finalize_receives"}


def sanitized_node_runs(kind):
    """(name, program, ranks, options): over two nodes. The leak sanitizer itself crashes where UCX's libraries are loaded."""
    for program in PROGRAMS:
        if program.title() not in SANITIZED_OVER_NODES or kind != "asan":
            continue
        shared = ["--env", "MEANTIME_TEST_NODES=2", "--env", "ASAN_OPTIONS=detect_leaks=0"]
        threads = ["--mpiexec-argument=--as", "--mpiexec-argument=threads"]
        yield f"nodes.{program.title()}.n4.on2.{kind}", program, 4, shared
        yield f"nodes.{program.title()}.n4.threads.on2.{kind}", program, 4, shared + threads
        yield (f"nodes.{program.title()}.n7.threads.on2.{kind}", program, 7,
               [*shared, *threads, "--mpiexec-argument=--ranks-per-process", "--mpiexec-argument=2"])


def uncovered_pairs():
    """Pairs that the quick tier does not have: must be empty (checked by a test)."""
    axes = [(RANKS, WAITS), (RANKS, CROSS_MEMORY), (WAITS, CROSS_MEMORY)]
    wanted = {pair for first, second in axes for pair in itertools.product(first, second)}
    for program in PROGRAMS:
        for ranks, wait, cma, quick in settings(program):
            if quick:
                wanted -= {(ranks, wait), (ranks, cma), (wait, cma)}
    return wanted


def runs(kind):
    """(name, program, ranks, wait, cma, quick) of everything of this kind of build."""
    for program in PROGRAMS:
        if kind == "release":
            for ranks, wait, cma, quick in settings(program):
                yield (f"{program.folder}.{program.title()}.n{ranks}.{wait}.cma{cma}", program, ranks,
                       wait, cma, quick)
        elif kind in program.sanitizers:
            for ranks in (2, 4):
                if ranks in program.ranks:
                    cma = str((PROGRAMS.index(program) + ranks // 2) % 2)
                    yield (f"{program.folder}.{program.title()}.n{ranks}.{kind}", program, ranks,
                           "adaptive", cma, not program.full_only)


def write_cmake(kind):
    slower = 1 if kind == "release" else 6
    for name, program, ranks, wait, cma, quick in runs(kind):
        limit = program.seconds * slower
        command = ["--ranks", str(ranks), "--wait", wait, "--cma", cma, "--time-limit", str(limit),
                   *program.extra, "--", f"@{program.folder}/{program.name}",
                   *program.arguments(ranks, wait)]
        labels = program.folder + ("" if quick else ";slow")
        print(f"meantime_mpi_test({name} \"{labels}\" {limit + 60} {int(program.alone)} "
              + " ".join(f"[==[{word}]==]" for word in command) + ")")
    if kind != "release":
        print("if(TARGET meantime-host)")
        for name, program, ranks, options in sanitized_node_runs(kind):
            limit = program.seconds * slower
            command = ["--ranks", str(ranks), "--wait", "adaptive", "--time-limit", str(limit), *options, *program.extra,
                       "--", f"@{program.folder}/{program.name}", *program.arguments(ranks, "adaptive")]
            print(f"meantime_mpi_test({name} \"nodes\" {limit + 60} {int(program.alone)} "
                  + " ".join(f"[==[{word}]==]" for word in command) + ")")
        for name, program, ranks in sanitized_thread_rank_runs(kind):
            limit = program.seconds * slower
            command = ["--ranks", str(ranks), "--wait", "adaptive", "--time-limit", str(limit),
                       "--mpiexec-argument=--as", "--mpiexec-argument=threads", *program.extra, "--",
                       f"@{program.folder}/{program.name}", *program.arguments(ranks + 1, "adaptive")]
            print(f"meantime_mpi_test({name} \"thread_ranks\" {limit + 60} {int(program.alone)} "
                  + " ".join(f"[==[{word}]==]" for word in command) + ")")
        # That the sanitizer sees what a rank's program does, by way of MPI, and by itself.
        mistakes = {"asan": ((("short_memory", "message"), "failure", "heap-buffer-overflow"),
                             (("short_memory", "array"), "failure", "heap-buffer-overflow")),
                    "tsan": ((("race",), "66", "data race"),)}
        for words, status, report in mistakes[kind]:
            command = ["--ranks", "2", "--expect", status, "--mpiexec-argument=--as", "--mpiexec-argument=threads",
                       "--output-has", report, "--output-has", f"main .*{words[0]}.cpp", "--",
                       f"@death/{words[0]}", *words[1:]]
            print(f"meantime_mpi_test(thread_ranks.{'.'.join(words)}.{kind} \"thread_ranks\" 120 0 "
                  + " ".join(f"[==[{word}]==]" for word in command) + ")")
        print("endif()")
        return
    for name, program, ranks, wait, options in node_runs():
        command = ["--ranks", str(ranks), "--wait", wait, "--time-limit", str(program.seconds), *options, *program.extra,
                   "--", f"@{program.folder}/{program.name}", *program.arguments(ranks, wait)]
        takes_long = ".mixed." in name or program.label == "million" or program.name == "counts_beyond_int" or (program.name == "no_deadlock" and ".threads." in name)
        labels = "nodes;slow" if takes_long else "nodes"
        print(f"meantime_mpi_test({name} \"{labels}\" {program.seconds + 60} {int(program.alone)} "
              + " ".join(f"[==[{word}]==]" for word in command) + ")")
    print("if(TARGET meantime-host)")
    for name, program, ranks, wait in thread_rank_runs():
        command = ["--ranks", str(ranks), "--wait", wait, "--time-limit", str(program.seconds),
                   "--mpiexec-argument=--as", "--mpiexec-argument=threads", *program.extra, "--",
                   f"@{program.folder}/{program.name}", *program.arguments(ranks, wait)]
        print(f"meantime_mpi_test({name} \"thread_ranks\" {program.seconds + 60} "
              f"{int(program.alone)} " + " ".join(f"[==[{word}]==]" for word in command) + ")")
    for name, program, ranks, wait, cma, options in split_runs():
        command = ["--ranks", str(ranks), "--wait", wait, "--cma", cma, "--time-limit", str(program.seconds),
                   *options, *program.extra, "--", f"@{program.folder}/{program.name}",
                   *program.arguments(ranks, wait)]
        print(f"meantime_mpi_test({name} \"thread_ranks\" {program.seconds + 60} "
              f"{int(program.alone)} " + " ".join(f"[==[{word}]==]" for word in command) + ")")
    print("endif()")


def run_without_ctest(options):
    failed, done, seen = [], 0, set()
    for name, program, ranks, wait, cma, quick in runs("release"):
        if options.quick and not quick or options.match not in name:
            continue
        if options.ranks and ranks not in options.ranks:
            continue
        if options.oracle:
            # Our settings mean nothing there; reports and ends are ours.
            key = (program.name, ranks, *program.arguments(ranks, "poll" if ranks > 4 else wait))
            if program.folder != "mpi" or not program.on_oracle or key in seen:
                continue
            seen.add(key)
        words = ["--ranks", str(ranks), "--wait", wait, "--cma", cma,
                 "--time-limit", str(program.seconds), *program.extra]
        if options.oracle:
            words += ["--oracle", options.oracle]
        else:
            words += ["--mpiexec", options.mpiexec]
            if options.library:
                words += ["--library", options.library]
        words += ["--", os.path.join(options.programs, program.folder, program.name),
                  *program.arguments(ranks, "poll" if options.oracle and ranks > 4 else wait)]
        run = run_mpi_test.Run(run_mpi_test.parser().parse_args(words))
        status = run.run()
        if status == 1 and options.oracle:
            # A wrong test fails again; MPICH's own polling ranks hang once in a while on busy cores.
            print(f"once more {name}", flush=True)
            run = run_mpi_test.Run(run_mpi_test.parser().parse_args(words))
            status = run.run()
        done += 1
        word = {0: "passed", run_mpi_test.SKIPPED: "skipped"}.get(status, "FAILED")
        print(f"{word:8} {run.seconds:6.1f} s  {name}", flush=True)
        if word == "FAILED":
            failed.append(name)
    print(f"{done - len(failed)} of {done} passed")
    return 1 if failed or not done else 0


DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "internals", "test-matrix.md")


def title_of(kind, ranks):
    return f"{ranks}" if kind == "release" else f"{ranks} {kind}"


def matrix():
    """docs/internals/test-matrix.md: programs down, ranks across; a cell counts runs."""
    cells = {}
    for kind in ("release", "asan", "tsan"):
        for _, program, ranks, *_ in runs(kind):
            row = cells.setdefault(f"{program.folder}.{program.title()}", {})
            row[(kind, ranks)] = row.get((kind, ranks), 0) + 1
    for kind, kind_runs in (("threads", (*thread_rank_runs(), *split_runs())), ("nodes", node_runs())):
        for run in kind_runs:
            row = cells[f"{run[1].folder}.{run[1].title()}"]
            row[(kind, run[2])] = row.get((kind, run[2]), 0) + 1
    kinds = ("release", "threads", "nodes", "asan", "tsan")
    columns = sorted({key for row in cells.values() for key in row}, key=lambda key: (kinds.index(key[0]), key[1]))
    lines = ["# What is run", "",
             "The programs of `tests/mpi`, `tests/hang` and `tests/death` under `mpiexec`, as `make test-all` runs",
             "them: programs down, ranks across. A number counts runs, over ways of waiting and cross-memory",
             "attach on and off; *threads* are thread ranks, of one process, of two, or beside process ranks;",
             "*nodes* are ranks of both kinds over several nodes that mpiexec plays; asan and tsan are builds",
             "with sanitizers. `make test` has one run of a program for each number of ranks, chosen so that all",
             "pairs of ranks, ways of waiting and cross-memory attach come up, and asan.", "",
             "Written by `tests/mpi/catalogue.py --matrix`; a test compares.", "",
             "| program | " + " | ".join(title_of(*column) for column in columns) + " |",
             "|---|" + "---|" * len(columns)]
    lines += [f"| {name} | " + " | ".join(str(cells[name].get(column, "")) for column in columns) + " |" for name in sorted(cells)]
    sums = [sum(row.get(column, 0) for row in cells.values()) for column in columns]
    lines += ["| **all** | " + " | ".join(map(str, sums)) + " |", "", f"{sum(sums)} runs of {len(cells)} programs."]
    return "\n".join(lines) + "\n"


def write_table(paths):
    """Programs down, ranks across; a cell counts the runs that passed of all with that many ranks."""
    cells, failed = {}, []
    for path in paths:
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            parts = case.get("name").split(".")
            ranks = next((p[1:] for p in parts if p[:1] == "n" and p[1:].isdigit()), None)
            if ranks is None:
                continue
            kind = parts[-1] if parts[-1] in ("asan", "tsan") else "release"
            program = ".".join(parts[:parts.index("n" + ranks)])
            cell = cells.setdefault(program, {}).setdefault((kind, int(ranks)), [0, 0])
            cell[1] += 1
            if case.get("status") == "run" and case.find("failure") is None:
                cell[0] += 1
            elif case.find("failure") is not None or case.get("status") == "fail":
                failed.append(case.get("name"))
            else:
                cell[1] -= 1  # skipped
    columns = sorted({key for row in cells.values() for key in row})
    columns.sort(key=lambda key: (key[0] != "release", key))
    version = subprocess.run(["git", "describe", "--always", "--dirty"], stdout=subprocess.PIPE,
                             text=True, check=False).stdout.strip()
    print("# What was run\n")
    print(f"`make test-all` of {version} on {os.cpu_count()} cores: programs down, ranks across. A number"
          " counts the runs that\npassed, over ways of waiting and cross-memory attach on and off;"
          " asan and tsan are builds with sanitizers.\n")
    print("| program | " + " | ".join(title_of(*column) for column in columns) + " |")
    print("|---|" + "---|" * len(columns))
    for program in sorted(cells):
        row = [cells[program].get(column) for column in columns]
        print(f"| {program} | " + " | ".join(
            "" if not cell or not cell[1] else str(cell[1]) if cell[0] == cell[1] else
            f"**{cell[0]} of {cell[1]}**" for cell in row) + " |")
    print()
    print(f"Failed: {', '.join(sorted(failed))}." if failed else "None failed.")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--cmake", metavar="BUILD_KIND", help="release, asan or tsan")
    arguments.add_argument("--check", action="store_true", help="is the quick tier a pairwise cover, and the document current?")
    arguments.add_argument("--matrix", action="store_true", help="docs/internals/test-matrix.md")
    arguments.add_argument("--table", nargs="+", metavar="RESULT.xml")
    arguments.add_argument("--run", action="store_true")
    arguments.add_argument("--quick", action="store_true", help="only what `make test` runs")
    arguments.add_argument("--match", default="", help="only names that contain this")
    arguments.add_argument("--ranks", type=int, nargs="*", help="only these numbers of ranks")
    arguments.add_argument("--programs", default="build/release/tests", metavar="DIR")
    arguments.add_argument("--mpiexec", default="build/release/bin/mpiexec")
    arguments.add_argument("--library")
    arguments.add_argument("--oracle", metavar="PREFIX")
    options = arguments.parse_args()
    if options.cmake:
        return write_cmake(options.cmake)
    if options.table:
        return write_table(options.table)
    if options.check:
        missing = uncovered_pairs()
        print("not covered:", sorted(map(str, missing)) if missing else "nothing")
        with open(DOCUMENT, encoding="utf-8") as file:
            old = file.read() != matrix()
        print("docs/internals/test-matrix.md:", "old; tests/mpi/catalogue.py --matrix >docs/internals/test-matrix.md" if old else "current")
        return 1 if missing or old else 0
    if options.matrix:
        print(matrix(), end="")
        return 0
    if options.run:
        with foreign_files.taken_away():
            return run_without_ctest(options)
    arguments.error("--cmake, --check, --matrix, --table or --run")


if __name__ == "__main__":
    sys.exit(main())
