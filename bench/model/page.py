"""The tables of docs/measurements/scale.md, each between two comments of its own."""
from __future__ import annotations

import re
import statistics
from pathlib import Path

import collectives
import instead
import loggp
import resources

ROOT = Path(__file__).resolve().parent.parent.parent
PATH = ROOT / "docs/measurements/scale.md"
MIB = collectives.MIB
NODES = (1, 10, 100, 1000, 10_000)
RANKS_A_NODE = 128
PLAYED_CPUS = 2

# Assumed, in µs: networks of others. spcl/atlahs (its LogGOPSim runs: -L 3700 -o 200 -g 5 -G 0.04, in ns, of a machine of 200 Gbit/s),
# and codes-org/codes, tests/ng-mpi-tukey.dat: Netgauge, MVAPICH over QDR InfiniBand (its L, a half round trip, less both overheads).
CLUSTER = loggp.Network(latency=3.7, send=0.2, receive=0.2, gap=0.005, per_byte=0.04e-3)
OLDER = loggp.Network(latency=5.3, send=0.98, receive=1.14, gap=0.93, per_byte=0.5e-3)
# … and of a launcher's daemons: TCP, a Gbyte/s.
LAUNCHER = loggp.Network(latency=20, send=5, receive=5, per_byte=1e-3)
# … and of a node of 128 CPUs: a rank's part of a meeting (a line from one CPU to another), and a byte that is read there.
ON_A_NODE = (0.1, 0.1e-3)


