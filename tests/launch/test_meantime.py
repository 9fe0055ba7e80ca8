"""The meantime command."""

import os
import shutil
import subprocess
import sys

from mpiexec import BUILD, CFLAGS, FAKE_RANK, SOURCE, THREADS, MpiexecTest, main
from test_kill import supervisor_of

COMMAND = os.path.join(BUILD, "bin", "meantime")
MPICC = os.path.join(BUILD, "bin", "mpicc")
RANK = os.path.join(SOURCE, "tests", "launch", "rank.c")


class Command(MpiexecTest):
    def meantime(self, *words, **options):
        return subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=60, env=self.environment, **options)

    def test_version(self):
        result = self.meantime("version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^Meantime \d+\.\d+\.\d+ ")
        self.assertIn(BUILD, result.stdout)

    def test_misspelt_command(self):
        for word, says in (("chekc", "did you mean 'check'?"), ("frobnicate", "--help lists them")):
            result = self.meantime(word)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertEqual(result.stderr, f"meantime: there is no command '{word}'; {says}\n")

    def test_words_are_shown_and_not_sent_to_the_terminal(self):
        escape, turned = "\033[31mx", "a\u202eb"
        for words in ((escape,), (turned,), ("ps", escape), ("config", f"MEANTIME_{escape}{turned}"),
                      ("missing", f"./{escape}{turned}")):
            result = self.meantime(*words)
            self.assertEqual(result.returncode, 2, words)
            self.assertNotRegex(result.stderr, "[\033\u202e]", words)
            self.assertIn("?", result.stderr)

    def test_what_is_said_of_wrong_words(self):
        """One line that says whose they are, and what to do."""
        for words, says in ((("stack",), "meantime stack: which job? Give its number: `meantime ps` lists jobs"),
                            (("stack", "x"), "meantime stack: job = x: that is no number; `meantime stack --help` shows how"),
                            (("stack", "1", "--rank", "-3"), "meantime stack: --rank: '-3' is no rank; `meantime stack --help` shows how"),
                            (("check",), "meantime check: program is missing; `meantime check --help` shows how"),
                            (("doctor", "x"), "meantime doctor: takes no 'x'; `meantime doctor --help` shows how"),
                            ((), "meantime: a command is missing; `meantime --help` shows how")):
            result = self.meantime(*words)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (2, "", says + "\n"))
        self.assertIn("Usage: meantime stack", self.meantime("stack", "--help").stdout)

    def test_several_programs_are_checked(self):
        shell, missing = "/bin/sh", self.path("missing")
        alone = {program: self.meantime("check", program) for program in (shell, missing)}
        both = self.meantime("check", shell, missing)
        self.assertEqual(both.stdout, alone[shell].stdout + alone[missing].stdout)
        self.assertEqual(both.returncode, max(one.returncode for one in alone.values()))

    def test_config_says_where_waits_begin_with_yields(self):
        for way, says in (("adaptive", "0 (up to 24 where ranks share cores), "), ("poll", "0, "),
                          ("event", "0 (up to 24 in collectives where ranks share cores), "), ("overprovisioned", "2, ")):
            environment = dict(self.environment, MEANTIME_WAIT=way)
            shown = subprocess.run([COMMAND, "config", "wait"], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
            self.assertIn(f"MEANTIME_TRIES_YIELD {says}MEANTIME_TIMEOUT ", shown)

    def test_doctor(self):
        result = self.meantime("doctor")
        for subject in ("library", "mpicc", "shared memory", "cross-memory attach", "lifeline", "CPUs",
                        "limits", "other launchers"):
            self.assertIn(subject, result.stdout)
        self.assertEqual(result.returncode, 1 if "BAD" in result.stdout else 0)

    def test_doctor_needs_no_dev_shm(self):
        result = self.meantime("doctor")
        self.assertRegex(result.stdout, r"ok +shared memory")
        self.assertRegex(result.stdout, r"ok +lifeline")

    def test_missing(self):
        self.assertEqual(self.meantime("missing", "./no-such-program").returncode, 2)
        result = self.meantime("missing", FAKE_RANK)
        self.assertEqual(result.returncode, 2)
        self.assertIn("not a program linked to libmpi_abi.so.1", result.stderr)

    def listed(self, job, what, ready):
        """What `meantime ps` says of the job, once it is so."""
        def text_if_ready():
            text = self.meantime("ps").stdout
            start = text.find(f"job {job.pid}:")
            text = text[start:text.find("\njob ", start) + 1 or None]  # others may have jobs too
            return text if start >= 0 and ready(text) else None

        return self.wait_for(text_if_ready, what)

    def test_ps_and_stack(self):
        program = self.path("rank")
        subprocess.run([MPICC, "-g", "-O1", *CFLAGS, RANK, "-o", program], check=True)
        job = self.start("-n", 3, program, "late")

        text = self.listed(job, "the ranks to wait", lambda text: "ranks 0, 2: each waits in MPI_Barrier" in text
                           and "is not waiting in MPI" in text)
        self.assertIn(f"-n 3 {program} late (3 ranks, ", text)
        self.assertRegex(text, r"rank 1 \(pid \d+\) is not waiting in MPI")
        other = self.start("-n", 2, program, "late")
        self.listed(other, "the other job's rank to wait", lambda text: "MPI_Barrier" in text)
        result = self.meantime("ps", str(job.pid))
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        self.assertRegex(result.stdout, rf"^job {job.pid}: .* \(3 ranks, \d+ s\)\n"
                         r"  ranks 0, 2: each waits in MPI_Barrier on MPI_COMM_WORLD, .*\n"
                         r"  rank 1 \(pid \d+\) is not waiting in MPI.*\n$")
        other.terminate()
        other.communicate(timeout=60)
        if shutil.which("gdb"):
            result = self.meantime("stack", str(job.pid), "--rank", "2")
            if result.returncode == 0:  # not where nobody may be traced
                self.assertRegex(result.stdout, r"(?s)rank 2 .*waits in MPI_Barrier.*#\d+ .* in main")
                self.assertNotIn("rank 0", result.stdout)
            else:
                self.assertIn("ptrace_scope", result.stderr)
            self.assertEqual(self.meantime("stack", str(job.pid), "--rank", "3").returncode, 2)
        job.terminate()
        job.communicate(timeout=60)
        self.assertNotIn(f"job {job.pid}:", self.meantime("ps").stdout)

    def test_ps_beside_what_only_looks_like_a_job(self):
        """Whose segment is cut off: that of others is shown all the same."""
        job = self.start("-n", 1, FAKE_RANK, "init", "print=ready", "sleep=60")
        self.assertIn(b"ready", job.stdout.readline())
        folder = f"/proc/{supervisor_of(job.pid)}/fd"
        segment = next(path for path in (f"{folder}/{name}" for name in os.listdir(folder))
                       if "meantime-node" in os.readlink(path))
        fake = subprocess.Popen([sys.executable, "-c", """if 1:
            import ctypes, os, sys, time
            ctypes.CDLL(None).prctl(15, b"meantime-job")
            os.write(os.memfd_create("meantime-node"), open(sys.argv[1], "rb").read(4096))
            print("ready", flush=True)
            time.sleep(60)""", segment], stdout=subprocess.PIPE)
        self.addCleanup(fake.stdout.close)
        self.addCleanup(fake.wait)
        self.addCleanup(fake.kill)
        self.assertEqual(fake.stdout.readline(), b"ready\n")
        shown = self.meantime("ps")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn(f"job {job.pid}: ", shown.stdout)
        job.terminate()
        job.communicate(timeout=60)

    def test_ps_lists_a_job_once(self):
        """A rank has the supervisor's name and descriptors until it executes its program: this one keeps the name."""
        program = self.path("meantime-job")
        shutil.copy(shutil.which("sleep"), program)
        job = self.start("-n", 2, program, 60)
        self.ranks_of(2, program)
        supervisor = supervisor_of(job.pid)
        listed = self.meantime("ps").stdout
        job.terminate()
        job.communicate(timeout=60)
        self.assertIn(f"job {job.pid}: ", listed)
        self.assertNotIn(f"job {supervisor}: ", listed)

    def test_check_shows_names_in_one_line(self):
        library, program = self.path("lib\nforged.so"), self.path("program")
        for words in (["-shared", "-x", "c", "/dev/null", f"-Wl,-soname,lib\nforged.so", "-o", library],
                      ["-O1", *CFLAGS, "-x", "c", "-", "-x", "none", "-Wl,--no-as-needed", library, "-o", program]):
            subprocess.run([MPICC, *words], check=True, input=b"int main(void) { return 0; }")
        self.assertIn("lib?forged.so is not found, which program needs",
                      self.meantime("check", program).stdout)

    def test_stack_has_the_frames_of_the_program(self):
        """Of one rank as of several, of one that is in MPI_Wtime as of one that waits; neither what is further in nor what
        calls main."""
        if not shutil.which("gdb"):
            self.skipTest("no gdb")
        source, program = self.path("places.c"), self.path("places")
        with open(source, "w") as file:
            file.write("#include <mpi.h>\nstatic void asks(void) { for (;;) MPI_Wtime(); }\n"
                       "int main(void) {\n  int rank;\n  MPI_Init(0, 0);\n  MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
                       "  if (rank == 0) asks();\n  if (rank == 1) MPI_Barrier(MPI_COMM_SELF), MPI_Probe(0, 3, MPI_COMM_WORLD, 0);\n"
                       "  MPI_Barrier(MPI_COMM_WORLD);\n}\n")
        subprocess.run([MPICC, "-g", "-O1", *CFLAGS, source, "-o", program], check=True)
        for kind in ("processes", "threads") if THREADS else ("processes",):
            job = self.start("--as", kind, "-n", 4, program)
            self.listed(job, "the ranks to wait", lambda text: "ranks 2-3: each waits in MPI_Barrier" in text)
            result = self.meantime("stack", str(job.pid))
            job.terminate()
            job.communicate(timeout=60)
            if result.returncode != 0:  # where nobody may be traced
                self.assertIn("ptrace_scope", result.stderr)
                continue
            self.assertRegex(result.stdout, r"(?s)#\d+ asks at .*places\.c:2\n.*#\d+ MPI_Probe\n.*#\d+ MPI_Barrier\n")
            # A sanitizer interposes functions, beside the program's.
            shown = "\n".join(line for line in result.stdout.split("\n") if "libsanitizer" not in line)
            for hidden in ("/src/", "0x", "()", "meantime::", "_start"):
                self.assertNotIn(hidden, shown)

    def test_ranks_that_have_ended(self):
        program = self.path("rank")
        subprocess.run([MPICC, "-g", "-O1", *CFLAGS, RANK, "-o", program], check=True)
        for how in ("linger", "thread-lingers"):
            with self.subTest(how):
                self.list_of_ended(program, how)

    def list_of_ended(self, program, how):
        job = self.start("-n", 3, program, how)
        self.addCleanup(job.kill)  # if it is not done
        text = self.listed(job, "two ranks to end", lambda text: "each has ended" in text
                           and "has finalized" in text)
        self.assertRegex(text, r"\n  rank 0 \(pid \d+\) has finalized\n  ranks 1-2: each has ended\n")
        if shutil.which("gdb"):
            result = self.meantime("stack", str(job.pid), "--rank", "1")
            self.assertEqual((result.returncode, result.stderr), (0, ""), result)
            self.assertRegex(result.stdout, r"rank 1 \(pid \d+\) has ended\n$")
            result = self.meantime("stack", str(job.pid))
            if result.returncode != 0:  # where nobody may be traced
                self.assertIn("ptrace_scope", result.stderr)
        job.terminate()
        job.communicate(timeout=60)

    def test_no_such_job(self):
        for command in ("stack", "ps"):
            result = self.meantime(command, str(os.getpid()))
            self.assertEqual((result.returncode, result.stdout, result.stderr), (
                2, "", f"meantime: {os.getpid()} is no running job of yours; `meantime ps` lists them\n"))

    def test_wrong_words(self):
        for words in ((), ("bench", "nothing"), ("missing",), ("--nonsense",), ("stack",), ("stack", "me"), ("ps", "me")):
            self.assertEqual(self.meantime(*words).returncode, 2, words)

    def test_missing_names_another_processor(self):
        with open("/bin/true", "rb") as file:
            program = bytearray(file.read())
        program[18:20] = (183).to_bytes(2, "little")
        result = self.meantime("missing", self.path("program", bytes(program)))
        self.assertEqual(result.returncode, 2, result)
        self.assertIn(": it is a program for 64-bit Arm, and this machine is ", result.stderr)

    def test_help(self):
        result = self.meantime("--help")
        self.assertEqual(result.returncode, 0)
        for word in ("version", "doctor", "missing", "ps", "stack"):
            self.assertIn(word, result.stdout)


if __name__ == "__main__":
    main()
