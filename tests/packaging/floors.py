"""The floors of src: a folder includes what is on its own floor only where that is said here, and else what is on a floor
below. So a reader knows where to go on, and a part can be taken out without those below it. An arrow upwards fails this."""

import os
import re
import sys
import unittest

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src")

# From the bottom. Folders of one row may include each other: they are one floor.
FLOORS = (
    {"base"},  # clocks, timers, the pause of a polling loop
    {"protocol"},  # the words between mpiexec, the host of thread ranks and the library
    {"libc"},  # which of libc's functions the library calls
    {"net"},  # bytes to and from other nodes
    {"machine"},  # what is measured of the machine, and changed in it
    {"settings"},  # every setting in one table
    {"node"},  # the segment of the node's hosts, cross-memory attach, the line to mpiexec
    {"copy"},  # a copy that several may move
    {"guest"},  # guest work: who starts it, bounds it, ends it
    {"elf"},  # what an ELF file says
    {"symbolize"},  # addresses in programs as people know them
    {"ledger"},  # where the time went
    {"policy"},  # how to wait, as numbers, and what is learnt of waits
    # Doorbells; workers and fibers; a rank's state; who sleeps for ever: a thread rank's doorbell is its worker's affair,
    # and the last to fall asleep looks for a deadlock.
    {"sleep", "scheduling", "rank", "deadlock"},
    {"wait"},  # the ladder
    {"match"},  # a message meets a receive, payloads move
    {"core"},  # MPI's objects
    {"coll"},  # collectives
    {"api"},  # a function for each call
    {"fortran"},
    {"host"},  # the program that carries thread ranks
    {"launch"},  # mpiexec
)
MOST_FILES = 31  # in a folder
INCLUDE = re.compile(r'\s*#\s*include "([a-z_]+)/')


def sources():
    for folder, _, names in os.walk(SOURCE):
        for name in names:
            if name.endswith((".h", ".c", ".cpp", ".inc")):
                yield os.path.relpath(os.path.join(folder, name), SOURCE)


class Floors(unittest.TestCase):
    def setUp(self):
        self.floor = {folder: number for number, folders in enumerate(FLOORS) for folder in folders}

    def test_every_folder_has_a_floor(self):
        folders = {name for name in os.listdir(SOURCE) if os.path.isdir(os.path.join(SOURCE, name))}
        self.assertEqual(folders, set(self.floor))

    def test_no_arrow_upwards(self):
        wrong = []
        for path in sources():
            own = path.split(os.sep)[0]
            if path.endswith("_test.cpp"):
                continue
            with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
                for line in file:
                    to = INCLUDE.match(line)
                    if to and self.floor.get(to[1], -1) > self.floor[own]:
                        wrong.append(f"src/{path} includes {to[1]}, which is above it")
        self.assertEqual(wrong, [])

    def test_neighbours_are_named(self):
        """What is on one floor is one row of the table: nobody below the host and mpiexec is on two."""
        self.assertEqual(len(self.floor), sum(len(folders) for folders in FLOORS))

    def test_no_folder_is_a_heap(self):
        count = {}
        for path in sources():
            folder = os.path.dirname(path)
            if not folder.endswith("generated") and not path.endswith("_test.cpp"):
                count[folder] = count.get(folder, 0) + 1
        self.assertEqual({folder: files for folder, files in count.items() if files > MOST_FILES}, {})

    def test_a_header_is_implemented_by_the_source_of_its_name(self):
        """A source's first include is the header of its name, if there is one beside it."""
        wrong = []
        paths = set(sources())
        for path in paths:
            header = path[:-4] + ".h"
            if not path.endswith(".cpp") or header not in paths:
                continue
            with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
                first = re.search(r'#include "([^"]+)"', file.read())
            if first is None or first[1] != header:
                wrong.append(f"src/{path} begins with {first and first[1]}")
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(verbosity=1, argv=sys.argv[:1])
