"""gdb and thread ranks (mpiexec --as threads). Loaded by `mpiexec --debugger gdb` and `meantime stack`;
otherwise: gdb -x PREFIX/share/meantime/gdb/meantime.py -p PID

    ranks                       what each rank does and where
    rank N                      go to rank N
    rank apply all|0,2-5 bt     a command for each of them
    print $mine(counter)        a global variable of the selected rank

Each rank has a kernel thread of its own, parked above the beginning of the rank's stack, with the
rank's thread control block. A rank that nobody runs is shown there: an unwinder goes on from the
parked frame to where the rank's stack was left, so bt, up, locals are the rank's, and no register is
ever written. A rank that runs is shown in the thread whose stack pointer lies in its stack.
"""

import os
import sys

import gdb
import gdb.unwinder

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from meantime_ranks import HideParked, Host, Mine, Selection, Unwinder, stack_pointer  # noqa: E402

OURS = ("libmpi_abi.so", "libmeantime_", "libc.so", "libc-", "ld-linux", "libpthread")


def host_or_error():
    host = Host.current()
    if host is None:
        raise gdb.GdbError("No thread ranks here: this process is not a running host of "
                           "mpiexec --as threads, or its ranks have not begun.")
    host.look()
    return host


def is_ours(frame):
    """Not the program's: of the library, its Fortran part, the host, or libc."""
    name = gdb.solib_name(frame.pc())  # None: the host's executable
    return name is None or os.path.basename(name).startswith(OURS)


def program_frame():
    """Of the selected thread: the innermost frame of the rank's program, and the MPI call it is in."""
    call = ""
    frame = gdb.newest_frame()
    while frame is not None:
        if not is_ours(frame):
            return frame, call
        name = frame.name() or ""
        if name.startswith(("MPI_", "PMPI_", "MPIX_")):
            call = name[1:] if name.startswith("PMPI_") else name
        frame = frame.older()
    return None, call


def where(frame, call):
    if frame is None:
        return call
    sal = frame.find_sal()
    text = f"{frame.name() or hex(frame.pc())} ()"
    if sal.symtab is not None:
        text += f" at {sal.symtab.filename}:{sal.line}"
    return text + (f", in {call}" if call else "")


class Ranks(gdb.Command):
    """What each thread rank of this process does, and where."""

    def __init__(self):
        super().__init__("ranks", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        host = host_or_error()
        selected = gdb.selected_thread()
        print("   rank  state      thread  where")
        with Selection():
            for rank in host.ranks:
                state = rank.describe()
                place = ""
                thread = rank.thread()
                if state in ("running", "suspended", "offloaded") and thread is not None:
                    thread.switch()
                    place = where(*program_frame())
                mark = "*" if thread is not None and thread == selected else " "
                number = thread.num if thread is not None else ""
                print(f" {mark} {rank.number:4}  {state:9}  {number:>6}  {place}")


def numbers(text, host):
    if text == "all":
        return [rank.number for rank in host.ranks]
    result = []
    try:
        for piece in text.split(","):
            first, _, last = piece.partition("-")
            result += range(int(first), int(last or first) + 1)
    except ValueError:
        raise gdb.GdbError(f"'{text}' is no list of ranks: all, or numbers like 0,2-5.") from None
    return result


class GoToRank(gdb.Command):
    """Go to a thread rank: rank N. Then bt, up, info locals … are about it.
rank apply all|LIST COMMAND runs a command for each."""

    def __init__(self):
        super().__init__("rank", gdb.COMMAND_RUNNING, prefix=True)

    def invoke(self, argument, from_tty):
        host = host_or_error()
        if not argument.strip().isdigit():
            raise gdb.GdbError("rank N, or rank apply all|LIST COMMAND; `ranks` lists them.")
        rank = host.find(int(argument))
        go_to(rank)
        print(f"[rank {rank.number}: {rank.describe()}, thread {rank.thread().num}]")
        gdb.execute("frame")


def go_to(rank):
    if rank.thread() is None:
        raise gdb.GdbError(f"rank {rank.number} has no thread: {rank.describe()}.")
    rank.thread().switch()
    frame, _ = program_frame()
    (frame or gdb.newest_frame()).select()


class RankApply(gdb.Command):
    """A command for each thread rank: rank apply all bt, rank apply 0,2-5 info locals."""

    def __init__(self):
        super().__init__("rank apply", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        which, _, command = argument.strip().partition(" ")
        if not command:
            raise gdb.GdbError("rank apply all|LIST COMMAND")
        host = host_or_error()
        with Selection():
            for number in numbers(which, host):
                rank = host.find(number)
                print(f"\nRank {number} ({rank.describe()}):")
                if rank.describe() in ("not begun", "finalized"):
                    continue
                try:
                    go_to(rank)
                    gdb.execute(command)
                except gdb.error as error:
                    print(error)


class Quiet:
    """While the images are loaded they have names that gdb cannot open (src/host/image/image.cpp), and it
    would warn of each. The process that is debugged has descriptors of its own."""

    saved = None

    @classmethod
    def begin(cls):
        if cls.saved is None:
            sys.stderr.flush()
            cls.saved = os.dup(2)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)

    @classmethod
    def end(cls):
        if cls.saved is not None:
            os.dup2(cls.saved, 2)
            os.close(cls.saved)
            cls.saved = None


class Loading(gdb.Breakpoint):
    def __init__(self):
        super().__init__("meantime_host_loading", internal=True)

    def stop(self):
        Quiet.begin()
        return False


class Loaded(gdb.Breakpoint):
    """The images of all ranks are there and have their names: gdb looks at the list once more, so
    that breakpoints are set in each."""

    def __init__(self):
        super().__init__("meantime_host_loaded", internal=True)

    def stop(self):
        Host.known.clear()
        gdb.execute("nosharedlibrary", to_string=True)
        gdb.execute("sharedlibrary", to_string=True)
        Quiet.end()
        return False


def on_stop(event):
    """Says which rank it is that stopped."""
    if not isinstance(event, (gdb.BreakpointEvent, gdb.SignalEvent)):
        return
    host = Host.current()
    if host is not None:
        rank = host.of_stack(stack_pointer())
        if rank is not None:
            print(f"[rank {rank.number}]")


def on_exit(event):
    Host.known.clear()
    Quiet.end()


if gdb.selected_inferior().pid == 0:  # mpiexec --debugger gdb: the program is not known before run
    gdb.execute("set breakpoint pending on")
    Loading()
    Loaded()
gdb.unwinder.register_unwinder(None, Unwinder(), replace=True)
gdb.frame_filters[HideParked.name] = HideParked()
gdb.events.exited.connect(on_exit)
gdb.events.stop.connect(on_stop)
Mine()
Ranks()
GoToRank()
RankApply()
