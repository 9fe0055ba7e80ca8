"""The ranks of a host as gdb finds them in its memory, and the way from a parked thread to a rank's
stack. For meantime.py. The layouts are those of src/scheduling/view.h and src/scheduling/stack_switch.cpp.
"""

import bisect
import re
import struct
import types

import gdb
import gdb.unwinder

HOST = struct.Struct("<IIQ")
RANK = struct.Struct("<QQQQQii")
VERSION = 1
STATES = ("init", "suspended", "running", "offloaded", "finalized")
# At a stack mark, upwards: control words, r15, r14, r13, r12, rbx, rbp, where to go on.
MARK = struct.Struct("<8xQQQQQQQ")
MARK_REGISTERS = ("r15", "r14", "r13", "r12", "rbx", "rbp", "rip")


def memory(address, layout):
    return layout.unpack(gdb.selected_inferior().read_memory(address, layout.size).tobytes())


# Expressions and names of types are read in the language of the selected frame, which may be
# Fortran: these three do without.
def address_of(symbol):
    """gdb.error if there is none."""
    return int(re.search("0x[0-9a-f]+", gdb.execute(f"info address {symbol}", to_string=True)).group(), 16)


def stack_pointer(frame=None):
    return int((frame or gdb.selected_frame()).read_register("rsp")) & (2**64 - 1)


def word(value):
    return gdb.Value(value).cast(gdb.Value(2**64 - 1).type)


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
        # One that was offloaded is so until its worker takes it back.
        left = self.state() in ("suspended", "offloaded")
        return mark if left and self.low <= mark < self.begin else None

    def thread(self):
        return self.runner or self.parked

    def describe(self):
        state = self.state()
        if self.runner is not None:
            return "offloaded" if state == "offloaded" else "running"
        if state == "suspended" and self.mark() is None:
            return "not begun"
        if state == "offloaded":  # and no thread runs it
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
            version, count, ranks = memory(address_of("meantime_host_view"), HOST)
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
                pointer = stack_pointer()
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
        # Frames grow upwards from here: the parked one must seem to be the lowest.
        here = types.SimpleNamespace(sp=word(mark),
                                     pc=pending.read_register("rip"))
        info = pending.create_unwind_info(here)
        for register, value in zip(MARK_REGISTERS, values):
            info.add_saved_register(register, word(value))
        info.add_saved_register("rsp", word(mark + MARK.size))
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
    pointer = stack_pointer(frame)
    rank = host.of_stack(pointer)
    return rank is not None and pointer >= rank.begin and rank.mark() is not None


class Mine(gdb.Function):
    """$mine(variable): a global variable of the selected rank's image. gdb 13 takes the first image that
has one of that name; the place within the image is the same in all of them."""

    def __init__(self):
        super().__init__("mine")

    def invoke(self, value):
        host = Host.current()
        rank = host and host.of_stack(stack_pointer())
        if not rank or value.address is None:
            raise gdb.GdbError("$mine(variable) wants a variable, and a rank: rank N selects one.")
        address = int(value.address)
        bases = loaded_at(gdb.solib_name(address))
        if len(bases) == 1 and len(host.ranks) > 1:
            return value  # of a library that all ranks share
        if len(bases) != len(host.ranks):
            raise gdb.GdbError("$mine knows jobs of one program only.")
        place = address - max(base for base in bases if base <= address)
        mine = bases[host.ranks.index(rank)] + place
        return gdb.Value(mine).cast(value.type.pointer()).dereference()


def loaded_at(name):
    """Where this file is loaded, in the order in which it was: rank by rank."""
    layout = struct.Struct("<QQQQ")  # struct link_map: l_addr, l_name, l_ld, l_next
    bases = []
    wanted = (name or "").encode(errors="surrogateescape") + b"\0"
    link = memory(address_of("_r_debug") + 8, struct.Struct("<Q"))[0]
    while link != 0:
        base, text, _, link = memory(link, layout)
        try:
            found = gdb.selected_inferior().read_memory(text, len(wanted)).tobytes()
        except gdb.MemoryError:  # a shorter one, at the end of what can be read
            continue
        if name is not None and found == wanted:
            bases.append(base)
    return bases
