#!/usr/bin/env python3
"""Nodes and links that go away without a word: whoever is left says which, in a settable time."""

import os
import shutil
import signal
import subprocess
import time
import unittest

from mpiexec import BUILD, CFLAGS, MARK, MPIEXEC, THREADS, MpiexecTest, processes_of
from test_hosts import SHELL
from test_tasks import MPICC, WIRE_UP, WITH_UCX

MEANTIME = os.path.join(BUILD, "bin", "meantime")
MPIRUN = shutil.which("mpirun.openmpi")
IP = shutil.which("ip")
NSENTER = shutil.which("nsenter")
HAS_NETWORKS = os.geteuid() == 0 and IP and NSENTER
HAS_TASKS = MPIRUN and os.path.exists(WIRE_UP)
LOST_AFTER = 4
# From the loss to the end of all: what is lost, a signal's grace, a machine that is busy.
SECONDS = LOST_AFTER + 4

# Messages to and fro between two nodes, of so many bytes, from the start, or (-2) 2 s later; or some that nobody
# reads for so many seconds.
TRAFFIC = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
  const int bytes = atoi(argv[1]), busy = atoi(argv[2]);
  int rank, size;
  char* data = calloc(2, bytes);
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int other = (rank + size / 2) % size;
  if (busy >= 0) MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d pid %d\\n", rank, getpid());
  fflush(stdout);
  if (busy < 0) sleep(-busy);
  if (busy > 0) {
    MPI_Request requests[500];
    const int count = rank < other ? 500 : 0;
    for (int i = 0; i < count; ++i) MPI_Isend(data, i == 499 ? bytes : 20000, MPI_BYTE, other, 0, MPI_COMM_WORLD, requests + i);
    if (!count) {
      MPI_Request late;
      MPI_Irecv(data, 0, MPI_BYTE, other, 1, MPI_COMM_WORLD, &late);
      for (double end = MPI_Wtime() + busy; MPI_Wtime() < end;) usleep(10000);
      for (int i = 0; i < 500; ++i) MPI_Recv(data + bytes, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Cancel(&late);
      MPI_Wait(&late, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; busy <= 0 && i < 100000; ++i) {
    usleep(1000);  // whoever shares the CPUs is not to be lost
    MPI_Sendrecv(data, bytes, MPI_BYTE, other, 0, data + bytes, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
"""


class Jobs(MpiexecTest):
    def setUp(self):
        super().setUp()
        self.environment.update(WITH_UCX, MEANTIME_LOST_AFTER=str(LOST_AFTER), MEANTIME_REMOTE_SHELL=self.path("shell", SHELL),
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.on_loopback = dict(self.environment, UCX_NET_DEVICES="lo", UCX_TLS="tcp,self")
        self.program = self.path("traffic")
        subprocess.run([MPICC, *CFLAGS, self.path("traffic.c", TRAFFIC), "-o", self.program], check=True)

    def begin(self, *words, ranks=2, environment=None):
        """A job, and the processes of its ranks."""
        job = subprocess.Popen([*map(str, words)], text=True, env=environment or self.environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        pids = {}
        while len(pids) < ranks:
            line = job.stdout.readline().split()
            self.assertEqual(line[:1], ["rank"], line)
            pids[int(line[1])] = int(line[3])
        return job, pids

    def end_of(self, job, began, seconds=SECONDS):
        try:
            _, error = job.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            job.kill()
            self.fail("it does not end")
        if time.monotonic() - began > seconds:
            self.slow.append(f"{time.monotonic() - began:.1f} s to the end")
        return job.returncode, error

    def supervisors(self):
        found = []
        for pid in processes_of(self.mark):
            with open(f"/proc/{pid}/comm") as file:
                if file.read() == "meantime-job\n":
                    found.append(pid)
        return found

    def variable(self, pid, name):
        with open(f"/proc/{pid}/environ", "rb") as file:
            for variable in file.read().split(b"\0"):
                if variable.startswith(name.encode() + b"="):
                    return variable.decode().partition("=")[2]
        return ""

    def stop(self, pid):
        self.addCleanup(lambda: os.path.exists(f"/proc/{pid}") and os.kill(pid, signal.SIGKILL))
        os.kill(pid, signal.SIGSTOP)
        return time.monotonic()

    def assert_nothing_left_of_ranks(self):
        end = time.monotonic() + 20
        while processes_of(self.mark) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(processes_of(self.mark), {})

    def on_cluster(self, *words, ranks=2, **variables):
        return self.begin(MEANTIME, "cluster", 2, "--", MPIEXEC, "--timeout", 40, "-n", ranks, *words, ranks=ranks,
                          environment=dict(self.environment, **variables))

    def cut(self, pid):
        """What that rank's node sends to the other one goes nowhere, and nobody is told."""
        subprocess.run([NSENTER, "-t", str(pid), "-n", IP, "neigh", "replace", "10.0.0.1", "lladdr", "02:00:00:00:00:99", "dev",
                        "eth0", "nud", "permanent"], check=True)
        return time.monotonic()

    def words_for_launcher(self):
        """Open MPI's daemons of two nodes, which are both here."""
        agent = self.path("agent", '#!/bin/sh\nTMPDIR=$TMPDIR/$1; mkdir -p $TMPDIR; export TMPDIR; shift; exec sh -c "$*"\n')
        return (MPIRUN, "--mca", "plm_rsh_agent", agent, "--mca", "rtc", "^hwloc", "--bind-to", "none", "--host", "one:2,two:2")

    def stop_nodes_of_launcher(self, *which):
        on_two = self.words_for_launcher()
        carry = (MPIEXEC, "--as", "threads", "--ranks-per-process", "2")
        of_each = (("two", (), 4, "Meantime: two is lost: nothing is heard of the supervisor there any more"),
                   ("one", (), 4, "Meantime: one is lost: nothing is heard of the supervisor there any more"),
                   ("two", carry, 8, "mpiexec: two (ranks 4-7) is lost: nothing is heard of the mpiexec there any more"))
        for node, words, ranks, line in (of_each[number] for number in which):
            if words and not THREADS:
                continue
            job, _ = self.begin(*on_two, "-n", 4, *words, self.program, 8, 0, ranks=ranks,
                                environment=dict(self.on_loopback, TMPDIR=self.folder.name))
            supervisor = [pid for pid in self.supervisors() if self.variable(pid, "TMPDIR").endswith("/" + node)]
            self.assertEqual(len(supervisor), 1, processes_of(self.mark))
            status, error = self.end_of(job, self.stop(supervisor[0]))
            self.assertNotEqual(status, 0)
            self.assertEqual(error.count(" is lost: "), 1, error)
            self.assertIn(line + "\n", error)
            if supervisor[0] in processes_of(self.mark):
                os.kill(supervisor[0], signal.SIGCONT)
            self.assert_nothing_left_of_ranks()

    def cut_links(self, *which):
        of_each = (("processes", 2, 8, 0, "adaptive"), ("processes", 2, 1 << 22, 0, "poll"),
                   ("threads", 4, 1 << 20, 0, "adaptive"), ("processes", 2, 8, -2, "adaptive"))
        for kind, ranks, bytes_, begin, wait in (of_each[number] for number in which):
            if kind == "threads" and not THREADS:
                continue
            job, pids = self.on_cluster("--as", kind, "--wait", wait, self.program, bytes_, begin, ranks=ranks)
            status, error = self.end_of(job, self.cut(pids[ranks - 1]))
            # Where it is cut while a connection is made, thread ranks are told to be held up by that, too.
            lines = [line for line in error.splitlines() if ", in connect; they go on beside it" not in line]
            self.assertEqual((status, len(lines)), (1, 1), error)
            self.assertRegex(lines[0], r"mpiexec: the connection of rank \d \(pid \d+ on .*\) to rank \d \(pid \d+ on .*\) is lost: ")


class Lost(Jobs):
    def test_a_node_that_is_stopped(self):
        job, pids = self.begin(MPIEXEC, "--host", "a:1,b:1", self.program, 8, 0, environment=self.on_loopback)
        with open(f"/proc/{pids[1]}/stat") as file:
            supervisor = int(file.read().rpartition(")")[2].split()[1])
        status, error = self.end_of(job, self.stop(supervisor))
        self.assertEqual((status, error), (1, "mpiexec: b (rank 1) is lost: nothing is heard of the mpiexec there any more\n"))

    @unittest.skipUnless(HAS_TASKS, "no Open MPI, or built without PMIx")
    def test_a_node_of_a_launcher_that_is_stopped(self):
        self.stop_nodes_of_launcher(2 if THREADS else 1)

    @unittest.skipUnless(HAS_NETWORKS, "no network of its own for a node")
    def test_a_link_that_is_cut(self):
        self.cut_links(2 if THREADS else 1)


if __name__ == "__main__":
    unittest.main()
