"""libmpi_abi.so.1 as a file: what it shows to programs and what it needs from the system."""
import os
import re
import subprocess
import unittest

LIBRARY = os.path.join(os.environ["MEANTIME_BUILD"], "lib", "libmpi_abi.so.1")
# meantime_host_*: for the program that carries thread ranks (src/protocol/host_interface.h); the last: for the Fortran library.
ALLOWED = r"P?MPIX?_\w+|meantime_host_\w+|meantime_announce_call_site"


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Library(unittest.TestCase):
    def test_exports_only_mpi_names(self):
        names = [line.split()[-1] for line in output("nm", "-D", "--defined-only", LIBRARY).splitlines()]
        strange = [name for name in names if not re.fullmatch(ALLOWED, name)]
        self.assertEqual(strange, [])

    def test_needs_only_the_c_library(self):
        """No C++ runtime: it would cost each rank start time and could clash with the program's. But
        the unwinder must be the program's, for what users' callbacks throw."""
        needed = re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", LIBRARY))
        allowed = re.compile(r"lib(c|m)\.so\.6|libgcc_s\.so\.1|ld-linux-.*")
        self.assertEqual([name for name in needed if not allowed.fullmatch(name)], [])

    def test_name(self):
        self.assertIn("soname: [libmpi_abi.so.1]", output("readelf", "-d", LIBRARY))

    def test_leaves_nothing_to_the_end_of_a_rank(self):
        """Of a local static object with a destructor the first rank of a host would have the end, while others use it."""
        functions = re.findall(r"(?m)^[0-9a-f]+ <(.*)>:\n((?: .*\n)+)", output("objdump", "-d", "-C", "--no-show-raw-insn", LIBRARY))
        self.assertGreater(len(functions), 1000)
        self.assertEqual([name for name, code in functions if name.startswith("meantime::") and "<__cxa_atexit@plt>" in code], [])

    def test_no_executable_stack_and_no_text_relocations(self):
        segments = output("readelf", "-lW", LIBRARY)
        self.assertNotRegex(segments, r"GNU_STACK.*RWE")
        self.assertNotIn("TEXTREL", output("readelf", "-d", LIBRARY))


if __name__ == "__main__":
    unittest.main()