def time_text(us):
    for unit, size in (("h", 3.6e9), ("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{us / size:.3g} {unit}" if us / size < 1000 else f"{us / size:.0f} {unit}"
    return f"{us:.3g} µs"


def memory_text(size):
    for unit, of in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", MIB)):
        if size >= of:
            return f"{size / of:.3g} {unit}"
    return f"{size / 1024:.3g} KiB"


def table(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


# --- From what was measured

def connection_seconds(held):
    """By what an alltoall of ranks that are not connected takes more than none: of a CPU, for each end."""
    found = []
    for name, phases in held.items():
        if name.endswith(" alltoall"):
            world = resources.World(*map(int, name.split()[0].split("x")))
            more = phases["cpu seconds"] - held[name.split()[0]]["cpu seconds"]
            found.append(more / world.ranks / resources.after_exchange(world))
    return statistics.median(found)


def measured_of(kept):
    parts = kept["parts"]
    many = max(int(name.split()[-1]) for name in parts if name.startswith("peers "))
    segment = next(int(name.split()[-1]) for name in parts if name.startswith("segment "))
    poll = next(name for name in parts if name.startswith("poll, time"))
    held = kept["held"]
    return {
        "process": statistics.median(of["finalize"][1] for name, of in held.items() if name.endswith("alltoall")) * 1024,
        "task seconds": kept["task seconds"],
        "connection": kept["KiB a connection"] * 1024,
        "connection seconds": connection_seconds(held),
        "addresses": parts[f"addresses {many}"],
        "addresses seconds": parts[f"addresses, time {many}"] * 1e-9,
        "nodes": parts[f"nodes {many}"],
        "peers": parts[f"peers {many}"],
        "peers seconds": parts[f"peers, time {many}"] * 1e-9,
        "card text": parts[f"card {many}"],
        "card seconds": parts[f"card, time {many}"] * 1e-9,
        "segment": parts[f"segment {segment}"],
        "segment seconds": parts[f"segment, time {segment}"] * 1e-9,
        "look": parts[f"look {segment}"],
        "look seconds": parts[f"look, time {segment}"] * 1e-9,
        "supervisor": parts["supervisor"],
        "address": parts["address"],
        "opened seconds": parts["opened"] * 1e-6,
        "poll seconds": parts[poll] * 1e-9,
        "get seconds": kept["card seconds"],
    }


def here_of(kept):
    """(of each rank in a meeting, a byte read) where each of two has a CPU of its own, near as the hypervisor places them."""
    two = kept["collectives"]["1x2"]
    return two["barrier 0"] / 2, (two[f"bcast {MIB}"] - two["barrier 0"]) / MIB


def joins_of(kept):
    two = kept["constants"]
    return two["joined 8"], two[f"joined {MIB}"] / MIB


def loopback(kept, wake=0.0):
    """No wire: what is not the sender's is the receiver's."""
    two = kept["constants"]
    half = two["half round trip 8"]
    return loggp.Network(latency=0.0, send=two["send"], receive=half - two["send"],
                         copied=(two[f"half round trip {MIB}"] - half) / MIB, cpus=PLAYED_CPUS, wake=wake)


def wake_of(kept):
    """By the one thing that is fitted: a barrier of 4 nodes takes as long as it does."""
    low, high = 0.0, 1000.0
    while high - low > 0.01:
        wake = (low + high) / 2
        job = collectives.Job(4, 1, loopback(kept, wake), 0.0, 0.0, 0.0, 0.0)
        low, high = (wake, high) if collectives.barrier_time(job) < kept["collectives"]["4x1"]["barrier 0"] else (low, wake)
    return low


def job_here(kept, nodes, ranks):
    meeting = kept["collectives"][f"1x{max(2, ranks)}"]["barrier 0"] / max(2, ranks)
    wake = wake_of(kept) if nodes * ranks > PLAYED_CPUS else 0.0
    return collectives.Job(nodes, ranks, loopback(kept, wake), meeting, here_of(kept)[1], *joins_of(kept))


def job_of(kept, nodes, network=CLUSTER):
    return collectives.Job(nodes, RANKS_A_NODE, network, *ON_A_NODE, *joins_of(kept))


# --- Tables

def collective_rows(kept, network=CLUSTER):
    jobs = [job_of(kept, nodes, network) for nodes in NODES]
    yield "barrier", [collectives.barrier_time(job) for job in jobs]
    yield "bcast, 8 B", [collectives.bcast_time(job, 8) for job in jobs]
    yield "bcast, 1 MiB", [collectives.bcast_time(job, MIB) for job in jobs]
    yield "allreduce, 8 B", [collectives.allreduce_time(job, 8) for job in jobs]
    yield "allreduce, 1 MiB", [collectives.allreduce_time(job, MIB) for job in jobs]
    yield "alltoall, 8 B", [collectives.alltoall_time(job, 8) for job in jobs]


def heads(*first):
    return [*first, *(f"{nodes:,}".replace(",", " ") for nodes in NODES)]


def answer(kept):
    measured, worlds = measured_of(kept), [resources.World(nodes) for nodes in NODES]
    memories = [resources.memory(world, measured) for world in worlds]

    def row(name, each):
        return [name, *map(each, worlds)]
    return table(heads("nodes of 128 ranks"), [
        row("ranks (there are 65 535 at most)", lambda world: f"{world.ranks:,}".replace(",", " ")),
        row("`MPI_Init`", lambda world: time_text(sum(resources.start(world, measured, LAUNCHER).values()) * 1e6)),
        row("`MPI_Finalize`", lambda world: time_text(resources.end(world, measured, CLUSTER) * 1e6) if world.nodes > 1 else "–"),
        ["memory a rank", *(memory_text(of.rank) for of in memories)],
        ["… in `MPI_Finalize`", *(memory_text(of.rank + of.ending) for of in memories)],
        ["memory a node", *(memory_text(of.node(world)) for of, world in zip(memories, worlds))],
        ["… at worst", *(memory_text(of.node_at_worst(world)) for of, world in zip(memories, worlds))],
        row("connections of a process, by barriers and the end", lambda world: len(resources.after_finalize(world, 0))),
        row("… by an alltoall", lambda world: f"{resources.after_exchange(world):,}".replace(",", " ")
            if world.nodes > 1 and not collectives.alltoall_by_nodes(job_of(kept, world.nodes), 8) else len(resources.after_finalize(world, 0))),
        *([name, *map(time_text, times)] for name, times in collective_rows(kept)),
        row("allreduce, 1 MiB: memory of rank 0", lambda world: memory_text(world.ranks * MIB) if world.nodes > 1 else "–"),
        row("the first alltoall, which connects", lambda world: time_text(
            resources.after_exchange(world) * measured["connection seconds"] * 1e6) if world.nodes > 1 else "–"),
    ])


def start_parts(kept):
    measured = measured_of(kept)
    parts = [resources.start(resources.World(nodes), measured, LAUNCHER) for nodes in NODES]
    return table(heads("`MPI_Init`"), [[name, *(time_text(of[name] * 1e6) if of[name] else "–" for of in parts)] for name in resources.START])


def memory_parts(kept):
    measured = measured_of(kept)
    far = [resources.World(nodes).ranks if nodes > 1 else 0 for nodes in NODES]
    rows = [("segment", "node", "segment", [resources.World(nodes).ranks for nodes in NODES]),
            ("supervisor", "node", "supervisor", [resources.World(nodes).ranks for nodes in NODES]),
            ("address table", "rank", "addresses", far), ("who is on which node, of each communicator", "rank", "nodes", far),
            ("what a rank keeps of those that it has spoken to", "rank", "peers", [resources.peers_kept(resources.World(nodes)) for nodes in NODES]),
            ("cards as text, while they are read", "rank", "card text", far)]
    return table(heads("", "for each rank of the world", "in each"),
                 [[name, f"{measured[key]:,.0f} B".replace(",", " "), where, *(memory_text(count * measured[key]) if count else "–" for count in counts)]
                  for name, where, key, counts in rows])


def pair(predicted, found, text=time_text):
    return f"{text(predicted)}, {text(found)} ({predicted / found:.2f})"


def check_collectives(kept):
    names = {"barrier 0": collectives.barrier_time, "bcast 8": collectives.bcast_time, f"bcast {MIB}": collectives.bcast_time,
             "allreduce 8": collectives.allreduce_time, f"allreduce {MIB}": collectives.allreduce_time,
             "alltoall 8": collectives.alltoall_time, f"alltoall {MIB}": collectives.alltoall_time}
    jobs = [name for name in kept["collectives"] if not name.startswith("1x")]

    def cells(name):
        for job in jobs:
            here, size = job_here(kept, *map(int, job.split("x"))), int(name.split()[1])
            predicted = names[name](here, *((size,) if size else ())) + (collectives.barrier_time(here) if size else 0)
            yield pair(predicted, kept["collectives"][job][name])
    titles = {"0": "", "8": ", 8 B", str(MIB): ", 1 MiB"}
    return table(["predicted, measured (ratio)", *(f"{job.split('x')[0]} nodes of {job.split('x')[1]}" for job in jobs)],
                 [[name.split()[0] + titles[name.split()[1]], *cells(name)] for name in names])


def check_starts(kept):
    """CPU seconds. A start, and what a rank more takes, on one node and on several, by a small one and a larger one of each; what is
    between and beyond these is predicted."""
    starts = {tuple(map(int, name.split("x"))): seconds for name, seconds in kept["starts"].items()}
    few_and_many = {True: ((1, 2), (1, 32)), False: ((2, 1), (8, 1))}
    rows = []
    for (nodes, ranks), seconds in starts.items():
        few, many = few_and_many[nodes == 1]
        each = (starts[many] - starts[few]) / (many[0] * many[1] - few[0] * few[1])
        predicted = starts[few] + each * (nodes * ranks - few[0] * few[1])
        fits = (nodes, ranks) in (few, many)
        rows.append([f"{nodes} × {ranks}", "fitted" if fits else time_text(predicted * 1e6), time_text(seconds * 1e6),
                     "" if fits else f"{predicted / seconds:.2f}"])
    return table(["nodes × ranks a node", "CPU time, predicted", "measured", "ratio"], rows)


def check_held(kept):
    rows = []
    for name, phases in kept["held"].items():
        world = resources.World(*map(int, name.split()[0].split("x")))
        if name.endswith("alltoall"):
            continue
        after = statistics.mean(len(resources.after_finalize(world, rank)) for rank in range(world.ranks))
        both = kept["held"][f"{name} alltoall"]
        own = phases["init"][2]
        rows.append([name.replace("x", " × "), f"{after:.1f}, {phases['finalize'][2] - own:.1f}",
                     f"{resources.after_exchange(world)}, {both['alltoall'][2] - own:.1f}",
                     *(f"{of[1]:.0f} KiB" for of in (phases["before"], phases["init"], phases["finalize"], both["finalize"]))])
    return table(["nodes × ranks a node", "connections at the end: predicted, measured", "after an alltoall",
                  "private memory before `MPI_Init`", "after it", "after `MPI_Finalize`", "with an alltoall"], rows)


def constants(kept):
    net, measured, (meeting, read), (joined, joined_byte) = loopback(kept), measured_of(kept), here_of(kept), joins_of(kept)
    return table(["measured here", ""], [
        ["send, receive of 8 B between nodes, of a CPU; the wire", f"{net.send:.2f} µs, {net.receive:.2f} µs; none, it is the loopback"],
        ["a byte, on either side", f"{net.copied * 1e3:.2f} ns"],
        ["giving a CPU to a rank that waited (fitted: barrier of 4 nodes)", f"{wake_of(kept):.1f} µs"],
        ["a rank in a meeting; a byte read there", f"{meeting:.2f} µs; {read * 1e3:.2f} ns"],
        ["a value of 8 B joined; a byte of a long vector", f"{joined * 1e3:.0f} ns; {joined_byte * 1e3:.3f} ns"],
        ["`MPI_Init` of two tasks on two nodes, by Open MPI's `mpirun`; of it UCX", f"{measured['task seconds'] * 1e3:.0f} ms; {measured['opened seconds'] * 1e3:.1f} ms"],
        ["a connection, of a CPU on either side", f"{measured['connection seconds'] * 1e6:.0f} µs"],
        ["a rank's address; its card, as text", f"{measured['address']:.0f} B; {measured['card text']:.0f} B"],
        ["reading a card by PMIx; making an address of it", f"{measured['get seconds'] * 1e6:.1f} µs; {measured['card seconds'] * 1e6:.2f} µs"],
        ["for each rank of the world: address table, segment, supervisor's poll", ", ".join(
            f"{measured[key + ' seconds'] * 1e9:.0f} ns" for key in ("addresses", "segment", "poll"))],
        ["… a look at what a rank keeps of it, at where it polls", ", ".join(
            f"{measured[key + ' seconds'] * 1e9:.0f} ns" for key in ("peers", "look"))],
    ])


def assumed(kept):
    rows = []
    for (name, newer), (_, older) in zip(collective_rows(kept), collective_rows(kept, OLDER)):
        rows.append([name, time_text(newer[-1]), time_text(older[-1])])
    return table(["10 000 nodes", "L 3.7 µs, o 0.2, g 0.005, G 0.04 ns", "L 5.3 µs, o 0.98 and 1.14, g 0.93, G 0.5 ns"], rows)


def instead_table(kept):
    rows = []
    for name, now, then in (("allreduce, 8 B", lambda job: collectives.allreduce_time(job, 8), lambda job: instead.short_allreduce(job, 8)),
                            ("allreduce, 1 MiB", lambda job: collectives.allreduce_time(job, MIB), lambda job: instead.long_allreduce(job, MIB)),
                            ("alltoall, 8 B", lambda job: collectives.alltoall_time(job, 8), lambda job: instead.alltoall(job, 8))):
        rows.append([name, *(f"{time_text(now(job))} → {time_text(then(job))}" for job in (job_of(kept, nodes) for nodes in NODES[1:]))])
    return table(heads("as it is → as it could be")[:1] + heads()[1:], rows)


def conditions(kept):
    how = f"SCHED_RR (`--priority {kept['priority']}`)" if kept["priority"] else "ordinary scheduling"
    return (f"`bench/model/measure{' --priority ' + str(kept['priority']) if kept['priority'] else ''}`, {kept['date']}, commit {kept['commit']}, "
            f"{kept['machine']}, load {kept['load']:.0f} of others' builds, {how}, medians of {kept['runs']} runs.")


def tables(kept):
    return {"answer": answer(kept), "start": start_parts(kept), "memory": memory_parts(kept), "instead": instead_table(kept),
            "collectives": check_collectives(kept), "starts": check_starts(kept), "held": check_held(kept), "constants": constants(kept),
            "assumed": assumed(kept), "conditions": conditions(kept)}


def filled(text, kept):
    for name, of in tables(kept).items():
        text, count = re.subn(rf"(<!-- bench/model/measure, {name}: begin -->\n).*?(<!-- end -->)",
                              lambda match, of=of: f"{match[1]}\n{of}\n\n{match[2]}", text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"{PATH.name} has {count} places for {name}")
    return text


def write(kept):
    PATH.write_text(filled(PATH.read_text(encoding="utf-8"), kept), encoding="utf-8")
