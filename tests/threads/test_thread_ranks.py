#!/usr/bin/env python3
"""mpiexec --as threads: what each rank keeps to itself, how ranks end, what is refused."""

import ctypes
import os
import re
import resource
import shutil
import subprocess
import tempfile
import unittest

from threads_case import deny_list

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MEANTIME_BUILD", os.path.join(SOURCE, "build"))
HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.join(BUILD, "bin")


def command(*words, **options):
    options.setdefault("timeout", 60)
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          errors="replace", stdin=options.pop("stdin", subprocess.DEVNULL), **options)


class ThreadRanks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(BUILD, "libexec/meantime/meantime-host")):
            raise unittest.SkipTest("this build has no thread ranks")
        cls.folder = tempfile.TemporaryDirectory()
        cls.temporary = os.path.join(cls.folder.name, "tmp")
        os.mkdir(cls.temporary)
        cls.environment = dict(os.environ, TMPDIR=cls.temporary)
        for name in list(cls.environment):
            if name.startswith("MEANTIME_") or name == "LD_LIBRARY_PATH":
                del cls.environment[name]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def build(self, source, *flags, wrapper="mpicc", name=None):
        """Compiles a file of this folder, or a text, to a program; returns its path."""
        target = os.path.join(self.folder.name, name or re.sub(r"\W", "_", source)[:40])
        if os.path.exists(target):
            return target
        if "\n" in source or "(" in source:
            path = target + ".c"
            with open(path, "w") as file:
                file.write(source)
        else:
            path = os.path.join(HERE, source)
        done = command(os.path.join(BIN, wrapper), "-O2", path, *flags, "-o", target)
        self.assertEqual(done.returncode, 0, done.stderr)
        return target

    def run_ranks(self, ranks, *words, options=(), **more):
        more.setdefault("cwd", self.temporary)
        result = command(os.path.join(BIN, "mpiexec"), "--as", "threads", *options, "-n", ranks,
                         *words, env=self.environment, **more)
        self.text = f"status {result.returncode}\n{result.stdout}\n{result.stderr}"
        return result

    def assert_right(self, result):
        self.assertEqual(result.returncode, 0, self.text)
        self.assertRegex(result.stdout, r"(?m)^ No Errors$", self.text)

    # --- private

    def test_profiling_library(self):
        """A library that wraps MPI calls, as Score-P's: the calls of the program and of another library
        of it come by, each rank's in its own copy; as processes and as threads."""
        library = self.build("profiler.c", "-shared", "-fPIC", name="libprofiler.so")
        caller = self.build("profiled_library.c", "-shared", "-fPIC", name="libcaller.so")
        program = self.build("profiled.c", f"-L{self.folder.name}", "-Wl,--no-as-needed", "-lprofiler",
                             "-lcaller", f"-Wl,-rpath,{self.folder.name}")
        self.assertTrue(library and caller)
        expected = [f"rank {rank}: {3 + rank} MPI_Send, {3 + rank} MPI_Recv, 1 MPI_Barrier, 1 MPI_Init"
                    for rank in range(4)]
        threads = self.run_ranks(4, program)
        self.assertEqual(threads.returncode, 0, self.text)
        self.assertEqual(sorted(threads.stdout.splitlines()), expected, self.text)
        processes = command(os.path.join(BIN, "mpiexec"), "-n", 4, program, env=self.environment)
        self.assertEqual(sorted(processes.stdout.splitlines()), expected, processes.stderr)

    def test_c(self):
        library = os.path.join(self.folder.name, "libprivate.so")
        done = command("cc", "-O2", "-shared", "-fPIC", os.path.join(HERE, "private_library.c"), "-o",
                       library)
        self.assertEqual(done.returncode, 0, done.stderr)
        program = self.build("private_c.c", "-L", self.folder.name, "-lprivate", "-lm", "-pthread",
                             f"-Wl,-rpath,{self.folder.name}")
        stripped = program + ".stripped"
        command("strip", "-o", stripped, program)
        for ranks in (1, 2, 3, 16, 64):
            self.assert_right(self.run_ranks(ranks, program))
        self.assert_right(self.run_ranks(5, stripped))

    def test_cxx(self):
        program = self.build("private_cxx.cpp", "-std=c++17", "-pthread", wrapper="mpicxx")
        for ranks in (1, 2, 7, 64):
            self.assert_right(self.run_ranks(ranks, program))

    def test_fortran(self):
        compiler = shutil.which("gfortran")
        if compiler is None:
            self.skipTest("no gfortran")
        program = os.path.join(self.folder.name, "private_fortran")
        done = command(compiler, "-O2", os.path.join(HERE, "private_fortran.f90"), "-o", program,
                       "-J", self.folder.name, "-L", os.path.join(BUILD, "lib"), "-lmpi_abi")
        self.assertEqual(done.returncode, 0, done.stderr)
        for ranks in (1, 2, 7, 32):
            self.assert_right(self.run_ranks(ranks, program))

    def test_openmp(self):
        program = self.build("""
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
int main(int c, char** v) {
  int provided, rank, sum = 0, all = 0;
  MPI_Init_thread(&c, &v, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (provided != MPI_THREAD_FUNNELED) return 1;
  omp_set_num_threads(3);
#pragma omp parallel reduction(+ : sum)
  sum += 100 * rank + omp_get_thread_num() + 1;
  MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (sum != 300 * rank + 6) return 2;
  if (rank == 0) printf(" No Errors\\n");
  return 0;
}""", "-fopenmp", name="openmp")
        self.assert_right(self.run_ranks(4, program))

    # --- scheduling

    def test_a_rank_that_sleeps_holds_nobody_up(self):
        """Whatever call it sleeps in: the others of its one worker wake it."""
        program = self.build("sleepers.c", "-pthread")
        calls = ("read poll ppoll select pselect epoll_wait stdio nanosleep clock_nanosleep usleep sleep system "
                 "pclose waitpid wait waitid pthread_join flock fcntl accept recv sem_wait mutex "
                 "rwlock pthread_cond_wait cnd_wait thrd_join connect futex semop msgrcv").split()
        one = min(os.sched_getaffinity(0))
        with tempfile.TemporaryDirectory() as folder:
            self.assert_right(self.run_ranks(6, program, *calls, cwd=folder, timeout=200,
                                             preexec_fn=lambda: os.sched_setaffinity(0, {one})))

    def test_a_rank_that_pauses(self):
        """Nothing wakes it: no rank has signal handlers. The others go on, until one ends the job."""
        program = self.build("#include <mpi.h>\n#include <unistd.h>\nint main(int c, char** v) {\n"
                             "int r, i; MPI_Comm others; MPI_Init(&c, &v);\n"
                             "MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
                             "MPI_Comm_split(MPI_COMM_WORLD, r == 1, r, &others);\n"
                             "if (r == 1) pause();\n"
                             "for (i = 0; i < 100; i++) MPI_Barrier(others);\n"
                             "if (r == 0) MPI_Abort(MPI_COMM_WORLD, 17);\n"
                             "MPI_Barrier(MPI_COMM_WORLD); return 0; }\n", name="pauses")
        one = min(os.sched_getaffinity(0))
        self.assertEqual(self.run_ranks(6, program, preexec_fn=lambda: os.sched_setaffinity(
            0, {one})).returncode, 17, self.text)

    def test_a_rank_that_only_tests_starves_nobody(self):
        for ranks in (2, 3, 16):
            self.assert_right(self.run_ranks(ranks, self.build("ends.c"), "tests"))

    def test_yield(self):
        # Two ranks of one worker take turns by nothing else; as processes they only must not stop.
        program = self.build("#include <meantime.h>\n#include <stdio.h>\nint main(int c, char** v) {\n"
                             "int r, i; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
                             "for (i = 0; i < 1000; i++) if (MPIX_Yield() != MPI_SUCCESS) return 1;\n"
                             "MPI_Finalize(); if (r == 0) printf(\" No Errors\\n\"); return 0; }\n",
                             name="yields")
        self.assert_right(self.run_ranks(4, program))
        result = command(os.path.join(BIN, "mpiexec"), "-n", 2, program, env=self.environment)
        self.assertIn(" No Errors", result.stdout, result.stderr)

    def cpus(self, ranks, *options):
        """On which CPU each rank runs once all have met."""
        program = self.build("#define _GNU_SOURCE\n#include <mpi.h>\n#include <sched.h>\n"
                             "#include <stdio.h>\nint main(int c, char** v) { int r;\n"
                             "MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
                             "MPI_Barrier(MPI_COMM_WORLD); printf(\"%d %d\\n\", r, sched_getcpu());"
                             "MPI_Finalize(); return 0; }", name="placement")
        result = self.run_ranks(ranks, program, options=("--balance", "none", *options))
        self.assertEqual(result.returncode, 0, self.text)
        return dict(map(int, line.split()) for line in result.stdout.splitlines())

    def test_placement(self):
        workers = min(len(os.sched_getaffinity(0)), 8)
        for options, group in (((), lambda r: r * workers // 8),
                               (("--place", "round-robin"), lambda r: r % workers)):
            cpus = {}
            for rank, cpu in self.cpus(8, *options).items():
                cpus.setdefault(group(rank), set()).add(cpu)
            self.assertEqual(len(cpus), workers, self.text)
            if workers == len(os.sched_getaffinity(0)):  # else nothing is bound
                self.assertTrue(all(len(each) == 1 for each in cpus.values()), self.text)

    def test_placement_by_a_file(self):
        path = os.path.join(self.folder.name, "map")
        workers = min(len(os.sched_getaffinity(0)), 4)
        numbers = [0, workers - 1, workers - 1, 0]

        def run(text):
            with open(path, "w") as file:
                file.write(text)
            return self.run_ranks(4, self.build("ends.c"), options=["--place", "file:" + path])

        run("# which worker\n\n" + "".join(f" {each} # here\n" for each in numbers))
        cpus = self.cpus(4, "--place", "file:" + path)
        if len(os.sched_getaffinity(0)) <= 4:  # else nothing is bound
            self.assertEqual((cpus[0], cpus[1]), (cpus[3], cpus[2]), self.text)
            self.assertTrue(workers == 1 or cpus[0] != cpus[1], self.text)
        for text, problem in (("0\n0\nx\n0\n", "line 3: 'x' is no worker's number"),
                              ("0\n0\n99\n0\n", "line 3: there is no worker 99: they are 0 to "),
                              ("0\n-1\n0\n0\n", "line 2: there is no worker -1"),
                              ("0\n" * 5, "line 5: one too many, there are 4 ranks"),
                              ("0\n# none\n", "ends at line 2 with 1 of 4 ranks")):
            result = run(text)
            self.assertEqual(result.returncode, 1, self.text)
            self.assertIn(f"{path}", result.stderr)
            self.assertIn(problem, result.stderr)
        os.unlink(path)
        result = self.run_ranks(4, self.build("ends.c"), options=["--place", "file:" + path])
        self.assertIn("No such file", self.text)
        os.mkfifo(path)
        for name in (path, "/dev/zero", self.folder.name):
            self.run_ranks(4, self.build("ends.c"), options=["--place", "file:" + name])
            self.assertIn(f"--place file:{name}: it is not a regular file", self.text)

    def test_ranks_that_hold_their_worker_up(self):
        program = self.build("held_up.c", "-pthread")
        for way in ("flag", "file", "pipe", "sleep", "mutex"):
            for ranks in (4, 16):
                with self.subTest(way, ranks=ranks):
                    result = self.run_ranks(ranks, program, way)
                    self.assert_right(result)
                    call = {"pipe": "read", "sleep": "nanosleep", "mutex": "a lock"}.get(way, "none")
                    for line in result.stderr.splitlines():  # at most one
                        self.assertRegex(line, r"rank \d+ sleeps in the kernel and holds up .* core"
                                               f"(, in {call}.*)?; they go on")
                    self.assertLessEqual(len(result.stderr.splitlines()), 1)
                    made = os.path.join(self.temporary, "made-by-the-last")
                    if os.path.exists(made):
                        os.unlink(made)

    def test_a_rank_sleeps_and_63_exchange(self):
        self.assert_right(self.run_ranks(64, self.build("held_up.c", "-pthread"), "exchange"))
        self.assertEqual(self.text.count("rank"), 0, self.text)  # nobody was held up

    def test_what_is_a_ranks_moves_with_it(self):
        program = self.build("moves.c", "-lm")
        cxx = self.build("private_cxx.cpp", "-std=c++17", "-pthread", wrapper="mpicxx")
        environment = dict(self.environment, MEANTIME_TEST_ALWAYS_MOVE="1")
        for ranks in (3, 16, 64):
            result = command(os.path.join(BIN, "mpiexec"), "--as", "threads", "-n", ranks, program,
                             "always", env=environment)
            self.text = result.stdout + result.stderr
            self.assert_right(result)
            if len(os.sched_getaffinity(0)) > 1 and ranks > 3:  # three may find all that they wait for
                self.assertGreater(int(result.stdout.split()[0]), 0, self.text)
            self.assert_right(command(os.path.join(BIN, "mpiexec"), "--as", "threads", "-n", ranks,
                                      cxx, env=environment))

    @unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "needs two CPUs")
    def test_an_idle_worker_takes_ranks(self):
        program = self.build("moves.c", "-lm")
        result = self.run_ranks(8, program, "balance")
        self.assert_right(result)
        self.assertGreater(int(result.stdout.split()[0]), 0, self.text)
        # Also one whose ranks do not want it to look while they wait.
        result = self.run_ranks(8, program, "balance", 200, options=("-x", "MEANTIME_ENERGY=powersave"))
        self.assert_right(result)
        self.assertGreater(int(result.stdout.split()[0]), 0, self.text)
        result = self.run_ranks(8, program, "balance", 5, options=("--balance", "none"))
        self.assert_right(result)
        if "MEANTIME_WORKERS" not in os.environ:
            self.assertIn("0 moves", result.stdout)

    # --- ends

    def ends(self, way, status, *patterns, ranks=4):
        result = self.run_ranks(ranks, self.build("ends.c"), way)
        self.assertEqual(result.returncode, status, self.text)
        for pattern in patterns:
            self.assertRegex(result.stderr, pattern)

    def test_crash_names_the_rank_and_the_place(self):
        self.ends("segv", 139, r"rank 1 .*signal 11.*address 0x8",
                  r"#0 ends_c\+0x[0-9a-f]+ \(write_to[.\w]*\+0x", r"#1 ends_c\+0x[0-9a-f]+ \(main[.\w]*\+0x")
        self.ends("abort", 134, r"rank 1 .*signal 6", r"libc.so.6\+0x.* \(abort\+",
                  r"ends_c\+0x[0-9a-f]+ \(main[.\w]*\+0x")
        # By addr2line, which mpiexec asks, but not for long.
        for _ in range(5):
            segv = self.run_ranks(4, self.build("ends.c", "-g", name="ends_g"), "segv")
            if ", ends.c:" in segv.stderr:
                break
        with open(os.path.join(HERE, "ends.c")) as file:
            lines = [number for number, line in enumerate(file, 1) if "*place = " in line or '"segv")) write_to' in line]
        for frame, function, line in ((0, "write_to", lines[0]), (1, "main", lines[1])):
            self.assertRegex(segv.stderr, rf"\n  #{frame} ends_g\+0x[0-9a-f]+ \({function}[.\w]*\+0x[0-9a-f]+"
                             + (rf", ends\.c:{line}\)\n" if shutil.which("addr2line") else r"\)\n"))
        self.ends("pipe", 141, r"rank 1 .*signal 13 \(Broken pipe\)\n$")
        self.ends("jump", 139, r"rank 1 .*address 0x10", r"#0 0x10\n", r"#1 ends_c\+0x.*\(jump_to[.\w]*\+")

        result = self.run_ranks(4, self.build("ends.c"), "segv", options=("-x", "MEANTIME_BACKTRACE=0"))
        self.assertRegex(result.stderr, r"^mpiexec: rank 1 [^\n]*signal 11 \(Segmentation fault\)\n$")
        self.ends("lost", 139, r"rank 1 .*signal 11.*\n *#0 0x0\n.*no more can be read")

    def test_a_signal_that_a_rank_sends_to_itself_names_the_rank(self):
        self.ends("raise", 143, r"mpiexec: rank 1 .*signal 15 \(Terminated\)\n$")
        self.ends("kill", 137, r"mpiexec: rank 1 .*signal 9 \(Killed\)\n$")
        self.ends("pthread_kill", 138, r"mpiexec: rank 1 .*signal 10 \(User defined signal 1\)\n$")
        self.ends("kill_abort", 134, r"rank 1 .*signal 6", r"ends_c\+0x[0-9a-f]+ \(main[.\w]*\+0x")
        self.ends("all_raise", 143, r"mpiexec: rank \d+ .*signal 15 \(Terminated\)\n$", ranks=16)
        self.ends("harmless", 0)

    def test_crash_address_is_what_addr2line_wants(self):
        program = self.build("ends.c", "-g", name="ends_with_lines")
        text = self.run_ranks(2, program, "segv").stderr
        place = re.search(r"#0 ends_with_lines\+(0x[0-9a-f]+)", text).group(1)
        line = command("addr2line", "-f", "-e", program, place).stdout
        self.assertRegex(line, r"write_to[.\w]*\n.*ends\.c:\d+")

    def test_crash_of_a_stripped_cxx_program(self):
        program = self.build("""
#include <mpi.h>
struct Solver { __attribute__((noinline, visibility("default"))) void step(volatile int* at); };
void Solver::step(volatile int* at) { *at = 1; }
int main(int c, char** v) { MPI_Init(&c, &v); Solver().step((volatile int*)16); MPI_Finalize(); }
""", "-x", "c++", "-rdynamic", "-s", wrapper="mpicxx", name="crash_cxx")
        result = self.run_ranks(2, program)
        self.assertEqual(result.returncode, 139, self.text)
        self.assertRegex(result.stderr, r"#0 crash_cxx\+0x\w+ \(Solver::step\(int volatile\*\)\+0x")

    def test_crash_in_the_allocator(self):
        self.ends("heap", 134, r"rank 1 .*signal 6", r"\(spoil_the_heap[.\w]*\+0x")

    def test_all_ranks_crash_at_once(self):
        self.ends("all", 139, r"rank \d+ .*signal 11.*address 0x8", r"#0 ends_c\+0x.*\(write_to[.\w]*\+",
                  ranks=16)

    def test_mpi_is_not_for_a_ranks_threads(self):
        program = self.build("#include <mpi.h>\n#include <pthread.h>\n"
                             "void* call(void* a) { MPI_Barrier(MPI_COMM_WORLD); return a; }\n"
                             "int main(int c, char** v) { pthread_t t; MPI_Init(&c, &v);\n"
                             "pthread_create(&t, 0, call, 0); pthread_join(t, 0); MPI_Finalize(); }",
                             "-pthread", name="calls_from_thread")
        result = self.run_ranks(2, program)
        self.assertEqual(result.returncode, 1, self.text)
        self.assertIn("MPI_Barrier was called by a thread that is no rank", result.stderr)

    def test_full_stack_names_the_rank(self):
        self.ends("stack", 139, r"rank 1 .*its stack is full.*ulimit -s")

    def test_an_array_larger_than_the_stack_is_in_nobody_elses(self):
        limit = resource.getrlimit(resource.RLIMIT_STACK)
        kib = 1024

        def with_stack(size, ranks, addresses=resource.RLIM_INFINITY):
            def limits():
                resource.setrlimit(resource.RLIMIT_STACK, (size, limit[1]))
                resource.setrlimit(resource.RLIMIT_AS, (addresses, resource.RLIM_INFINITY))
            return self.run_ranks(ranks, self.build("ends.c"), "array", preexec_fn=limits)

        for ranks, addresses in ((16, resource.RLIM_INFINITY), (8, 6 * 1024 * 1024 * kib)):
            result = with_stack(8192 * kib, ranks, addresses)
            self.assertEqual(result.returncode, 139, self.text)
            self.assertRegex(result.stderr, r"rank 1 .*its stack is full.*ulimit -s")
            self.assertRegex(result.stderr, r"ends_c\+0x[0-9a-f]+ \(large_frame")
        for size in (1024 * 1024 * kib, resource.RLIM_INFINITY):
            if limit[1] != resource.RLIM_INFINITY and not 0 <= size <= limit[1]:
                continue
            for ranks in (2, 64):
                self.assertEqual(with_stack(size, ranks).returncode, 0, self.text)

    def test_exits(self):
        self.ends("exit", 3, "rank 1 .*ended with status 3 without MPI_Finalize")
        self.ends("_exit", 4, "rank 1 .*ended with status 4 without MPI_Finalize")
        self.ends("status", 5)
        self.ends("mpi_abort", 42, "rank 1 .*MPI_Abort with code 42")

    def test_deadlock(self):
        for ranks in (2, 16):
            self.ends("deadlock", 125, "every rank waits",
                      r"rank 0 .*MPI_Recv for rank 1, tag 77 .*ends_c\+0x", ranks=ranks)
            self.ends("lonely", 125, r"rank 0 .*tag 78", r"rank.* 1(-15: each| .*) has .*inalize", ranks=ranks)

    # --- streams

    def test_labels(self):
        result = self.run_ranks(3, self.build("ends.c"), "labels", options=["-l"])
        self.assertEqual(result.returncode, 0, self.text)
        self.assertEqual(sorted(result.stdout.splitlines()),
                         sorted(f"[{r}] {text}" for r in range(3) for text in (f"out {r}", "raw")))
        self.assertEqual(sorted(result.stderr.splitlines()), [f"[{r}] err {r}" for r in range(3)])

    def test_input_is_rank_0s(self):
        with open(os.path.join(self.folder.name, "line"), "w+") as file:
            file.write("a line\n")
            file.seek(0)
            result = self.run_ranks(3, self.build("ends.c"), "input", stdin=file)
        self.assertEqual(sorted(result.stdout.splitlines()), ["0 read a line", "1 read end",
                                                              "2 read end"], self.text)

    # --- refusals

    def denied(self):
        text = deny_list()
        table = text[text.index("denied_imports[]"):text.index("denied_definitions[]")]
        for row in re.findall(r"\{((?:\s*\"[^\"]*\",?)+)\s*\}", table, re.S):
            pieces = re.findall(r'((?:"[^"]*"\s*)+)', row)
            words = ["".join(re.findall(r'"([^"]*)"', piece)) for piece in pieces]
            yield words[0].split(), words[1], words[2]

    def test_each_denied_import_is_refused_with_reason_and_remedy(self):
        rows = list(self.denied())
        self.assertGreater(len(rows), 10)
        for row, (names, reason, remedy) in enumerate(rows):
            # Without those of another version of libc.
            names = [name for name in names if hasattr(ctypes.CDLL(None), name)]
            if not names:
                continue
            # No header: only the import counts. __typeof__ of nothing in particular.
            program = self.build("int (*volatile pointer)(void);\n" +
                                 "".join(f"int {name}(void);\n" for name in names) +
                                 "int main(int c, char** v) {\n" +
                                 "".join(f"if (c > 99) pointer = {name};\n" for name in names) +
                                 "return 0; }", "-fno-builtin", "-w",
                                 "-Wl,--unresolved-symbols=ignore-all", name=f"denied_{row}")
            self.check(program, 1, "processes only")
            shown = command(os.path.join(BIN, "meantime"), "check", program, env=self.environment).stdout
            for name in names:
                self.assertIn(f"  {name}: {reason}; {remedy}\n", shown)
            result = self.run_ranks(2, program)
            self.assertEqual(result.returncode, 1, names[0] + self.text)
            self.assertIn(f"{names[0]}: {reason}; {remedy}", result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, self.text)

    def check(self, program, status, *patterns):
        result = command(os.path.join(BIN, "meantime"), "check", program, env=self.environment)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        for pattern in patterns:
            self.assertRegex(result.stdout, pattern)

    def test_shapes(self):
        text = "#include <unistd.h>\nint main(void) { return getpid() == 1; }\n"
        self.check(self.build(text, name="good"), 0, "ok as threads", "note: getpid .*same")
        self.check(self.build(text, "-no-pie", "-fno-pie", name="fixed"), 1, "processes only",
                   "-fPIE")
        self.check(self.build(text + "__thread char big[2000000]; char* f(void) { return big; }\n",
                              name="large_tls"), 1, "2000000 bytes of thread-local")
        static = os.path.join(self.folder.name, "static")
        done = command("cc", "-static", os.path.join(self.folder.name, "good.c"), "-o", static)
        if done.returncode == 0:
            self.check(static, 1, "statically")
        self.check(self.build(text, "-fsanitize=address", name="with_asan"), 1, "sanitizer")
        self.check(self.build(text, "--coverage", name="with_coverage"), 1, "coverage")

    def test_auto_falls_back_to_processes(self):
        program = self.build("#include <mpi.h>\n#include <unistd.h>\n#include <stdio.h>\n"
                             "int main(int c, char** v) { MPI_Init(&c, &v); if (c > 99) fork();\n"
                             "int pid = getpid(), least, most;\n"
                             "MPI_Allreduce(&pid, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);\n"
                             "MPI_Allreduce(&pid, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);\n"
                             "puts(least == most ? \"one\" : \"many\"); MPI_Finalize(); }\n",
                             name="auto_fork")
        for kind, options in (("many", ["--as", "auto"]), ("many", [])):
            result = command(os.path.join(BIN, "mpiexec"), *options, "-n", 2, program,
                             env=self.environment)
            self.assertEqual(result.stdout.split(), [kind] * 2, result.stderr)
        result = self.run_ranks(2, program)
        self.assertEqual(result.returncode, 1)
        self.assertIn("leave --as threads out", result.stderr)

    def test_several_programs(self):
        text = ("#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\nstatic int shared = NUMBER;\n"
                "int main(int c, char** v) { int r, *number, found, sum; MPI_Init(&c, &v);\n"
                "MPI_Comm_rank(MPI_COMM_WORLD, &r); shared += 10 * r;\n"
                "MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);\n"
                "MPI_Allreduce(&shared, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n"
                "printf(\"%d: program %d %s %d %d\\n\", r, *number, c > 1 ? v[1] : \"-\", shared, sum);"
                "MPI_Finalize(); return NUMBER == 3 && r == 4 ? 9 : 0; }\n")
        first = self.build(text, "-DNUMBER=1", name="first")
        second = self.build(text, "-DNUMBER=2", "-g", name="second")
        result = self.run_ranks(2, first, "a", ":", "-n", "3", second, ":", "-n", "1", first, "b")
        self.assertEqual(result.returncode, 0, self.text)
        self.assertEqual(sorted(result.stdout.splitlines()),
                         ["0: program 0 a 1 159", "1: program 0 a 11 159", "2: program 1 - 22 159",
                          "3: program 1 - 32 159", "4: program 1 - 42 159", "5: program 2 b 51 159"])
        third = self.build(text, "-DNUMBER=3", name="third")
        self.assertEqual(self.run_ranks(2, first, ":", "-n", 3, third).returncode, 9, self.text)
        crash = self.run_ranks(1, self.build("ends.c"), "segv", ":", "-n", 1,
                               self.build("ends.c", name="others"), "segv")
        self.assertRegex(crash.stderr, r"rank 1 .*signal 11.*\n *#0 others\+0x\w+ \(write_to")

    def test_scripts_are_refused(self):
        program = self.build("ends.c")
        fork = self.build("#include <unistd.h>\nint main(int c, char** v) { return c > 9 ? fork() : 0; }\n",
                          name="second_forks")
        self.assertIn("second_forks' cannot be threads: fork",
                      self.run_ranks(1, program, ":", "-n", "1", fork).stderr)
        script = os.path.join(self.folder.name, "script.sh")
        with open(script, "w") as file:
            file.write("#!/bin/sh\nexit 0\n")
        os.chmod(script, 0o755)
        self.assertIn("script", self.run_ranks(1, script).stderr)


if __name__ == "__main__":
    unittest.main()
