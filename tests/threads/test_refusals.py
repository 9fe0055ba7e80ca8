#!/usr/bin/env python3
"""Which programs are refused as thread ranks, beyond the imports that test_thread_ranks.py goes
through: `meantime check`, --as threads and --as auto agree, and say what to do."""

import os
import platform
import re
import resource
import shutil
import unittest

from threads_case import BIN, BUILD, ThreadsCase, command, deny_list

MAIN = "#include <mpi.h>\nint main(int c, char** v) { MPI_Init(&c, &v); MPI_Finalize(); return 0; }\n"


def rows_of(table):
    text = deny_list()
    text = text[text.index(table + "[]"):]
    text = text[:text.index("\n};")]
    for row in re.findall(r"\{((?:\s*\"[^\"]*\",?)+)\s*\}", text, re.S):
        pieces = re.findall(r'((?:"[^"]*"\s*)+)', row)
        words = ["".join(re.findall(r'"([^"]*)"', piece)) for piece in pieces]
        yield words[0].split(), words[1], words[2]


class Refusals(ThreadsCase):
    def refused(self, program, problem, headline="processes only"):
        """By all three, with the same reason; as processes it starts."""
        checked = command(os.path.join(BIN, "meantime"), "check", program, env=self.environment)
        self.assertEqual(checked.returncode, 1, checked.stdout + checked.stderr)
        self.assertRegex(checked.stdout.splitlines()[0], headline + "$")
        self.assertIn(problem, checked.stdout)
        result = self.run_ranks(2, program)
        self.assertEqual(result.returncode, 1, self.text)
        self.assertIn(problem, result.stderr)
        result = self.run_ranks(2, program, kind="auto", options=("-v",))
        self.assertIn("ranks are processes", result.stderr)
        self.assertIn(problem, result.stderr)
        return result

    def accepted(self, program):
        checked = command(os.path.join(BIN, "meantime"), "check", program, env=self.environment)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertIn("ok as threads", checked.stdout)
        self.assertEqual(self.run_ranks(2, program).returncode, 0, self.text)
        self.assertNotIn("ranks are processes",
                         self.run_ranks(2, program, kind="auto", options=("-v",)).stderr)

    @unittest.skipUnless(platform.machine() == "x86_64", "a system call in assembly")
    def test_what_would_run_by_being_loaded_is_not_loaded(self):
        """A resolver of an indirect function: `meantime check` runs nothing of a program."""
        mark = os.path.join(self.folder, "resolved")
        program = self.build(r'''
            #include <fcntl.h>
            #include <mpi.h>
            #include <sys/syscall.h>
            static int chosen(void) { return 0; }
            static void* choose(void) {  /* before libc can be called */
              long result;
              __asm__ volatile("syscall" : "=a"(result)
                               : "0"((long)SYS_open), "D"(MARK), "S"((long)(O_CREAT | O_WRONLY)), "d"(0644L)
                               : "rcx", "r11", "memory");
              return chosen;
            }
            int function(void) __attribute__((ifunc("choose")));
            int main(int c, char** v) { MPI_Init(&c, &v); MPI_Finalize(); return function(); }''',
                             f'-DMARK="{mark}"', name="chooses")
        checked = command(os.path.join(BIN, "meantime"), "check", program, env=self.environment)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertIn("chooses was not loaded for a trial", checked.stdout)
        self.assertFalse(os.path.exists(mark))
        self.accepted(program)
        self.assertTrue(os.path.exists(mark))

    def test_an_allocator_of_its_own(self):
        (names, reason, remedy), = rows_of("denied_definitions")
        self.assertIn("malloc", names)
        text = "#include <stddef.h>\nvoid* %s(size_t bytes, size_t more) { return NULL; }\n"
        for name in names:
            self.build_library(text % name + "int mine(void) { return 1; }\n", "-fno-builtin", "-w",
                               name="own_" + name)
            program = self.build("#include <stddef.h>\nint mine(void);\n"
                                 "int main(int c, char** v) { return c > 9 ? mine() : 0; }\n",
                                 *self.with_libraries("own_" + name), name="with_own_" + name)
            checked = command(os.path.join(BIN, "meantime"), "check", program, env=self.environment)
            self.assertEqual(checked.returncode, 1, checked.stdout)
            line = f"{name} (in libown_{name}.so): {reason}; {remedy} -lown_{name}"
            self.assertIn(line, checked.stdout)
            self.assertIn(line, self.run_ranks(2, program).stderr)

    def test_variables_of_libc_that_it_goes_by(self):
        for names, reason, remedy in rows_of("denied_data"):
            for name in names:
                program = os.path.join(self.folder, "data_" + name)
                with open(program + ".c", "w") as file:
                    file.write(f"extern int {name};\nint main(int c, char** v) "
                               f"{{ return c > 9 ? {name} : 0; }}\n")
                if command("cc", "-w", program + ".c", "-o", program).returncode != 0:
                    continue  # libc keeps it for old programs
                self.refused(program, f"{name}: {reason}; {remedy}")

    @unittest.skipUnless(shutil.which("gfortran"), "no gfortran")
    def test_signals_of_fortran(self):
        for call in ("call signal(10, handler)", "call alarm(1, handler)"):
            path = os.path.join(self.folder, "signals.f90")
            with open(path, "w") as file:
                file.write(f"program signals\n  intrinsic :: signal, alarm\n  external :: handler\n"
                           f"  {call}\nend program\nsubroutine handler()\nend subroutine\n")
            program = self.build_fortran(path, "-w", name="signals_" + call.split("(")[0][5:])
            checked = command(os.path.join(BIN, "meantime"), "check", program, env=self.environment)
            self.assertEqual(checked.returncode, 1, checked.stdout)
            self.assertRegex(checked.stdout, r"_gfortran_(signal|alarm)_sub\w*: .*process.*; leave")

    def test_other_builds(self):
        headline = "processes only, as it is built; ok as threads after this"
        self.refused(self.build(MAIN, "-no-pie", "-fno-pie", name="fixed"),
                     "it is linked for one address; build it with -fPIE and link it with -pie", headline)
        for flag in ("-static", "-static-pie"):
            program = os.path.join(self.folder, "linked" + flag)
            with open(program + ".c", "w") as file:
                file.write("int main(void) { return 0; }\n")
            if command("cc", flag, program + ".c", "-o", program).returncode == 0:
                self.refused(program, "it is linked statically; link it without -static", headline)
        program = self.build("#include <unistd.h>\n" + MAIN.replace("return 0", "return c > 9 ? fork() : 0"),
                             "-no-pie", "-fno-pie", name="fixed_forks")
        checked = command(os.path.join(BIN, "meantime"), "check", program, env=self.environment)
        self.assertRegex(checked.stdout, r": processes only\n[^\0]*fork: a child would be")

    def test_flags_that_make_it_a_processes_program(self):
        """Each has the flag named that it was built with, and goes as threads without."""
        headline = "processes only, as it is built; ok as threads after this"
        self.accepted(self.build(MAIN, name="without_flags"))
        for flag in ("-fsanitize=address", "-fsanitize=undefined", "-fsanitize=thread",
                     "-fsanitize=leak", "-fsanitize=address -static-libasan", "--coverage",
                     "-fprofile-generate", "-pg", "-fsplit-stack"):
            source = os.path.join(self.folder, "flags.c")
            with open(source, "w") as file:
                file.write(MAIN.replace("return 0", "return c + c > 1000"))
            program = os.path.join(self.folder, "with" + flag.replace(" ", ""))
            if command(os.path.join(BIN, "mpicc"), *flag.split(), source, "-o",
                       program).returncode != 0:
                continue  # its libraries are not installed
            checked = command(os.path.join(BIN, "meantime"), "check", program, env=self.environment)
            self.assertEqual(checked.returncode, 1, flag + checked.stdout)
            self.assertRegex(checked.stdout.splitlines()[0], headline + "$", flag)
            lines = checked.stdout.splitlines()[1:]
            for line in lines:
                if not line.startswith("  note:"):
                    self.assertRegex(line, r"; build without .*" + re.escape(
                        flag.split("=")[0].split()[0]))
            self.assertGreater(len(lines), 0)
        for flag in ("-static-libgcc", "-Wl,-z,nodlopen", "-fopenmp", "-Wl,-z,now", "-rdynamic",
                     "-Wl,-z,norelro", "-fno-plt", "-Wl,-Bsymbolic", "-s"):
            self.accepted(self.build(MAIN, flag, name="flag" + flag.replace(",", "_")))

    def test_missing_libraries_are_named(self):
        self.build_library("int there(void) { return 1; }\n", name="gone")
        self.build_library("int there(void); int caller(void) { return there(); }\n",
                           *self.with_libraries("gone"), name="caller")
        program = self.build("int caller(void);\nint main(int c, char** v) "
                             "{ return c > 9 ? caller() : 0; }\n", *self.with_libraries("caller"),
                             name="without")
        self.accepted(program)
        os.unlink(os.path.join(self.folder, "libgone.so"))
        checked = command(os.path.join(BIN, "meantime"), "check", program, env=self.environment)
        self.assertEqual(checked.returncode, 1, checked.stdout)
        self.assertIn("libgone.so is not found, which libcaller.so needs; tell LD_LIBRARY_PATH",
                      checked.stdout)
        self.assertIn("libgone.so is not found", self.run_ranks(2, program).stderr)

    def test_who_loads_it_says_the_last_word(self):
        """A symbol that nobody has: no list knows, the trial start does."""
        self.build_library("int there(void) { return 1; }\n", name="changes")
        program = self.build("int there(void);\nint main(int c, char** v) "
                             "{ return c > 9 ? there() : 0; }\n", *self.with_libraries("changes"),
                             "-Wl,-z,now", name="changed")
        self.accepted(program)
        self.build_library("int other(void) { return 1; }\n", name="changes")
        checked = command(os.path.join(BIN, "meantime"), "check", program, env=self.environment)
        self.assertEqual(checked.returncode, 1, checked.stdout)
        self.assertIn(f"{program}: undefined symbol: there", checked.stdout)  # and no name of a copy
        result = self.run_ranks(2, program)
        self.assertEqual(result.returncode, 1, self.text)
        self.assertIn("undefined symbol: there", result.stderr)
        self.assertIn("undefined symbol: there",
                      self.run_ranks(2, program, kind="auto", options=("-v",)).stderr)

    def test_what_may_want_a_higher_thread_level(self):
        """--as auto breaks no program that starts threads and asks MPI for a level; --as threads is for who knows better."""
        text = ("#include <mpi.h>\n#include <pthread.h>\nstatic void* call(void* x) { return x; }\n"
                "int main(int c, char** v) { int provided; pthread_t thread;\n"
                "if (LEVEL) MPI_Init_thread(&c, &v, MPI_THREAD_MULTIPLE, &provided); else MPI_Init(&c, &v);\n"
                "if (THREAD) { pthread_create(&thread, 0, call, 0); pthread_join(thread, 0); }\n"
                "MPI_Finalize(); return 0; }\n")
        program = self.build(text, "-O1", "-pthread", "-DLEVEL=1", "-DTHREAD=1", name="both")
        doubt = ("MPI_Init_thread and pthread_create: thread ranks have MPI_THREAD_FUNNELED at most; if no other thread than "
                 "the one that starts MPI calls it, --as threads runs it")
        checked = command(os.path.join(BIN, "meantime"), "check", program, env=self.environment)
        self.assertEqual(checked.returncode, 1, checked.stdout + checked.stderr)
        self.assertEqual(checked.stdout, f"{program}: processes with --as auto; --as threads if you know better\n  {doubt}\n")
        result = self.run_ranks(2, program, kind="auto", options=("-v",))
        self.assertIn("ranks are processes: ", result.stderr)
        self.assertIn(doubt, result.stderr)
        self.assertEqual((result.returncode, self.run_ranks(2, program).returncode), (0, 0), self.text)
        teams = self.build("#include <mpi.h>\nint main(int c, char** v) { int provided, i, sum = 0;\n"
                           "MPI_Init_thread(&c, &v, MPI_THREAD_FUNNELED, &provided);\n"
                           "#pragma omp parallel for reduction(+:sum)\nfor (i = 0; i < 9; ++i) sum += i;\n"
                           "MPI_Finalize(); return sum != 36; }\n", "-fopenmp", name="teams")
        result = self.run_ranks(2, teams, kind="auto", options=("-v",))
        self.assertIn("MPI_Init_thread and OpenMP: thread ranks have", result.stderr)
        self.assertEqual(self.run_ranks(2, teams).returncode, 0, self.text)
        self.accepted(self.build(text, "-O1", "-pthread", "-DLEVEL=0", "-DTHREAD=1", name="thread"))
        level = self.build(text, "-O1", "-pthread", "-DLEVEL=1", "-DTHREAD=0", name="level")
        self.accepted(level)
        note = ("MPI_Init_thread: thread ranks are given MPI_THREAD_FUNNELED at most; if the program insists on more, "
                "start it as processes")
        checked = command(os.path.join(BIN, "meantime"), "check", level, env=self.environment)
        self.assertEqual((checked.returncode, checked.stdout),
                         (0, f"{level}: ok as threads (mpiexec --as threads)\n  note: {note}\n"), checked.stderr)
        self.assertNotIn("MPI_Init_thread", self.run_ranks(2, level, kind="auto", options=("-v",)).stderr)

    def test_meantime_s_own_library_asks_for_no_level(self):
        """That for Fortran has all of MPI's functions in it, whichever the program calls."""
        text = ("program teams\n  integer :: error, provided, i, total = 0\n  call {call}\n"
                "  !$omp parallel do reduction(+:total)\n  do i = 1, 9\n    total = total + i\n  end do\n"
                "  call MPI_Finalize(error)\n  if (total /= 45) stop 1\nend program\n")
        for name, call in (("plain", "MPI_Init(error)"), ("level", "MPI_Init_thread(3, provided, error)")):
            path = os.path.join(self.folder, name + ".f90")
            with open(path, "w") as file:
                file.write(text.format(call=call))
            program = self.build_fortran(path, "-fopenmp", "-L", os.path.join(BUILD, "lib"), "-lmeantime_gfortran",
                                         name=name)
            if name == "plain":
                self.accepted(program)
            else:
                checked = command(os.path.join(BIN, "meantime"), "check", program, env=self.environment)
                self.assertEqual(checked.returncode, 1, checked.stdout)
                self.assertIn("MPI_Init_thread and OpenMP: thread ranks have", checked.stdout)

    def test_functions_of_its_own_by_denied_names(self):
        self.build_library("int fork(void) { return 3; }\nint nice(int n) { return n; }\n", name="names")
        self.build_library("int nice(int);\nint caller(void) { return nice(2); }\n",
                           *self.with_libraries("names"), name="calls_names")
        program = self.build("#include <mpi.h>\nint fork(void);\nint nice(int);\nint caller(void);\n"
                             "int main(int c, char** v) { MPI_Init(&c, &v); MPI_Finalize();\n"
                             "return fork() != 3 || nice(4) != 4 || caller() != 2; }\n",
                             *self.with_libraries("names", "calls_names"), name="own_names")
        self.accepted(program)

    def test_few_addresses(self):
        """Where ulimit -v leaves enough threads start; --as auto does not rely on it."""
        program = self.build(MAIN, name="few_addresses")

        def limited(kind, ranks, gigabytes):
            limits = (int(gigabytes * 2**30),) * 2
            return self.run_ranks(ranks, program, kind=kind, options=("-v",),
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limits))
        result = limited("threads", 16, 4)
        self.assertEqual(result.returncode, 0, self.text)
        self.assertIn("16 thread ranks are pid", result.stderr)
        result = limited("auto", 100, 4)
        self.assertEqual(result.returncode, 0, self.text)
        self.assertIn("ranks are processes: the address space of one process is too small for 100 ranks (ulimit -v)",
                      result.stderr)
        for ranks, gigabytes in ((100, 1), (4, 0.01)):
            result = limited("threads", ranks, gigabytes)
            self.assertNotEqual(result.returncode, 0, self.text)
            self.assertIn("ulimit -v", result.stderr)
            # No thread of a rank goes on with what is gone.
            self.assertTrue(gigabytes < 1 or "was killed" not in result.stderr, self.text)

    def test_that_may_not_be_read(self):
        program = self.build(MAIN, name="unreadable")
        os.chmod(program, 0o111)
        for folder in (self.folder, self.temporary):
            os.chmod(folder, 0o777)
        nobody = 65534 if os.geteuid() == 0 else None
        result = self.run_ranks(1, program, user=nobody)
        self.assertEqual(result.returncode, 1, self.text)
        self.assertIn(f"'{program}' cannot be read: Permission denied", result.stderr)


if __name__ == "__main__":
    unittest.main()
