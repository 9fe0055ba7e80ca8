"""The launcher and the library together: programs built with our wrapper and with another
implementation's for the standard ABI."""

import os
import re
import resource
import shutil
import signal
import subprocess
import time
import unittest

from mpiexec import BUILD, CFLAGS, SOURCE, THREADS, MpiexecTest, main, processes_of, rank_lines

MPICC = os.path.join(BUILD, "bin", "mpicc")
KINDS = ("processes", "threads") if THREADS else ("processes",)
RANK = os.path.join(SOURCE, "tests", "launch", "rank.c")
ORACLE = os.environ.get("MEANTIME_ORACLE_PREFIX", os.path.join(SOURCE, "build", "oracle"))


@unittest.skipUnless(os.path.exists(os.path.join(BUILD, "lib", "libmpi_abi.so.1")), "no library yet")
class RealRanks(MpiexecTest):
    def program(self, compiler=MPICC):
        output = self.path("rank")
        subprocess.run([compiler, "-O1", *CFLAGS, RANK, "-o", output], check=True)
        return output

    def test_it_works(self):
        program = self.program()
        for ranks in (1, 2, 4, 16, 64):
            result = self.run_job("-n", ranks, program)
            self.assertEqual((result.status, result.output, result.error),
                             (0, f"sum {ranks * (ranks - 1) // 2}\n", ""))

    def test_alone(self):
        result = subprocess.run([self.program()], stdout=subprocess.PIPE, env=self.environment,
                                timeout=60)
        self.assertEqual(result.stdout, b"sum 0\n")

    def test_through_a_script(self):
        result = self.run_job("-n", 4, "sh", "-c", f"{self.program()}; echo end")
        self.assertEqual(sorted(result.output.splitlines()), ["end"] * 4 + ["sum 6"])

    def test_variables_of_each_kind_of_rank(self):
        program = self.program()
        for kind in KINDS:
            result = self.run_job("--as", kind, "-n", 2, program, "variables")
            self.assertEqual(sorted(result.output.splitlines())[:2], ["0 0 2 of 2", "1 1 2 of 2"], result)

    def test_lines_stay_when_the_job_is_ended(self):
        """Into a pipe, too; but a program that brings a buffer of its own fills it."""
        source, program = self.path("lines.c", r'''
            #include <mpi.h>
            #include <stdio.h>
            int main(int count, char** words) {
              static char own[1 << 12];  /* as large as libc's */
              if (count == 2) setvbuf(stdout, own, _IOFBF, sizeof own);
              printf("first\n");
              MPI_Init(&count, &words);
              int rank = 0;
              MPI_Comm_rank(MPI_COMM_WORLD, &rank);
              if (count == 1) printf("rank %d\n", rank);
              MPI_Barrier(MPI_COMM_WORLD);
              if (rank == 0) __builtin_trap();
              MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        '''), self.path("lines")
        subprocess.run([MPICC, "-O1", *CFLAGS, source, "-o", program], check=True)
        for kind in KINDS:
            lines = ["first"] * 4 + [f"rank {rank}" for rank in range(4)]
            result = self.run_job("--as", kind, "-n", 4, program)
            self.assertEqual((result.status, sorted(result.output.splitlines())), (132, lines), result)
            self.assertEqual(self.run_job("--as", kind, "-n", 4, program, "own").output, "")
            result = self.run_job("--as", kind, "-n", 4, program, "early", "on")
            self.assertEqual(result.output, "first\n" * 4, result)

    @unittest.skipUnless(THREADS and len(os.sched_getaffinity(0)) > 1, "no thread ranks, or one CPU")
    def test_thread_ranks_are_not_bound(self):
        """So their OpenMP teams have all CPUs; and what was said in vain is named as it was typed."""
        source, program = self.path("policy.c", r'''
            #include <mpi.h>
            #include <stdio.h>
            #include <stdlib.h>
            int main(int count, char** words) {
              MPI_Init(&count, &words);
              const char* policy = getenv("OMP_WAIT_POLICY");
              puts(policy != NULL ? policy : "unset");
              return MPI_Finalize();
            }'''), self.path("policy")
        subprocess.run([MPICC, source, "-o", program], check=True)
        first = min(os.sched_getaffinity(0))
        clean = {name: value for name, value in self.environment.items() if not name.startswith(("OMP_", "GOMP_", "KMP_"))}
        for option, word, said in (("-bind-to", f"user:{first}", "-bind-to"), ("--cpus-per-rank", "1", "--cpus-per-rank"),
                                   ("--map-by", "slot:PE=1", "--map-by slot:PE=1")):
            result = self.run_job("--as", "auto", option, word, "-n", 1, program, env=dict(clean, OMP_NUM_THREADS="2"))
            self.assertEqual((result.status, result.output), (0, "unset\n"), result)
            self.assert_one_line(result, f"ranks are threads: {said} is for process ranks")
        result = self.run_job("--bind", f"user:{first}", "-n", 1, program, env=dict(clean, OMP_NUM_THREADS="2"))
        self.assertEqual((result.status, result.output), (0, "passive\n"), result)

    def test_what_a_rank_starts_is_alone(self):
        """And not refused as a rank of another launcher's job, for what mpiexec tells scripts."""
        result = self.run_job("-n", 2, "bash", "-c", f"exec 20>&- 21>&- 22>&-; {self.program()}; true")
        self.assertEqual((result.status, result.output, result.error), (0, "sum 0\n" * 2, ""), result)

    def test_a_rank_that_has_lost_its_job_is_not_alone(self):
        """By closing what is not its own, or making it a file of its own, before MPI_Init."""
        program = self.program()
        for closes in ("exec 20>&- 21>&- 22>&-", "exec 20</dev/null"):
            script = ("bash", "-c", f"{closes}; exec {program}")
            result = self.run_job("-n", 2, *script)
            self.assertEqual((result.status, result.output), (1, ""), result)
            self.assertRegex(result.error, r"Meantime: rank [01] has closed file descriptor 20 before MPI_Init, or made it "
                                           r"another file, .*MEANTIME_SINGLETON=1")
            result = self.run_job("-x", "MEANTIME_SINGLETON=1", "-n", 2, *script)
            self.assertEqual((result.status, result.output), (0, "sum 0\n" * 2), result)

    def test_a_script_that_wants_other_names(self):
        """As docs/guide/batch-and-ci.md has it."""
        with open(os.path.join(SOURCE, "docs", "guide", "batch-and-ci.md")) as file:
            line = re.search(r"mpiexec -n 4 (sh -c '(export OMPI_COMM_WORLD_RANK[^']*)') ./script\.sh", file.read())[2]
        script = self.path("script", f"#!/bin/sh\necho $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE; {self.program()}\n")
        result = self.run_job("-n", 2, "sh", "-c", line, script)
        self.assertEqual((result.status, sorted(result.output.splitlines())), (0, ["0 of 2", "1 of 2", "sum 1"]), result)

    def test_ends(self):
        program = self.program()
        for what, status, parts in (
                ("crash", 139, ("rank 1 (pid", "signal 11")),
                ("exit", 3, ("rank 1 (pid", "status 3 without MPI_Finalize")),
                ("exit0", 1, ("rank 1 (pid", "status 0 without MPI_Finalize")),
                ("before-init", 3, ("rank 1 (pid", "status 3 before MPI_Init")),
                ("abort", 7, ("rank 1 (pid", "MPI_Abort", "7"))):
            with self.subTest(what):
                result = self.run_job("-n", 4, program, what)
                self.assertEqual((result.status, result.output),
                                 (status, "why" if what == "abort" else ""), result)
                self.assert_quick(result.seconds, 1.5)
                if what == "crash":
                    self.assertRegex(result.error, r"(?m)^  #\d+ rank\+0x\w+ \(main\W")
                    result.error = result.error.partition("\n")[0]
                self.assert_one_line(result, *parts)

    def test_error_in_a_call(self):
        """Who, in which call, what: each once."""
        program = self.program()
        said = r"MPI_Send on communicator MPI_COMM_WORLD: MPI_ERR_RANK: argument 4 \(dest\) is 99, .*\n"
        result = self.run_job("-n", 2, program, "error")
        self.assertEqual(result.status, 6, result)
        self.assertRegex(result.error, r"^mpiexec: rank 1 \(pid \d+ on [^ )]+\): " + said)
        alone = subprocess.run([program, "error"], stderr=subprocess.PIPE, env=self.environment, timeout=60, text=True)
        self.assertEqual(alone.returncode, 6)
        self.assertRegex(alone.stderr, "^Meantime: " + said)

    def test_another_collective(self):
        """Only those that have a root are told with one."""
        program = self.program()
        for kind in KINDS:
            result = self.run_job("--as", kind, "-n", 3, program, "mismatch")
            self.assertNotEqual(result.status, 0)
            self.assertRegex(result.error, r"a barrier, rank [12] called a broadcast \(root 1\);|"
                             r"a broadcast \(root 1\), rank 0 called a barrier;")

    def test_another_collective_than_the_root_lends_for(self):
        """Nobody reads an exposed buffer that is none."""
        for kind in KINDS:
            for exposed in ("exposed_bcast", "exposed_scatter") if kind == "threads" else ("exposed_bcast",):
                result = self.run_job("--as", kind, "-n", 3, self.program(), exposed)
                self.assertNotIn(result.status, (0, 139), result)
                self.assertRegex(result.error, r"this rank called a (broadcast|scatter) \(root 0\), rank [012] called a "
                                 r"(?!\1)(broadcast|scatter) \(root 0\);")

    @unittest.skipUnless(shutil.which("addr2line"), "no addr2line")
    def test_error_names_its_place(self):
        """The line of the call, of both kinds of rank and without mpiexec; without debug info the address."""
        with open(RANK) as file:
            number = next(number for number, line in enumerate(file, 1) if "MPI_Send(what" in line)
        program, bare = self.path("rank"), self.path("bare")
        subprocess.run([MPICC, "-g", "-O1", *CFLAGS, RANK, "-o", program], check=True)
        subprocess.run([MPICC, "-O1", "-s", *CFLAGS, RANK, "-o", bare], check=True)
        # Under sanitizers the call's last instruction may be counted to the line after it.
        for path, place in ((program, rf"main \(rank\.c:({number}|{number + 1})\)"), (bare, r"bare\+0x[0-9a-f]+")):
            for kind in KINDS:
                result = self.run_job("--as", kind, "-n", 2, path, "error")
                self.assertEqual(result.status, 6, result)
                self.assertRegex(result.error, rf"^mpiexec: rank 1 .*: MPI_ERR_RANK: .* has 2 ranks; called from {place}\n$")
            alone = subprocess.run([path, "error"], stderr=subprocess.PIPE, env=self.environment, timeout=60, text=True)
            self.assertEqual(alone.returncode, 6)
            self.assertRegex(alone.stderr, rf"^Meantime: MPI_Send .* has 1 rank; called from {place}\n$")

    @unittest.skipUnless(shutil.which("addr2line"), "no addr2line")
    def test_a_call_outside_of_mpi_names_its_place(self):
        program, bare = self.path("rank"), self.path("bare")
        subprocess.run([MPICC, "-g", "-O1", *CFLAGS, RANK, "-o", program], check=True)
        subprocess.run([MPICC, "-O1", "-s", *CFLAGS, RANK, "-o", bare], check=True)
        for way, said in (("too-early", "MPI_Barrier was called before MPI_Init"),
                          ("too-late", "MPI_Comm_rank was called after MPI_Finalize")):
            with open(RANK) as file:
                number = next(number for number, line in enumerate(file, 1) if f'"{way}"' in line)
            for path, place in ((program, rf"main \(rank\.c:({number}|{number + 1})\)"), (bare, r"bare\+0x[0-9a-f]+")):
                for kind in KINDS:
                    result = self.run_job("--as", kind, "-n", 2, path, way)
                    self.assertEqual(result.status, 1, result)
                    self.assertRegex(result.error, rf"(^|\n)Meantime: rank [01] \(pid \d+\): {said}; called from {place}\n")
                alone = subprocess.run([path, way], stderr=subprocess.PIPE, env=self.environment, timeout=60, text=True)
                self.assertEqual(alone.returncode, 1)
                self.assertRegex(alone.stderr, rf"^Meantime: {said}; called from {place}\n$")

    def test_an_error_after_finalize_is_for_the_initial_handler(self):
        program = self.path("rank")
        subprocess.run([MPICC, *CFLAGS, RANK, "-o", program], check=True)
        for kind in KINDS:
            result = self.run_job("--as", kind, "-n", 2, program, "again")
            self.assertNotEqual(result.status, 0, result)
            self.assertRegex(result.error, "MPI_Init: MPI_ERR_OTHER: MPI has been initialised before")
            result = self.run_job("--as", kind, "-n", 2, program, "refuse")  # this one is not after it
            self.assertEqual((result.status, result.error), (0, ""))
            self.assertEqual(result.output.count("refused\n"), 2)

    @unittest.skipUnless(shutil.which("addr2line"), "no addr2line")
    def test_error_names_its_place_beside_another_thread(self):
        source, program = os.path.join(os.path.dirname(RANK), "error_threads.c"), self.path("error_threads")
        with open(source) as file:
            number = next(number for number, line in enumerate(file, 1) if "too short" in line)
        subprocess.run([MPICC, "-g", "-O1", *CFLAGS, source, "-o", program, "-pthread"], check=True)
        result = self.run_job("-n", 2, program)
        self.assertRegex(result.error, r"^mpiexec: rank 0 .*: MPI_Recv .*: MPI_ERR_TRUNCATE: .*; called from main "
                         rf"\(error_threads\.c:({number}|{number + 1})\)\n$")

    def test_open_sessions(self):
        program = self.path("open_session")
        subprocess.run([MPICC, *CFLAGS, os.path.join(os.path.dirname(RANK), "open_session.c"), "-o", program], check=True)
        # What was not finalized is a leak of the program's.
        environment = dict(self.environment, ASAN_OPTIONS=self.environment["ASAN_OPTIONS"] + ":detect_leaks=0")
        for what, missing in (("s", "Session_finalize"), ("i", "Finalize"), ("si", "Finalize"), ("it", "Finalize"),
                              ("itf", "Session_finalize"), ("ifu", "Session_finalize"), ("sie", "Finalize"), ("if", None),
                              ("se", None), ("sife", None)):
            for kind in KINDS:
                with self.subTest(what=what, kind=kind):
                    result = self.run_job("--as", kind, "-n", 2, program, what, env=environment)
                    self.assertEqual(result.status, 1 if missing else 0, result)
                    if missing:
                        self.assert_one_line(result, "ended with status 0 without MPI_")
                        self.assertTrue(result.error.endswith(f" without MPI_{missing}\n"), result)
                    else:
                        self.assertEqual(result.error, "")

    def test_calls_that_are_not_there(self):
        """Named before the start, and when they are made: what is missing, and what to do. Then the job ends, whatever
        the error handler, unless it is asked to decide."""
        program = self.path("not_there")
        source = os.path.join(os.path.dirname(RANK), "not_there.c")
        subprocess.run([MPICC, *CFLAGS, source, "-o", program], check=True)
        names = "MPI_Comm_spawn, MPI_File_open, MPI_Put, MPI_Win_lock_all"
        leave_it_to_handlers = dict(self.environment, MEANTIME_MISSING_CALLS="error")
        note = f"mpiexec: '{program}' uses calls that Meantime does not have yet: {names}"
        for what, call, advice in (("file", "MPI_File_open on MPI_FILE_NULL", "no files (MPI-IO): let ranks write files"),
                                   ("spawn", "MPI_Comm_spawn on communicator MPI_COMM_WORLD",
                                    "no starting and connecting processes: let mpiexec start all ranks"),
                                   ("put", "MPI_Put on a window of 2 ranks", "no one-sided transfers: send messages"),
                                   ("lock", "MPI_Win_lock_all on a window of 2 ranks",
                                    "no locks of windows: between accesses to memory that ranks share call MPI_Win_fence, or ")):
            for kind in KINDS:
                for arguments, environment, said_of in (((), self.environment, call.split()[0]),
                                                        (("return",), self.environment, call.split()[0]),
                                                        ((), leave_it_to_handlers, call)):
                    result = self.run_job("--as", kind, "-n", 2, program, what, *arguments, env=environment)
                    self.assertEqual((result.status, result.output), (55, ""), result)
                    *notes, said = result.error.splitlines()
                    self.assertEqual(notes, [] if environment is leave_it_to_handlers else [note])
                    self.assertRegex(said, rf"^mpiexec: rank \d \(.*\): {said_of}: MPI_ERR_UNSUPPORTED_OPERATION: this call "
                                     r"is not part of Meantime \d+\.\d+\.\d+, which has ")
                    self.assertIn(advice, said)
                    self.assertIn("`meantime missing PROGRAM`", said)
                    self.assertEqual("MEANTIME_MISSING_CALLS" in said, environment is self.environment, said)
                    self.assertRegex(said, r"; called from .*not_there")
                result = self.run_job("--as", kind, "-n", 2, program, what, "return", env=leave_it_to_handlers)
                self.assertEqual((result.status, result.output, result.error), (0, 2 * "unsupported\n", ""), result)

    def test_sizes_that_differ_name_the_rank(self):
        source, program = self.path("sizes.c"), self.path("sizes")
        with open(source, "w") as file:
            file.write("""#include <mpi.h>
#include <string.h>
int main(int c, char** v) {
  int r, b[64] = {0}, s[128] = {0};
  MPI_Comm d, e;
  MPI_Init(&c, &v);
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  if (!strcmp(v[1], "many")) MPI_Bcast(b, r ? 5 : 10, MPI_INT, 0, MPI_COMM_WORLD);
  if (!strcmp(v[1], "few")) MPI_Bcast(b, r ? 5 : 3, MPI_INT, 0, MPI_COMM_WORLD);
  if (!strcmp(v[1], "roots")) MPI_Bcast(b, 5, MPI_INT, r % 2, MPI_COMM_WORLD);
  if (!strcmp(v[1], "scatter")) MPI_Scatter(s, 10, MPI_INT, b, 5, MPI_INT, 0, MPI_COMM_WORLD);
  if (!strcmp(v[1], "dup")) MPI_Comm_dup(MPI_COMM_WORLD, &d), MPI_Recv(b, 1, MPI_INT, 0, 0, d, MPI_STATUS_IGNORE);
  if (!strcmp(v[1], "split")) MPI_Comm_split(MPI_COMM_WORLD, 1, 0, &d), MPI_Comm_dup(d, &e), MPI_Send(b, 1, MPI_INT, 7, 0, e);
  MPI_Finalize();
}
""")
        subprocess.run([MPICC, *CFLAGS, source, "-o", program], check=True)
        for what, said in (("many", "MPI_ERR_TRUNCATE: rank 0 gave 40 bytes where this rank has room for 20"),
                           ("few", "MPI_ERR_COUNT: rank 0 gave 12 bytes where this rank expects 20"),
                           ("scatter", r"MPI_ERR_TRUNCATE: (this rank gives itself|rank 0 gave) 40 bytes where (it|this rank) has room for 20"),
                           ("dup", r"waits in MPI_Recv for rank 0, tag 0 on a duplicate of MPI_COMM_WORLD \(context \d+\)"),
                           ("split", "MPI_Send on a duplicate of a part of MPI_COMM_WORLD: MPI_ERR_RANK: ")):
            for kind in KINDS:
                with self.subTest(what=what, kind=kind):
                    self.assertRegex(self.run_job("--as", kind, "-n", 3, program, what).error, said)
        # Roots that differ are found if somebody is still there; then it is not the size that is wrong.
        for kind in KINDS:
            for _ in range(5):
                said = self.run_job("--as", kind, "-n", 4, program, "roots").error
                self.assertRegex(said, r"^$|MPI_ERR_OTHER: this rank called a broadcast \(root \d\), rank \d called a broadcast")

    def test_status_of_an_error(self):
        """The error's class, where its handler ends the job."""
        source, program = self.path("error.c"), self.path("error")
        with open(source, "w") as file:
            file.write("#include <mpi.h>\nint main(void) { MPI_Init(0, 0); MPI_Send(0, 0, MPI_INT, 99, 0, MPI_COMM_WORLD); }\n")
        subprocess.run([MPICC, *CFLAGS, source, "-o", program], check=True)
        for kind in KINDS:
            result = self.run_job("--as", kind, "-n", 2, program)
            self.assertEqual(result.status, 6, result)
            self.assert_one_line(result, "MPI_ERR_RANK")

    def test_abort_codes(self):
        program = self.program()
        for code, status in ((0, 0), (7, 7), (256, 1)):
            result = self.run_job("-n", 2, program, "abort", code)
            self.assertEqual((result.status, result.output), (status, "why"), result)
            alone = subprocess.run([program, "abort", str(code)], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=self.environment, timeout=60)
            self.assertEqual((alone.returncode, alone.stdout), (status, b"why"))

    def test_file_size_limit(self):
        program = self.program()
        # A little memory is there from the start.
        result = self.run_job("-n", 2, "sh", "-c", f"ulimit -f 0; exec {program}")
        self.assertEqual((result.status, result.output, result.error), (0, "sum 1\n", ""), result)
        alone = subprocess.run(["sh", "-c", f"ulimit -f 0; exec {program}"], env=self.environment,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertIn(alone.returncode, range(1, 128), alone)

    def test_program_that_closes_descriptors(self):
        """Those of Meantime too: what has their numbers then is left as it is."""
        program = self.path("closes")
        subprocess.run([MPICC, "-O1", *CFLAGS, os.path.join(SOURCE, "tests", "launch", "closes.c"), "-o", program],
                       check=True)
        result = self.run_job("-n", 2, program, self.folder.name, timeout=60)
        self.assertEqual((result.status, result.output, result.error), (0, "kept\nkept\n", ""), result)
        # The line to mpiexec is closed as well: a deadlock is told all the same.
        result = self.run_job("-n", 2, program, self.folder.name, "deadlock", timeout=60)
        self.assertEqual(result.status, 125, result)
        self.assertRegex(result.error, r"deadlock: every rank waits in MPI(.|\n)*MPI_Recv")
        self.assertEqual(result.error.count("deadlock: every rank"), 1, result)
        # Alone, there may be nobody to have the memory's descriptor from.
        alone = subprocess.run([program, self.folder.name], stdout=subprocess.PIPE, env=self.environment, timeout=60)
        self.assertEqual(alone.stdout, b"kept\n")

    def test_other_files_where_a_job_had_its_descriptors(self):
        """What a rank starts is alone, whatever it has by the numbers in its environment."""
        program = self.program()
        empty = self.path("empty", "")
        full = self.path("full", "x" * 8192)
        for file in (f"<{empty}", f"<{full}", f">>{empty}", f"<>{full}", "</dev/zero", "</"):
            result = self.run_job("-n", 2, "bash", "-c", f"exec 20{file}; {program}; true")
            self.assertEqual((result.status, result.output, result.error), (0, "sum 0\n" * 2, ""), (file, result))
        self.assertEqual((os.path.getsize(empty), os.path.getsize(full)), (0, 8192))

    @unittest.skipUnless(os.geteuid() == 0, "not root")
    def test_more_rights_than_the_user(self):
        program = self.program()
        os.chown(program, 65534, 65534)
        os.chmod(program, 0o4755)
        os.chmod(self.folder.name, 0o755)
        result = self.run_job("-n", 2, program)
        self.assertEqual((result.status, result.output), (1, ""), result)
        self.assertIn("more rights than its user", result.error)

    def test_number_of_the_program(self):
        program = self.program()
        result = self.run_job("-n", 1, program, "number", ":", "-n", 2, program, "number")
        self.assertEqual(sorted(result.output.splitlines()),
                         ["program 0", "program 1", "program 1", "sum 3"])

    def test_settings_that_are_not_understood(self):
        program = self.program()
        for setting in ("MEANTIME_EAGER_LIMIT=8kB", "MEANTIME_EAGER_PAIR=abc", "MEANTIME_EAGER_RANK=-1",
                        "MEANTIME_FRAGMENT=16", "MEANTIME_CMA=off", "MEANTIME_WAIT=hard"):
            result = self.run_job("-x", setting, "-n", 2, program)
            self.assertEqual((result.status, result.output), (1, ""), result)
            self.assert_one_line(result, setting.partition("=")[0] + " must be")
        alone = subprocess.run([program], env=dict(self.environment, MEANTIME_ON_DEADLOCK="never"),
                               stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((alone.returncode, alone.stderr),
                         (1, b"Meantime: MEANTIME_ON_DEADLOCK must be abort, report or ignore, not "
                          b"'never'\n"))

    @unittest.skipIf(CFLAGS, "a sanitizer needs terabytes")
    def test_too_little_address_space(self):
        result = self.run_job("-n", 1000, "true", preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_AS, (8 << 20, 8 << 20)))
        self.assertEqual((result.status, result.output), (1, ""), result)
        self.assert_one_line(result, "shared memory", "ulimit -v")

    def test_places_have_names(self):
        with open(RANK) as lines:
            number = next(number for number, line in enumerate(lines, 1) if "% size, 5, MPI_COMM" in line)
        for flag in ("-pie", "-no-pie"):
            program = self.path("rank")
            subprocess.run([MPICC, "-g", "-O0", flag, *CFLAGS, RANK, "-o", program], check=True)
            result = self.run_job("-n", 2, program, "hang")
            self.assertEqual(len(re.findall(rf", called from main \(rank.c:{number}\), for ", result.error)), 2,
                             result)

    @unittest.skipUnless(shutil.which("addr2line"), "no addr2line")
    def test_places_have_names_without_mpiexec(self):
        program = self.path("rank")
        subprocess.run([MPICC, "-g", "-O1", *CFLAGS, RANK, "-o", program], check=True)
        with open(RANK) as file:
            number = next(number for number, line in enumerate(file, 1) if "MPI_Recv(&got" in line)
        alone = subprocess.run([program, "hang"], stderr=subprocess.PIPE, env=self.environment, timeout=60, text=True)
        self.assertEqual(alone.returncode, 125, alone)
        # Under sanitizers the call's last instruction may be counted to the line after it.
        place = rf", called from main \(rank\.c:({number}|{number + 1})\), for "
        self.assertRegex(alone.stderr, place)
        with subprocess.Popen([program, "hang"], stderr=subprocess.PIPE, text=True,
                              env=dict(self.environment, MEANTIME_ON_DEADLOCK="report")) as alone:
            self.addCleanup(alone.kill)
            said = alone.stderr.readline() + alone.stderr.readline()
            self.assertRegex(said, place)
            self.assertIsNone(alone.poll())
            alone.kill()

    def test_places_are_for_addr2line(self):
        # Where nobody can name them.
        for flag in ("-pie", "-no-pie"):
            program = self.path("rank")
            subprocess.run([MPICC, "-g", "-O0", flag, *CFLAGS, RANK, "-o", program], check=True)
            result = self.run_job("-n", 1, program, "hang", env=dict(self.environment, PATH="/nowhere"))
            place = re.search(r"called from rank\+(0x[0-9a-f]+)", result.error)
            self.assertTrue(place, result)
            found = subprocess.run(["addr2line", "-f", "-e", program, place[1]],
                                   stdout=subprocess.PIPE, text=True, check=True)
            self.assertEqual(found.stdout.splitlines()[0], "main", flag)

    def test_status_after_finalize(self):
        result = self.run_job("-n", 4, self.program(), "after")
        self.assertEqual((result.status, result.output, result.error), (9, "sum 6\n", ""))

    def test_all_wait_for_ever(self):
        program = self.program()
        for ranks in (1, 2, 5):
            result = self.run_job("-n", ranks, program, "hang")
            self.assertEqual(result.status, 125, result)
            self.assert_quick(result.seconds, 2)
            for rank, line in rank_lines(result.error).items():
                self.assertRegex(line, rf"^waits in MPI_Recv for rank {(rank + 1) % ranks}, tag 5 on MPI_COMM_WORLD.* for \d+\.\d s$")
            self.assertEqual(len(rank_lines(result.error)), ranks, result)

    @unittest.skipIf(CFLAGS, "a sanitizer needs more address space")
    def test_memory_full_of_messages_that_nobody_receives(self):
        program = self.program()
        self.assertEqual(self.run_job("-n", 2, program, "reversed").output, "sum 1\n")
        result = self.run_job("-n", 2, program, "reversed", preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_AS, (60 << 20, 60 << 20)))
        self.assertEqual(result.status, 125, result)
        self.assertRegex(result.error, r"rank 0 .* waits in MPI_Recv for rank 1, tag 99999")
        self.assertRegex(result.error, r"rank 1 .* waits in MPI_Waitall .*; it needs shared memory for that")
        self.assertIn("memory is full", result.error)

    @unittest.skipUnless(THREADS, "this build has no thread ranks")
    @unittest.skipIf(CFLAGS, "a sanitizer needs more memory")
    def test_messages_that_no_thread_rank_receives(self):
        # More than a mailbox takes: thread ranks need address space for their stacks and heaps.
        little = ("-x", "MEANTIME_EAGER_RANK=4M", "-x", "MEANTIME_EAGER_MOST=0")
        for words, full in ((little, ".* messages that nobody receives leave it no room"), ((), "")):
            result = self.run_job("--as", "threads", *words, "-n", 2, self.program(), "unread")
            self.assertEqual(result.status, 125, result)
            self.assertRegex(result.error, r"rank 0 .* waits in MPI_Recv for rank 1, tag 2")
            self.assertRegex(result.error, r"rank 1 .* waits in MPI_Barrier " + full)

    def test_sends_without_receives_are_told_with_what_would_help(self):
        for way, helps in (("sends", True), ("one sends", False)):
            result = self.run_job("-n", 2, self.program(), way)
            self.assertEqual(result.status, 125, result)
            self.assertIn("rank 0 ", result.error)
            self.assertEqual("let ranks receive first" in result.error, helps, result.error)

    def test_timeout_shows_calls(self):
        program = self.program()
        for limit in (3, 20):  # on a busy machine it takes the ranks a while to come so far
            result = self.run_job("--timeout", limit, "-n", 3, program, "late")
            if "rank 1" in result.error and "running" in result.error and "MPI_Barrier" in result.error:
                break
        self.assertEqual(result.status, 124, result)
        self.assertRegex(result.error, r"ranks 0, 2: each waits in MPI_Barrier.* for \d+\.\d (to \d+\.\d )?s")
        self.assertRegex(result.error, r"rank 1 \(pid \d+\) is not waiting in MPI")
        self.assertEqual(result.error.count("\n"), 3, result.error)  # no empty line among them

    def test_quit_shows_calls_and_goes_on(self):
        job = self.start("-n", 3, self.program(), "late")
        self.ranks_of(3, "rank")

        def report():
            job.send_signal(signal.SIGQUIT)
            text, found = "", {}
            while len(found) < 3:
                text += job.stderr.readline().decode()
                found = rank_lines(text)
            return "waits in MPI_Barrier" in found[2]

        self.wait_for(report, "rank 2 to wait in MPI_Barrier")
        self.assertIsNone(job.poll())
        job.terminate()
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 143)

    def test_killed_with_mpiexec(self):
        program = self.program()
        for words in ((program, "late"), ("sh", "-c", f"{program} late; true")):
            job = self.start("-n", 4, *words, stderr=subprocess.DEVNULL)
            self.wait_for(lambda: len(processes_of(self.mark)) >= 6, "the ranks")
            time.sleep(0.2)
            job.kill()
            job.communicate()
            self.assert_nothing_left()

    def test_mpiexec_killed_before_init_of_a_program_in_a_script(self):
        program = self.program()
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        words = ["sh", "-c", f"(read go <{fifo}; {program} late; echo $? >{self.path('status')}) & wait"]
        for _ in range(20):
            job = self.start("-n", 2, *words, stderr=subprocess.DEVNULL)
            self.wait_for(lambda: len(processes_of(self.mark)) >= 6, "the scripts")
            with open(f"/proc/{job.pid}/task/{job.pid}/children") as file:
                supervisor = int(file.read().split()[0])
            os.kill(supervisor, signal.SIGKILL)
            job.kill()
            job.wait()
            try:
                os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:  # nobody reads: mpiexec was quick enough to clean up after its supervisor
                self.assert_nothing_left()
                continue
            finally:
                job.communicate()
            return self.wait_for(lambda: os.path.exists(self.path("status")), "the program's end")
        self.fail("mpiexec cleaned up each time")

    def test_short_messages_without_room_are_named(self):
        flood = self.path("flood")
        subprocess.run([MPICC, *CFLAGS, os.path.join(SOURCE, "tests", "launch", "flood.c"), "-o", flood], check=True)
        little = ("-x", "MEANTIME_EAGER_RANK=4M", "-x", "MEANTIME_EAGER_MOST=4M")
        room = ("-x", "MEANTIME_EAGER_MOST=8G")
        for kind in KINDS:
            result = self.run_job("--as", kind, *little, "-n", 2, flood)
            self.assertEqual(result.status, 125, result)
            self.assertIn("rank 1 that nobody has received fill the room", result.error)
            self.assertIn(" ".join(room), result.error)
            self.assertEqual(self.run_job("--as", kind, "-x", "MEANTIME_EAGER_MOST=4M", "-x", "MEANTIME_EAGER_PAIR=200M",
                                          "-x", "MEANTIME_EAGER_RANK=1G", "-n", 2, flood).status, 0)
            for more in ((), room):  # the room grows
                result = self.run_job("--as", kind, *more, "-n", 2, flood)
                self.assertEqual((result.status, result.error), (0, ""), result)

    @unittest.skipUnless(os.path.exists(os.path.join(ORACLE, "bin", "mpicc_abi")), "no oracle")
    def test_built_by_another_implementation(self):
        program = self.program(os.path.join(ORACLE, "bin", "mpicc_abi"))
        for kind in KINDS:
            result = self.run_job("--as", kind, "-n", 4, program, "library")
            self.assertEqual(sorted(result.output.splitlines()), ["Meantime"] * 4 + ["sum 6"], result)

    @unittest.skipUnless(os.path.exists(os.path.join(ORACLE, "bin", "mpicc_abi")), "no oracle")
    def test_another_library_by_preload_or_by_a_script(self):
        program = self.program(os.path.join(ORACLE, "bin", "mpicc_abi"))
        other = os.path.join(ORACLE, "lib", "libmpi_abi.so.1")
        script = self.path("script", f"#!/bin/sh\nunset LD_LIBRARY_PATH\nexec {program}\n")
        ways = [("-n", 3, script)]
        if not CFLAGS:  # a sanitizer wants to be the first library
            ways.append(("-x", f"LD_PRELOAD={other}", "-n", 3, program))
        for words in ways:
            result = self.run_job(*words)
            self.assertEqual((result.status, result.output), (1, ""), result)
            self.assert_one_line(result, "loaded another MPI library", "libmpi_abi.so.1", "rebuild")


if __name__ == "__main__":
    main()
