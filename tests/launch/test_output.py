"""Output and input: bytes arrive as they were written; -l puts the rank before each line and
changes nothing else; rank 0 reads mpiexec's standard input."""

import fcntl
import os
import re
import signal
import subprocess
import time
import unittest

from mpiexec import BUILD, FAKE_RANK, MPIEXEC, THREADS, MpiexecTest, main, processes_of

HAVE_FORTRAN = not os.environ.get("CFLAGS") and os.path.exists(os.path.join(BUILD, "lib", "libmeantime_gfortran.so"))


class Direct(MpiexecTest):
    def test_bytes_are_not_changed(self):
        data = os.urandom(300_000) + b"\0\r\n\n...\r50%\x1b[0m no newline"
        path = self.path("data", data)
        result = self.run_job("-n", 1, "cat", path, binary=True)
        self.assertEqual(result.output, data)
        result = self.run_job("-n", 1, "sh", "-c", f"cat {path} >&2", binary=True)
        self.assertEqual((result.output, result.error), (b"", data))

    def test_a_write_stays_whole(self):
        script = "import os\nfor i in range(300): os.write(1, b'%d' % (i % 10) * 100 + b'\\n')"
        result = self.run_job("-n", 4, "python3", "-c", script)
        lines = result.output.splitlines()
        self.assertEqual(len(lines), 1200)
        self.assertTrue(all(len(line) == 100 and len(set(line)) == 1 for line in lines))

    def test_a_file_holds_everything(self):
        path = self.path("out")
        with open(path, "wb") as file:
            self.run_job("-n", 4, "sh", "-c", "for i in 1 2 3 4 5; do echo $MEANTIME_RANK; done",
                         stdout=file)
        with open(path) as file:
            self.assertEqual(sorted(file.read().split()), sorted("01234" [:4] * 5))

    def test_a_prompt_comes_at_once(self):
        job = self.start("-n", 1, "sh", "-c", "printf 'name? '; read name; echo hello $name",
                         stdin=subprocess.PIPE)
        self.assertEqual(os.read(job.stdout.fileno(), 100), b"name? ")
        output, _ = job.communicate(b"Ada\n", timeout=60)
        self.assertEqual(output, b"hello Ada\n")

    def test_reader_that_goes_away(self):
        result = subprocess.run(f"{MPIEXEC} -n 2 yes | head -n 1", shell=True, env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(result.stdout, b"y\n")

    def test_closed_standard_descriptors(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            status = subprocess.run(["sh", "-c", f"{MPIEXEC} -n 2 true {closed}"],
                                    env=self.environment, timeout=60).returncode
            self.assertEqual(status, 0, closed)


    @unittest.skipUnless(HAVE_FORTRAN, "no gfortran")
    def test_fortran_into_a_file_of_a_job_that_aborts(self):
        source = self.path("prints.f90", "program prints\nuse mpi\ninteger :: error\nprint *, 'before'\ncall MPI_Init(error)\n"
                           "print *, 'within'\ncall MPI_Barrier(MPI_COMM_WORLD, error)\n"
                           "call MPI_Abort(MPI_COMM_WORLD, 3, error)\nend program\n")
        program = self.path("prints")
        subprocess.run([os.path.join(BUILD, "bin", "mpifort"), source, "-o", program], check=True)
        for kind in ("processes", "threads") if THREADS else ("processes",):
            with open(self.path("out"), "w+") as file:
                self.assertEqual(self.run_job("--as", kind, "-n", 3, program, stdout=file).status, 3)
                file.seek(0)
                self.assertEqual(sorted(file.read().split()), ["before"] * 3 + ["within"] * 3)


class Input(MpiexecTest):
    WHO_READS = "read line && echo $MEANTIME_RANK got $line"

    def test_rank_0_reads(self):
        result = self.run_job("-n", 3, "sh", "-c", f"{self.WHO_READS} || true", input=b"text\n")
        self.assertEqual(result.output, "0 got text\n")

    def test_another_rank_reads(self):
        result = self.run_job("--stdin", 2, "-n", 3, "sh", "-c", f"{self.WHO_READS} || true",
                              input=b"text\n")
        self.assertEqual(result.output, "2 got text\n")

    def test_nobody_reads(self):
        result = self.run_job("--stdin", "none", "-n", 3, "sh", "-c", f"{self.WHO_READS} || true",
                              input=b"text\n")
        self.assertEqual(result.output, "")

    def test_much_input(self):
        data = os.urandom(1_000_000)
        result = self.run_job("-n", 2, "sh", "-c", "[ $MEANTIME_RANK = 0 ] && cat || true",
                              input=data, binary=True)
        self.assertEqual(result.output, data)

    def test_input_is_not_swallowed(self):
        # while read line; do mpiexec ...; done: a job that does not read leaves the lines alone.
        script = f"while read line; do {MPIEXEC} -n 2 true; echo $line; done"
        result = subprocess.run(["sh", "-c", script], input=b"a\nb\nc\n", stdout=subprocess.PIPE,
                                env=self.environment, timeout=60)
        self.assertEqual(result.stdout, b"a\nb\nc\n")


class Labels(MpiexecTest):
    def test_lines(self):
        result = self.run_job("-l", "-n", 3, "sh", "-c", "echo one; echo two >&2; echo three")
        self.assertEqual(sorted(result.output.splitlines()),
                         sorted(f"[{r}] {t}" for r in range(3) for t in ("one", "three")))
        self.assertEqual(sorted(result.error.splitlines()), [f"[{r}] two" for r in range(3)])

    def test_order_within_a_rank(self):
        result = self.run_job("-l", "-n", 4, "seq", "1", "2000")
        for rank in range(4):
            lines = [line.split(" ", 1)[1] for line in result.output.splitlines()
                     if line.startswith(f"[{rank}] ")]
            self.assertEqual(lines, [str(i) for i in range(1, 2001)])

    def test_one_rank_binary(self):
        data = os.urandom(400_000) + b"x" * 200_000 + b"\0\r\n\n.\r..\n\n no newline"
        path = self.path("data", data)
        result = self.run_job("-l", "-n", 1, "cat", path, binary=True)
        self.assertEqual(re.sub(rb"(?m)^\[0\] ", b"", result.output), data)
        # One label for each line, none within a line.
        self.assertEqual(result.output.count(b"[0] "), len(data.split(b"\n")) + data.count(b"[0] "))

    def test_carriage_returns_and_dots(self):
        script = "for i in 1 2 3; do printf .; sleep 0.15; done; printf '\\r50%%\\r100%%\\n'"
        result = self.run_job("-l", "-n", 1, "sh", "-c", script, binary=True)
        self.assertEqual(result.output, b"[0] ...\r50%\r100%\n")

    def test_a_prompt_comes_soon(self):
        job = self.start("-l", "-n", 2, "sh", "-c",
                         "[ $MEANTIME_RANK = 1 ] && exit; printf 'name? '; read n; echo hello $n",
                         stdin=subprocess.PIPE)
        begin = time.monotonic()
        self.assertEqual(os.read(job.stdout.fileno(), 100), b"[0] name? ")
        self.assert_quick(time.monotonic() - begin)
        output, _ = job.communicate(b"Ada\n", timeout=60)
        self.assertEqual(output, b"hello Ada\n")

    def test_interrupted_line(self):
        # Each rank goes on when what the other wrote has come out.
        paths = [self.path(f"fifo{rank}") for rank in range(2)]
        for path in paths:
            os.mkfifo(path)
        script = (f"if [ $MEANTIME_RANK = 0 ]; then printf 'a'; read go <{paths[0]}; echo b; "
                  f"else read go <{paths[1]}; echo c; fi")
        job = self.start("-l", "-n", 2, "sh", "-c", script)
        output = os.read(job.stdout.fileno(), 100)
        for rank, expected in ((1, b"[0] a\n[1] c\n"), (0, b"[0] a\n[1] c\n[0] b\n")):
            with open(paths[rank], "w"):
                pass
            while len(output) < len(expected):
                output += os.read(job.stdout.fileno(), 100)
            self.assertEqual(output, expected)
        job.communicate(timeout=60)

    def test_time_of_day(self):
        time_of_day = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} "
        script = ("-n", 2, "sh", "-c", "echo one; echo two")
        for words, label in ((("--timestamp-output",), ""), (("--timestamp-output", "-l"), r"\[[01]\] "),
                             (("--output", "TAG,timestamp"), r"\[[01]\] ")):
            for line in self.run_job(*words, *script).output.splitlines():
                self.assertRegex(line, f"^{time_of_day}{label}(one|two)$")

    def test_errors_among_output(self):
        script = ("-n", 1, "sh", "-c", "echo one; echo two >&2; echo three")
        for words, label in ((("--merge-stderr-to-stdout",), ""), (("--output", "merge"), ""),
                             (("-l", "--merge-stderr-to-stdout"), "[0] ")):
            result = self.run_job(*words, *script)
            self.assertEqual((result.output, result.error), (f"{label}one\n{label}two\n{label}three\n", ""), words)

    def test_files(self):
        script = ("-n", 11, "sh", "-c", "echo $MEANTIME_RANK; printf error >&2")
        for number, (words, shown) in enumerate(((("--output-filename", "{}"), True), (("--output-filename", "{}:nocopy"), False),
                                                 (("--output", "dir={}"), True), (("--output-filename", "{}", "-l"), True),
                                                 (("--output", "directory={}:nocopy,merge"), False))):
            folder = self.path(f"some/where{number}")
            result = self.run_job(*(word.format(folder) for word in words), *script)
            self.assertEqual((result.status, len(result.output.split("\n")) > 11, "error" in result.error), (0, shown, shown), result)
            self.assertEqual(sorted(os.listdir(f"{folder}/1")), [f"rank.{rank:02}" for rank in range(11)])
            for rank in range(11):
                files = {name: open(f"{folder}/1/rank.{rank:02}/{name}").read() for name in os.listdir(f"{folder}/1/rank.{rank:02}")}
                self.assertEqual(files, {"stdout": f"{rank}\nerror"} if "merge" in words[-1] else
                                 {"stdout": f"{rank}\n", "stderr": "error"}, words)

    def test_files_that_cannot_be(self):
        result = self.run_job("--output-filename", self.path("file", ""), "-n", 2, "true")
        self.assertEqual((result.status, result.output), (1, ""))
        self.assert_one_line(result, "file/1/rank.0/stdout: Not a directory")
        for words, said in ((("--output", "tag,xml"), "not 'xml'"), (("--output", "file=x"), "not 'file=x'"),
                            (("--output-filename", ":nocopy"), "wants a directory")):
            result = self.run_job(*words, "true")
            self.assertEqual(result.status, 2)
            self.assert_one_line(result, said)

    def test_full_disk_of_a_file(self):
        folder = self.path("full")
        os.makedirs(f"{folder}/1/rank.0")
        os.symlink("/dev/full", f"{folder}/1/rank.0/stdout")
        result = self.run_job("--output-filename", folder, "echo", "x")
        self.assertEqual((result.status, result.output), (1, "x\n"))
        self.assert_one_line(result, "output of the ranks was lost: No space left on device")

    def test_last_words_of_a_killed_rank(self):
        result = self.run_job("-l", "-n", 2, "sh", "-c",
                              "printf 'last words'; [ $MEANTIME_RANK = 1 ] && kill -9 $$; sleep 9")
        self.assertEqual(result.status, 137)
        self.assertIn("[1] last words", result.output)

    def test_slow_reader_does_not_hide_a_death(self):
        job = self.start("-l", "-n", 2, "sh", "-c",
                         "[ $MEANTIME_RANK = 1 ] && exec yes; sleep 0.3; kill -9 $$")
        line = job.stderr.readline()  # while nobody reads standard output
        self.assertIn(b"rank 0", line)
        output, _ = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 137)

    def test_nobody_reads_and_the_job_is_ended(self):
        for words, signals, status in ((("yes",), (15,), 143), (("yes",), (2,), 130),
                                       (("sh", "-c", "trap '' 15; yes"), (15, 15), 143),
                                       (("sh", "-c", "yes & sleep 0.3; kill -9 $$"), (), 137),
                                       (("sh", "-c", "seq 9999"), (15,), 143)):
            with self.subTest(words):
                # The pipe to the reader is small, so that little output fills it.
                reader, writer = os.pipe()
                fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
                job = self.start("-l", "-n", 2, *words, stdout=writer)
                os.close(writer)
                # mpiexec has its supervisor; then a moment, for the pipe to fill.
                self.wait_for(lambda: len(processes_of(self.mark)) >= 2, "the supervisor")
                time.sleep(0.6)
                begin = time.monotonic()
                for number in signals:
                    job.send_signal(number)
                    begin = time.monotonic()
                    time.sleep(0.2)
                try:
                    self.assertEqual(job.wait(timeout=60), status)
                    self.assert_quick(time.monotonic() - begin, 1.2)
                finally:
                    job.kill()
                    job.communicate()
                    os.close(reader)

    def test_lost_output_is_an_error(self):
        with open("/dev/full", "wb") as full:
            result = self.run_job("-l", "-n", 2, "echo", "x", stdout=full)
            self.assertNotEqual(result.status, 0)
            self.assert_one_line(result, "lost", "No space left")
            for option in ("--help", "--version"):
                result = self.run_job(option, stdout=full)
                self.assertEqual(result.status, 1)
                self.assert_one_line(result, "standard output", "No space left")
        result = self.run_job("--version", preexec_fn=lambda: os.close(1))
        self.assertEqual(result.status, 1)
        self.assert_one_line(result, "standard output", "Bad file descriptor")

    def test_slow_reader_loses_nothing(self):
        # Nor does it where processes were left behind, which are ended.
        job = self.start("-l", "-n", 2, "sh", "-c", "sleep 30 & seq 20000")
        time.sleep(1.5)
        output, _ = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0)
        # A line may come in two pieces, if the other rank's came between them.
        written = {"[0]": "", "[1]": ""}
        for line in output.decode().splitlines():
            label, _, text = line.partition(" ")
            written[label] += text
        numbers = "".join(str(number) for number in range(1, 20001))
        self.assertEqual(written, {"[0]": numbers, "[1]": numbers})

    def test_reader_that_goes_away(self):
        result = subprocess.run(f"{MPIEXEC} -l -n 1 yes | head -n 1", shell=True,
                                env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(result.stdout, b"[0] y\n")

    def test_rank_0_has_no_terminal(self):
        result = self.run_job("-l", "-n", 1, "sh", "-c", "[ -t 1 ] || echo none")
        self.assertEqual(result.output, "[0] none\n")


if __name__ == "__main__":
    main()
