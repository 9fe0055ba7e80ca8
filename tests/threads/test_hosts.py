#!/usr/bin/env python3
"""Thread ranks in several processes, and beside process ranks: who is where, what each program has of
its own, how such jobs end, and what is refused."""

import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

from threads_case import BIN, ThreadsCase, command, rank_lines

# Each rank says which process it is in, which program it is and what it has; sums and a ring agree.
WHO = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int own = NUMBER;
int main(int c, char** v) {
  int rank, size, *number, found, sum, left;
  char folder[4096], wait[100], line[64] = "-";
  MPI_Init(&c, &v);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  own += 10 * rank;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Sendrecv(&own, 1, MPI_INT, (rank + 1) % size, 3, &left, 1, MPI_INT, (rank + size - 1) % size, 3,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (left % 10 == 0 || left / 10 != (rank + size - 1) % size) MPI_Abort(MPI_COMM_WORLD, 9);
  if (c > 1 && fgets(line, sizeof line, stdin) != NULL && line[0] != '\0') line[4] = '\0';
  printf("%d: pid %d program %d own %d sum %d %s A=%s %s\n", rank, (int)getpid(), *number, own, sum,
         getcwd(folder, sizeof folder), getenv("A") ? getenv("A") : "-", line);
  MPI_Finalize();
  return 0;
}
"""


class Hosts(ThreadsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.programs = [cls.build(cls(), WHO, f"-DNUMBER={number}", name=f"who{number}")
                        for number in (1, 2)]

    def who(self, *words, input=None, **environment):
        """By rank: (which process, by order of appearance; what it says of itself)."""
        done = subprocess.run([os.path.join(BIN, "mpiexec"), *map(str, words)], capture_output=True, text=True,
                              timeout=100, env=dict(self.environment, **environment), cwd=self.temporary,
                              input=input if input is not None else "")
        self.text = f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        self.assertEqual(done.returncode, 0, self.text)
        said = {int(rank): (pid, text) for rank, pid, text in
                re.findall(r"(?m)^(?:\[\d+\] )?(\d+): pid (\d+) (.*)$", done.stdout)}
        order = list(dict.fromkeys(said[rank][0] for rank in sorted(said)))
        return [(order.index(said[rank][0]), said[rank][1]) for rank in sorted(said)]

    def places(self, *words, **more):
        return "".join(str(place) for place, _ in self.who(*words, **more))

    def test_ranks_per_process(self):
        one, _ = self.programs
        threads = ("--as", "threads")
        self.assertEqual(self.places(*threads, "-n", 5, one), "00000")
        self.assertEqual(self.places(*threads, "--ranks-per-process", 2, "-n", 4, one), "0011")
        self.assertEqual(self.places(*threads, "--ranks-per-process=2", "-n", 5, one), "01122")
        self.assertEqual(self.places(*threads, "--ranks-per-process=1", "-n", 3, one), "012")
        self.assertEqual(self.places(*threads, "--ranks-per-process=9", "-n", 3, one), "000")
        self.assertEqual(self.places(*threads, "--ranks-per-process=3", "-n", 2, one, ":", "-n", 4, one), "000111")
        self.assertEqual(self.places(*threads, "--ranks-per-process=2", "--place", "round-robin", "--balance",
                                     "none", "-n", 4, one), "0011")

    def test_threads_beside_processes(self):
        one, two = self.programs
        self.assertEqual(self.places("-n", 2, one, ":", "--as", "threads", "-n", 3, two), "01222")
        self.assertEqual(self.places("--as", "threads", "-n", 3, two, ":", "--as", "processes", "-n", 2, one), "00012")
        said = self.who("-n", 1, one, ":", "--as", "threads", "-n", 2, two, ":", "--as", "processes", one, ":",
                        "--as", "threads", "-n", 2, one, ":", "-n", 1, two)
        self.assertEqual("".join(str(place) for place, _ in said), "0112333")
        self.assertEqual([text.split(" sum")[0] for _, text in said],
                         ["program 0 own 1", "program 1 own 12", "program 1 own 22", "program 2 own 31",
                          "program 3 own 41", "program 3 own 51", "program 4 own 62"])
        self.assertEqual({text.split()[5] for _, text in said}, {"220"})

    def test_what_is_a_programs_own(self):
        one, two = self.programs
        for option, has in ((("-env", "A", "7"), "A=7"), (("-wdir", "/"), " / "), (("--wait", "event"), "A=-")):
            said = self.who("--as", "threads", "-n", 2, one, ":", *option, "-n", 2, two)
            self.assertEqual("".join(str(place) for place, _ in said), "0011", option)
            self.assertIn(has, said[2][1])
            self.assertIn("A=-", said[0][1])
            self.assertIn(os.path.realpath(self.temporary), said[0][1])

    def test_labels_and_input(self):
        one, _ = self.programs
        split = ("--as", "threads", "--ranks-per-process", 2, "-n", 4)
        self.who("-l", *split, one)
        self.assertEqual(sorted(re.findall(r"(?m)^(\[\d\] \d):", self.text)), [f"[{r}] {r}" for r in range(4)])
        self.who("-l", *split, one, ":", "--as", "processes", "-n", 2, one)
        self.assertEqual(sorted(re.findall(r"(?m)^(\[\d\] \d):", self.text)), [f"[{r}] {r}" for r in range(6)])
        for reader in (0, 3):
            said = self.who("--stdin", reader, *split, one, "reads", input="word\n")
            self.assertEqual([text.endswith(" word") for _, text in said], [rank == reader for rank in range(4)])

    def test_as_many_processes_as_the_limit_of_memory_maps_wants(self):
        one, _ = self.programs
        self.who("--as", "threads", "-v", "-n", 24, one)
        few = dict(MEANTIME_TEST_MOST_MAPS="120")
        places = self.places("--as", "threads", "-n", 24, one, **few)
        self.assertGreater(int(places[-1], 36), 0, self.text)
        self.assertEqual(places, "".join(sorted(places)))
        # (Each alone; and who asks for fewer gets them.)
        self.assertEqual(self.places("--as", "threads", "--ranks-per-process=1", "-n", 2, one, **few), "01")
        refused = command(os.path.join(BIN, "mpiexec"), "--as", "threads", "-n", 2, one,
                          env=dict(self.environment, MEANTIME_TEST_MOST_MAPS="5"))
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn("memory maps", refused.stderr)

    def test_refusals(self):
        one, _ = self.programs
        mpiexec = os.path.join(BIN, "mpiexec")
        with tempfile.NamedTemporaryFile("w", suffix=".map") as map_file:
            map_file.write("0\n0\n")
            map_file.flush()
            for words in (("--ranks-per-process", 1, "--place", f"file:{map_file.name}", "--as", "threads", "-n", 2, one),
                          ("--place", f"file:{map_file.name}", "--as", "threads", one, ":", "--as", "processes", one)):
                done = command(mpiexec, *words, env=self.environment)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("--place file: the ranks of this job are not all threads of one process", done.stderr)
        for words, text in ((("--ranks-per-process", 2, one), "are for thread ranks"),
                            (("--as", "threads", "--ranks-per-process", 0, one), "--ranks-per-process wants a number"),
                            (("--as", "threads", "--bind", "core", one), "--bind is for process ranks"),
                            (("-n", 1, one, ":", "--as", "threads", "sh", "-c", "true"), "--as threads: ")):
            done = command(mpiexec, *words, env=self.environment)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(text, done.stderr)
        self.assertEqual(self.places("--bind", "core", "-n", 1, one, ":", "--as", "threads", "-n", 2, one), "011")

    ENDS = (("--as", "threads", "--ranks-per-process", "1", "-n", "3"),
            ("--as", "threads", "--ranks-per-process", "2", "-n", "4"))

    def test_ends(self):
        ends = self.build("ends.c", name="ends")
        for split in (*self.ENDS, ("-n", "1", ends, "WAY", ":", "--as", "threads", "-n", "2"),
                      ("--as", "threads", "-n", "2", ends, "WAY", ":", "--as", "processes", "-n", "1")):
            def run(way, status, text):
                words = [way if word == "WAY" else word for word in split]
                done = command(os.path.join(BIN, "mpiexec"), *words, ends, way, env=self.environment,
                               cwd=self.temporary)
                self.assertEqual(done.returncode, status, f"{words} {way}\n{done.stdout}\n{done.stderr}")
                self.assertRegex(done.stderr, text)
                return done.stderr
            run("segv", 139, r"rank 1 \(pid \d+ on .*\) was killed by ")
            run("exit", 3, r"rank 1 .*ended with status 3 without MPI_Finalize")
            run("mpi_abort", 42, r"rank 1 .*MPI_Abort with code 42")
            run("status", 5, "^")
            listed = run("deadlock", 125, "every rank waits")
            ranks = sum(int(count) for at, count in enumerate(split) if at > 0 and split[at - 1] == "-n")
            waiting = [line for line in rank_lines(listed).values() if re.search(r"MPI_Recv for rank \d+, tag 77 ", line)]
            self.assertEqual(len(waiting), ranks, listed)
            listed = run("lonely", 125, "every rank waits")
            self.assertRegex(listed, r"rank 0 .*MPI_Recv .*tag 78")

    def test_a_killed_process_names_its_ranks(self):
        waits = self.build("#include <mpi.h>\n#include <stdio.h>\n#include <unistd.h>\n"
                           "int main(int c, char** v) { int r; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
                           "MPI_Barrier(MPI_COMM_WORLD); printf(\"%d %d\\n\", r, (int)getpid()); fflush(stdout);\n"
                           "if (r == 0) sleep(100);\nMPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0; }\n",
                           name="waits")
        for words, ranks in ((("--as", "threads", "--ranks-per-process", "2", "-n", "6", waits), "ranks 2-3"),
                             (("-n", "2", waits, ":", "--as", "threads", "-n", "1", waits), "rank 2"),
                             (("-n", "2", waits, ":", "--as", "threads", "-n", "2", waits), "ranks 2-3")):
            job = subprocess.Popen([os.path.join(BIN, "mpiexec"), *words], stdin=subprocess.DEVNULL, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment)
            self.addCleanup(job.kill)
            count = sum(int(n) for at, n in enumerate(words) if at > 0 and words[at - 1] == "-n")
            pids = dict(tuple(map(int, job.stdout.readline().split())) for _ in range(count))
            os.kill(pids[2], signal.SIGKILL)
            _, errors = job.communicate(timeout=100)
            self.assertEqual(job.returncode, 137, errors)
            self.assertRegex(errors, rf"the process of {ranks} \(pid {pids[2]} on .*\) was killed by signal 9")
            for pid in set(pids.values()):
                self.assertFalse(os.path.exists(f"/proc/{pid}"), pid)

    def test_ps_and_stack(self):
        """Each rank is listed where it is, and has its own backtrace."""
        stays = self.build("#include <mpi.h>\nint stays_here(int r) { int value;\n"
                           "MPI_Recv(&value, 1, MPI_INT, r == 0 ? MPI_ANY_SOURCE : 0, 7, MPI_COMM_WORLD,\n"
                           "MPI_STATUS_IGNORE); return value; }\nint main(int c, char** v) { int r;\n"
                           "MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r); MPI_Barrier(MPI_COMM_WORLD);\n"
                           "r = stays_here(r); MPI_Finalize(); return r == 77; }\n", "-g", "-O1", name="stays")
        job = subprocess.Popen([os.path.join(BIN, "mpiexec"), "--on-deadlock=ignore", "-n", "1", stays, ":", "--as",
                                "threads", "--ranks-per-process", "2", "-n", "4", stays], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        meantime = os.path.join(BIN, "meantime")
        end = time.monotonic() + 60
        text = ""
        while text.count("tag 7 ") != 5 and time.monotonic() < end:
            time.sleep(0.05)
            text = command(meantime, "ps", "--each", env=self.environment).stdout
            text = text[text.find(f"job {job.pid}:"):]
        pids = dict(re.findall(r"(?m)^  rank (\d) \(pid (\d+)\) .*MPI_Recv", text))
        self.assertEqual(len(pids), 5, text)
        self.assertEqual((pids["1"], pids["3"]), (pids["2"], pids["4"]), text)
        self.assertEqual(len(set(pids.values())), 3, text)
        done = command(meantime, "stack", job.pid, env=self.environment)
        if "needs gdb" in done.stderr or "could be looked at" in done.stderr:
            self.skipTest(done.stderr)
        stacks = re.split(r"(?m)^  (?=ranks? )", done.stdout)[1:]
        self.assertTrue(all(re.search(r"(?m)^ +#.*\bstays_here\b", stack) for stack in stacks), done.stdout + done.stderr)
        self.assertEqual(sorted(rank_lines(done.stdout)), list(range(5)), done.stdout)


if __name__ == "__main__":
    unittest.main()
