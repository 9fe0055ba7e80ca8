"""gdb and thread ranks (mpiexec --as threads). Loaded by `mpiexec --debugger gdb` and `meantime stack`;
otherwise: gdb -x PREFIX/share/meantime/gdb/meantime.py -p PID

    ranks                       what each rank does and where
    rank N                      go to rank N
    rank apply all|0,2-5 bt     a command for each of them

Each rank has a kernel thread of its own, parked above the beginning of the rank's stack, with the
rank's thread control block. A rank that nobody runs is shown there: an unwinder goes on from the
parked frame to where the rank's stack was left, so bt, up, locals and thread-local variables are the
rank's, and no register is ever written. A rank that runs is shown in the thread whose stack pointer
lies in its stack. The layouts below are those of src/rank/view.h and src/rank/stack_switch.cpp.
"""

import bisect
import os
import struct
import sys
import types

import gdb
import gdb.unwinder

HOST = struct.Struct("<IIQ")
RANK = struct.Struct("<QQQQQii")
VERSION = 1
STATES = ("init", "suspended", "running", "elsewhere", "finalized")
# At a stack mark, upwards: control words, r15, r14, r13, r12, rbx, rbp, where to go on.
MARK = struct.Struct("<8xQQQQQQQ")
MARK_REGISTERS = ("r15", "r14", "r13", "r12", "rbx", "rbp", "rip")
OURS = ("libmpi_abi.so", "libmeantime_host.so", "libc.so", "libc-", "ld-linux", "libpthread")


def memory(address, layout):
    return layout.unpack(gdb.selected_inferior().read_memory(address, layout.size).tobytes())


class Rank:
    def __init__(self, words):
        (self.mark_place, self.state_place, self.low, self.begin, self.control_block, self.number,
         _) = words
        self.runner = None  # the thread that runs it
        self.parked = None  # its own thread, while that does not

    def state(self):
        value = memory(self.state_place, struct.Struct("<B"))[0]
        return STATES[value] if value < len(STATES) else f"state {value}"

    def mark(self):
        """Where its stack was left; None if it has not begun, or has been left for good."""
        mark = memory(self.mark_place, struct.Struct("<Q"))[0]
        # One that was elsewhere is so until its worker takes it back.
        left = self.state() in ("suspended", "elsewhere")
        return mark if left and self.low <= mark < self.begin else None

    def thread(self):
        return self.runner or self.parked

    def describe(self):
        state = self.state()
        if self.runner is not None:
            return "elsewhere" if state == "elsewhere" else "running"
        if state == "suspended" and self.mark() is None:
            return "not begun"
        if state == "elsewhere":  # and no thread runs it
            return "suspended"
        return state


class Host:
    """The ranks of the inferior, as far as they never change."""

    known = {}  # by process

    def __init__(self, ranks):
        self.ranks = ranks
        self.by_stack = sorted(ranks, key=lambda rank: rank.low)
        self.lows = [rank.low for rank in self.by_stack]

    @classmethod
    def current(cls):
        pid = gdb.selected_inferior().pid
        if pid == 0:
            return None
        if pid not in cls.known and (host := cls.read()) is not None:
            cls.known[pid] = host
        return cls.known.get(pid)

    @classmethod
    def read(cls):
        try:
            place = int(gdb.parse_and_eval("(unsigned long)&meantime_host_view"))
            version, count, ranks = memory(place, HOST)
            if version != VERSION or ranks == 0:
                return None
            size = RANK.size
            return cls([Rank(memory(ranks + i * size, RANK)) for i in range(count)])
        except (gdb.error, gdb.MemoryError):
            return None

    def of_stack(self, pointer):
        """The rank whose stack, or whose own thread's part of it, this is."""
        place = bisect.bisect_right(self.lows, pointer) - 1
        rank = self.by_stack[place]
        return rank if place >= 0 and pointer < rank.control_block else None

    def look(self):
        """Finds out which thread runs which rank."""
        for rank in self.ranks:
            rank.runner = rank.parked = None
        with Selection():
            for thread in gdb.selected_inferior().threads():
                if not thread.is_valid() or thread.is_running():
                    continue
                thread.switch()
                pointer = int(gdb.parse_and_eval("(unsigned long)$sp"))
                rank = self.of_stack(pointer)
                if rank is not None and pointer < rank.begin:
                    rank.runner = thread
                elif rank is not None:
                    rank.parked = thread

    def find(self, number):
        for rank in self.ranks:
            if rank.number == number:
                return rank
        raise gdb.GdbError(f"There is no rank {number} in this process.")


def host_or_error():
    host = Host.current()
    if host is None:
        raise gdb.GdbError("No thread ranks here: this process is not a running host of "
                           "mpiexec --as threads, or its ranks have not begun.")
    host.look()
    return host


class Selection:
    """Keeps the selected thread and frame."""

    def __enter__(self):
        self.thread = gdb.selected_thread()
        try:
            self.frame = gdb.selected_frame()
        except gdb.error:
            self.frame = None

    def __exit__(self, *_):
        if self.thread is not None and self.thread.is_valid():
            self.thread.switch()
        if self.frame is not None and self.frame.is_valid():
            self.frame.select()


class Unwinder(gdb.unwinder.Unwinder):
    """From the parked frame of a rank's own thread to where the rank's stack was left."""

    def __init__(self):
        super().__init__("meantime-ranks")

    def __call__(self, pending):
        pid = gdb.selected_inferior().pid
        host = Host.known.get(pid) or Host.current()
        if host is None:
            return None
        pointer = int(pending.read_register("rsp"))
        rank = host.of_stack(pointer & (2**64 - 1))
        if rank is None or pointer < rank.begin:
            return None
        mark = rank.mark()
        if mark is None:
            return None
        values = memory(mark, MARK)
        word = gdb.lookup_type("unsigned long")
        # Frames grow upwards from here: the parked one must seem to be the lowest.
        here = types.SimpleNamespace(sp=gdb.Value(mark).cast(word),
                                     pc=pending.read_register("rip"))
        info = pending.create_unwind_info(here)
        for register, value in zip(MARK_REGISTERS, values):
            info.add_saved_register(register, gdb.Value(value).cast(word))
        info.add_saved_register("rsp", gdb.Value(mark + MARK.size).cast(word))
        return info


class HideParked:
    """bt of a suspended rank begins with the rank's own frames."""

    name = "meantime-parked"
    priority = 100
    enabled = True

    def filter(self, frames):
        host = Host.current()
        for frame in frames:
            if host is not None:
                inner = frame.inferior_frame()
                if inner.level() == 0 and is_parked(host, inner):
                    continue
            yield frame


def is_parked(host, frame):
    pointer = int(frame.read_register("rsp")) & (2**64 - 1)
    rank = host.of_stack(pointer)
    return rank is not None and pointer >= rank.begin and rank.mark() is not None


def is_ours(frame):
    """Not the program's: of the library, the host, or libc."""
    name = gdb.solib_name(frame.pc())  # None: the host's executable
    return name is None or os.path.basename(name).startswith(OURS)


def program_frame(rank):
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
                if state in ("running", "suspended", "elsewhere") and thread is not None:
                    thread.switch()
                    place = where(*program_frame(rank))
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
    frame, _ = program_frame(rank)
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
    """While the images are loaded they have names that gdb cannot open (src/host/image.cpp), and it
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
        rank = host.of_stack(int(gdb.parse_and_eval("(unsigned long)$sp")))
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
Ranks()
GoToRank()
RankApply()
