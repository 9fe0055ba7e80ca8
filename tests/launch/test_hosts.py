#!/usr/bin/env python3
"""mpiexec --hosts: an mpiexec on each machine, here all on this one, by a remote shell that only pretends."""

import os
import pty
import signal
import subprocess
import time
import unittest

from mpiexec import CFLAGS, MARK, MPIEXEC, THREADS, MpiexecTest, processes_of
from test_tasks import MPICC, PROGRAM

# As ssh: a home of its own, no environment but the machine's, the words for a shell; a host that is not there.
SHELL = """#!/bin/sh
host=$1; shift
test $host = nowhere && { echo "remote shell: $host: no route to host" >&2; exit 255; }
cd /
exec env -i HOME=$HOME PATH=/usr/bin:/bin %s=$%s SSH_HOST=$host sh -c "$*"
""" % (MARK, MARK)

WHERE = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank, size, nearby;
  char folder[4096], line[256] = "";
  MPI_Comm node;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &nearby);
  const char* said = getenv("SAID");
  const char* host = getenv("SSH_HOST");
  if (fgets(line, sizeof line, stdin)) line[5] = 0;
  printf("%d of %d on %s with %d in %s: %s %s%s\\n", rank, size, host ? host : "here", nearby, getcwd(folder, sizeof folder),
         said ? said : "", argc > 1 ? argv[1] : "", line);
  MPI_Comm_free(&node);
  MPI_Finalize();
}
"""


class Hosts(MpiexecTest):
    def setUp(self):
        super().setUp()
        self.environment["ASAN_OPTIONS"] += ":detect_leaks=0"  # as WITH_UCX has it
        self.environment.update(MEANTIME_REMOTE_SHELL=self.path("shell", SHELL), UCX_NET_DEVICES="lo",
                                UCX_TLS="tcp,self")

    def program(self, source, name="program"):
        path = self.path(name)
        subprocess.run([MPICC, *CFLAGS, self.path(name + ".c", source), "-o", path], check=True)
        return path

    def begin(self, *words, lines=2):
        """A job, of which so many lines have come."""
        job = subprocess.Popen([MPIEXEC, *map(str, words)], text=True, env=self.environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        for _ in range(lines):
            self.assertEqual(job.stdout.readline()[:5], "rank ")
        return job

    def test_ranks_are_where_they_were_asked_for(self):
        where = self.program(WHERE)
        self.environment["SAID"] = "it's $HOME"
        job = subprocess.run([MPIEXEC, "--hosts", "a:2,b:3", where, "two words"], text=True, env=self.environment,
                             input="lines\nfor rank 0", capture_output=True, timeout=60, cwd=self.folder.name)
        folder = os.path.realpath(self.folder.name)
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        expected = [f"{rank} of 5 on {'a' if rank < 2 else 'b'} with {2 if rank < 2 else 3} in {folder}: "
                    f"it's $HOME two words{'lines' if rank == 0 else ''}" for rank in range(5)]
        self.assertEqual(sorted(job.stdout.splitlines()), expected)

    def test_ways_to_name_hosts(self):
        where = self.program(WHERE)
        file = self.path("hosts", "a slots=1\n# nobody\nb\nlocalhost slots=2\n")
        for words, on in ((("-n", 4, "--host", "a,b"), "aabb"), (("-n", 2, "--hosts", "a:4,b:4"), "aa"),
                          (("-ppn", 2, "-hosts", "a,b"), "aabb"), (("-hostfile", file), ["a", "b", "here", "here"]),
                          (("-n", 1, "-host", "a,b:1", where, ":", "-n", 1), "ab"), (("--host", "a,a,b"), "aab"),
                          (("--host", "[fe80::1]:1,fe80::2"), ["fe80::1", "fe80::2"])):
            result = self.run_job(*words, where)
            self.assertEqual(result.status, 0, result)
            self.assertEqual([line.split()[4] for line in sorted(result.output.splitlines())], list(on), words)

    def test_labels_and_report(self):
        result = self.run_job("-l", "--report", "--hosts", "a:2,b:2", self.program(PROGRAM))
        self.assertEqual(result.status, 0, result)
        self.assertEqual(sorted(result.output.splitlines()), [f"[{rank}] rank {rank} of 4: 6" for rank in range(4)])
        self.assertRegex(result.error, r"where the time of 4 ranks on \d+ workers of 2 nodes went, ")
        self.assertRegex(result.error, r"\n +3 .*  b\n")
        self.assertEqual(result.error.count("where the time of"), 1)

    @unittest.skipUnless(THREADS, "no thread ranks here")
    def test_thread_ranks(self):
        for words in (("--hosts", "a:4,b:4"), ("--ranks-per-process", 2, "--hosts", "a:4,b:4")):
            result = self.run_job("--as", "threads", *words, self.program(PROGRAM))
            self.assertEqual((result.status, result.output.count("of 8: 28\n")), (0, 8), result)

    def test_programs_without_mpi(self):
        result = self.run_job("--hosts", "a:2,b:1", "sh", "-c", "echo $SSH_HOST")
        self.assertEqual((result.status, sorted(result.output.split())), (0, ["a", "a", "b"]))
        self.assertEqual(self.run_job("--hosts", "a:2,b:1", "sh", "-c", "exit 3").status, 3)

    def test_ends(self):
        program = self.program(PROGRAM)
        for what, status, said in (("abort", 7, "called MPI_Abort with code 7"), ("kill", 137, "was killed by signal 9"),
                                   ("crash", 139, "was killed by signal 11"),
                                   ("leave", 1, "ended with status 0 without MPI_Finalize")):
            result = self.run_job("--hosts", "a:2,b:2", program, what)
            self.assertEqual(result.status, status, result)
            self.assertEqual(result.error.count(said), 1, result)
            self.assertEqual(result.error.count("mpiexec: "), 1, result)

    def test_a_deadlock_is_told(self):
        result = self.run_job("--hosts", "a:2,b:2", self.program(PROGRAM), "dead")
        self.assertEqual(result.status, 125, result)
        self.assertEqual(result.error.count("deadlock: every rank waits in MPI, and nothing can wake one of them:\n"), 1, result)
        for ranks in ("0-1", "2-3"):
            self.assertRegex(result.error, rf"ranks {ranks}: each waits in MPI_Recv for any rank, tag 7")
        result = self.run_job("--on-deadlock=ignore", "--timeout", 4, "--hosts", "a:2,b:2", self.program(PROGRAM), "dead")
        self.assertEqual(result.status, 124, result)

    def test_a_rank_that_never_calls_init(self):
        result = self.run_job("--hosts", "a,b", "sh", "-c", f"test $SSH_HOST = a || exec {self.program(PROGRAM)}")
        self.assertEqual(result.status, 1, result)
        self.assertRegex(result.error, r"rank 0 .* ended with status 0 before MPI_Init, others wait for it")

    def test_a_host_that_is_not_there(self):
        result = self.run_job("--hosts", "a:2,nowhere:2", self.program(PROGRAM))
        self.assertEqual(result.status, 255, result)
        self.assertIn("cannot start ranks on nowhere (ranks 2-3): what starts mpiexec there ended with status 255", result.error)
        self.environment["MEANTIME_REMOTE_SHELL"] = "no-such-shell"
        result = self.run_job("--hosts", "a:2", self.program(PROGRAM))
        self.assertEqual(result.status, 1, result)
        self.assertIn("cannot start ranks on 'a': there is no no-such-shell", result.error)

    def test_an_mpiexec_that_is_lost(self):
        job = self.begin("--hosts", "a:1,b:1", self.program(PROGRAM), "wait")
        members = [pid for pid, words in processes_of(self.mark).items() if "mpiexec --node-of-a-job" in words]
        self.assertEqual(len(members), 2, processes_of(self.mark))
        os.kill(members[1], signal.SIGKILL)
        _, error = job.communicate(timeout=30)
        self.assertEqual(job.returncode, 1, error)
        self.assertRegex(error, r"[ab] \(rank [01]\) is lost")

    def test_signals_reach_all(self):
        for sent, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)):
            job = self.begin("--hosts", "a:1,b:1", self.program(PROGRAM), "wait")
            job.send_signal(sent)
            _, error = job.communicate(timeout=30)
            self.assertEqual((job.returncode, error), (status, ""))
            end = time.monotonic() + 10
            while processes_of(self.mark) and time.monotonic() < end:
                time.sleep(0.05)
            self.assertEqual(processes_of(self.mark), {})

    def test_signals_before_all_are_there(self):
        slow = self.path("slow", f"#!/bin/sh\ntest $1 = b && sleep 3\nexec {self.path('shell')} \"$@\"\n")
        self.environment["MEANTIME_REMOTE_SHELL"] = slow
        for sent, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            job = self.begin("--hosts", "a:1,b:1", self.program(PROGRAM), "wait", lines=0)
            time.sleep(0.5)
            job.send_signal(sent)
            self.assertEqual((job.wait(timeout=30), job.communicate()), (status, ("", "")))
        words = ("sh", "-c", "trap 'echo rank heard; exit' USR1; while :; do sleep 0.05; done")
        job = self.begin("--hosts", "b:1", *words, lines=0)
        time.sleep(0.5)
        job.send_signal(signal.SIGUSR1)
        output, _ = job.communicate(timeout=30)  # heard, or it was too early for the script to catch it
        self.assertIn((job.returncode, output), ((0, "rank heard\n"), (128 + signal.SIGUSR1, "")))

    def test_a_remote_shell_that_is_killed(self):
        job = self.begin("--hosts", "a:1,b:1", self.program(PROGRAM), "wait")
        shells = [pid for pid, words in processes_of(self.mark).items() if "mpiexec --node-of-a-job" in words]
        os.kill(shells[0], signal.SIGKILL)
        _, error = job.communicate(timeout=30)
        self.assertEqual((job.returncode, error.count(" is lost: ")), (1, 1), error)

    def test_a_terminal_is_for_the_foreground(self):
        child, terminal = pty.fork()
        if child == 0:
            os.execve("/bin/bash", ["bash", "--norc", "-i"], dict(self.environment, PS1="", PS2=""))
        try:
            os.write(terminal, f"{MPIEXEC} --hosts a:1,b:1 {self.program(PROGRAM)} wait &\n".encode())
            seen = b""
            while seen.count(b" of 2: 1") < 2:
                seen += os.read(terminal, 4096)
            for number in range(5):
                os.write(terminal, b"echo typed-$((%d+40))\n" % number)
                while b"typed-%d" % (number + 40) not in seen:
                    seen += os.read(terminal, 4096)
        finally:
            for pid, words in processes_of(self.mark).items():
                if words.startswith(f"{MPIEXEC} --hosts"):
                    os.kill(pid, signal.SIGTERM)
            os.kill(child, signal.SIGHUP)
            os.waitpid(child, 0)
            os.close(terminal)

    def test_the_time_limit(self):
        result = self.run_job("--timeout", 2, "--hosts", "a:1,b:1", self.program(PROGRAM), "wait")
        self.assertEqual(result.status, 124, result)
        self.assertIn("the time limit of 2 s is over", result.error)

    def test_what_cannot_be(self):
        program = self.program(PROGRAM)
        for words, said in ((("--guest", "proc:true"), "guest work beside several nodes is not there yet"),
                            (("--debugger", "gdb"), "--debugger is for jobs of one machine")):
            result = self.run_job(*words, "--hosts", "a:1,b:1", program)
            self.assertEqual(result.status, 1, result)
            self.assertIn(said, result.error)
        result = self.run_job("--hosts", "-oProxyCommand=x", program)
        self.assertEqual(result.status, 2, result)
        self.assertIn("is no host's name", result.error)
        result = self.run_job("--node-of-a-job")
        self.assertEqual(result.status, 1, result)


if __name__ == "__main__":
    unittest.main()
