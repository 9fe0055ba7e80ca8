"""A process rank that crashes says where, by line, and dies as it would have."""

import os
import re
import resource
import signal
import subprocess
import unittest

from mpiexec import BUILD, CFLAGS, SOURCE, MpiexecTest, main

MPICC = os.path.join(BUILD, "bin", "mpicc")
PROGRAM = os.path.join(SOURCE, "tests", "launch", "crash.c")


@unittest.skipIf(CFLAGS, "a sanitizer tells of crashes itself")
class Crash(MpiexecTest):
    def program(self, *flags):
        program = self.path("crash")
        subprocess.run([MPICC, "-g", "-O1", "-w", *flags, PROGRAM, "-lpthread", "-o", program], check=True)
        return program

    def crash(self, program, how, number, *frames, words=(), **options):
        """Each of `frames` is in the backtrace, in this order."""
        result = self.run_job(*words, "-n", 3, program, how, **options)
        self.assertEqual(result.status, 128 + number, result)
        self.assert_quick(result.seconds, 3)
        self.assertRegex(result.error, r"(?s)^mpiexec: rank 1 \(pid \d+ on \S+\) was killed by signal "
                         rf"{number:d} \(.*?{'.*'.join(frames)}")
        self.assertEqual(len(re.findall("was killed", result.error)), 1, result)
        return result

    def test_kinds(self):
        for flags in ((), ("-no-pie",)):
            program = self.program(*flags)
            self.crash(program, "null", signal.SIGSEGV, r" at address 0x0\n  #0 \S+ \(deref, crash.c:\d+\)\n",
                       r"\(crash, crash.c:")
            self.crash(program, "abort", signal.SIGABRT, r"abort\+", r"\(crash, crash.c:")
            self.crash(program, "thread", signal.SIGSEGV, r"\(deref, ", r"\(in_thread, ")
            self.crash(program, "buffer", signal.SIGSEGV, " at address 0x10", r"MPI_Recv\+", r"\(crash, crash.c:")
            # Each fragment that is looked at once more would take its time.
            self.crash(program, "large", signal.SIGSEGV, " at address 0x10", r"MPI_Send\+", r"\(crash, crash.c:")
            self.crash(program, "late", signal.SIGSEGV, r" after MPI_Finalize at address 0x0\n  #0 \S+ \(deref, ",
                       r"\(main, crash.c:")
            if os.uname().machine == "x86_64":
                self.crash(program, "no address", signal.SIGSEGV, r"Segmentation fault\)\n  #0 \S+ \(deref, ")
            self.crash(program, "nowhere", signal.SIGSEGV, " at address 0x1234", "#0 0x1234", r"\(crash, crash.c:")
            result = self.crash(program, "stack", signal.SIGSEGV, "its stack is full",
                                r"\(deeper, crash.c:", r"… and \d\d frames more of the same")
            self.assertLess(result.error.count("\n"), 12, result)

    def test_functions_of_a_stripped_program(self):
        """The nearest symbol before an address is another function: rather no name."""
        program = self.path("crash")
        subprocess.run([MPICC, "-O1", "-w", "-s", "-Wl,-E", PROGRAM, "-lpthread", "-o", program], check=True)
        self.crash(program, "null", signal.SIGSEGV, r"  #0 crash\+0x\w+\n", r"\(main\+")

    def test_elsewhere(self):
        """By a relative name in another folder, and under a shell that lives on."""
        program = self.program()
        folder, name = os.path.split(program)
        self.crash(f"./{name}", "null", signal.SIGSEGV, r"\(deref, crash.c:", words=("-wdir", folder))
        result = self.run_job("-n", 2, "sh", "-c", f"{program} null; sleep 60")
        self.assertEqual(result.status, 128 + signal.SIGSEGV, result)
        self.assertIn("(deref, crash.c:", result.error)

    def test_who_handles_it_is_asked(self):
        program = self.program()
        result = self.crash(program, "own", signal.SIGSEGV)
        self.assertEqual(result.output, "own handler\n")
        self.assertNotIn("#0", result.error)
        self.assertNotIn("#0", self.crash(program, "killed", signal.SIGKILL).error)
        self.assertNotIn("#0", self.crash(program, "null", signal.SIGSEGV,
                                          words=("-x", "MEANTIME_BACKTRACE=0")).error)

    def test_names_of_templates(self):
        program = self.path("templates")
        subprocess.run([MPICC.replace("mpicc", "mpicxx"), "-g", "-O0", "-x", "c++", "-", "-o", program], check=True,
                       input=b"""#include <mpi.h>
                                 template <class F> void call(F function) { function(); }
                                 static void crash() { *(volatile int*)nullptr = 1; }
                                 int main() { MPI_Init(0, 0); call(crash); call([] {}); }""")
        result = self.run_job("-n", 1, program)
        self.assertRegex(result.error, r"\n  #1 templates\+0x\w+ \([^\n]*call<void \(\*\)\(\)>[^\n]*, <stdin>:2\)\n")

    def test_a_core_is_told_after_the_address(self):
        with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as pattern:
            if pattern.read().startswith("|"):
                self.skipTest("cores go to a program")
        self.crash(self.program(), "null", signal.SIGSEGV, r" at address 0x0, core dumped\n  #0 ",
                   words=("-wdir", self.path("")), preexec_fn=lambda: resource.setrlimit(
                       resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2))

    def test_has_an_end(self):
        """Also where a thread keeps the run-time linker's lock, which a backtrace needs, for ever."""
        library = self.path("for_ever.so")
        subprocess.run([MPICC, "-shared", "-fPIC", "-x", "c", "-", "-o", library], check=True,
                       input=b"#include <unistd.h>\n__attribute__((constructor)) static void stay(void) { for (;;) pause(); }")
        result = self.run_job("-n", 3, self.program("-ldl"), library, timeout=40)
        self.assertEqual(result.status, 128 + signal.SIGSEGV, result)

    def test_a_child_is_not_the_rank(self):
        result = self.run_job("-n", 3, self.program(), "child")
        self.assertEqual((result.status, result.output, result.error), (0, "child: signal 11\n", ""))


if __name__ == "__main__":
    main()
