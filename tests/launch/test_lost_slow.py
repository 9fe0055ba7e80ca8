#!/usr/bin/env python3
"""As test_lost.py: what is not to be taken for lost, and whoever is killed at whichever step."""

import os
import re
import signal
import subprocess
import time
import unittest

from mpiexec import CFLAGS, MPIEXEC, THREADS, processes_of
from test_lost import HAS_NETWORKS, HAS_TASKS, LOST_AFTER, MPIRUN, Jobs
from test_tasks import MPICC

STEPS = ("start", "wire-up", "eager", "rendezvous", "collective", "finalize", "exit")
# The victim, or the process that it is a child of, is killed at a step: some milliseconds from its start, or
# where it is told to.
KILLED = """
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int whom, delay_us;
static void end(void) {
  kill(whom ? getppid() : getpid(), SIGKILL);
  pause();
}
static void* later(void* nothing) {
  usleep(delay_us);
  end();
  return nothing;
}
static void soon(int us) {
  pthread_t thread;
  delay_us = us;
  pthread_create(&thread, 0, later, 0);
}
int main(int argc, char** argv) {
  const char *step = argv[1], *number = getenv("MEANTIME_RANK") ? getenv("MEANTIME_RANK") : getenv("PMIX_RANK");
  const int victim = number && atoi(number) == 2;
  static char data[4][1 << 20];
  int rank, size;
  MPI_Request requests[2];
  whom = !strcmp(argv[2], "supervisor");
  if (victim && !strcmp(step, "start")) end();
  if (victim && !strcmp(step, "wire-up")) soon(atoi(argv[3]));
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int dies = rank == 2, other = (rank + size / 2) % size;
  if (dies && !strcmp(step, "wire-up")) pause();
  for (int i = 0; i < 20; ++i) {
    const int bytes = !strcmp(step, "rendezvous") ? 1 << 20 : 1000;
    MPI_Irecv(data[0], bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(data[1], bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[1]);
    if (dies && i == 10 && (!strcmp(step, "eager") || !strcmp(step, "rendezvous"))) end();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < 20; ++i) {
    MPI_Ialltoall(data[2], 10000, MPI_BYTE, data[3], 10000, MPI_BYTE, MPI_COMM_WORLD, &requests[0]);
    if (dies && i == 10 && !strcmp(step, "collective")) end();
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  if (dies && !strcmp(step, "finalize")) soon(atoi(argv[3]) / 20);
  MPI_Finalize();
  if (dies && !strcmp(step, "exit")) end();
  if (dies && !strcmp(step, "finalize")) pause();
  return 0;
}
"""


class LostForLong(Jobs):
    def test_a_job_that_is_stopped_goes_on(self):
        job, _ = self.begin(MPIEXEC, "--host", "a:1,b:1", self.program, 100000, 4, environment=self.on_loopback)
        everybody = processes_of(self.mark)
        for end in (signal.SIGSTOP, signal.SIGCONT):
            for pid in everybody:
                os.kill(pid, end)
            time.sleep(LOST_AFTER + 2 if end == signal.SIGSTOP else 0)
        self.assertEqual(self.end_of(job, time.monotonic(), 60), (0, ""))

    @unittest.skipUnless(HAS_NETWORKS, "no network of its own for a node")
    def test_who_computes_is_not_lost(self):
        """Its sockets are full for longer than MEANTIME_LOST_AFTER, but its kernel answers."""
        for helper in ("on", "off"):
            job, _ = self.on_cluster(self.program, 4 << 20, LOST_AFTER + 2, MEANTIME_HELPER=helper)
            self.assertEqual(self.end_of(job, time.monotonic(), 60), (0, ""))

    @unittest.skipUnless(HAS_TASKS, "no Open MPI, or built without PMIx")
    def test_nodes_of_a_launcher_that_are_stopped(self):
        self.stop_nodes_of_launcher(0, 1)

    @unittest.skipUnless(HAS_NETWORKS, "no network of its own for a node")
    def test_a_link_that_is_cut(self):
        self.cut_links(0, 1, 3)

    def ways_to_start(self):
        threads = ("--as", "threads", "--ranks-per-process", "2")
        played = dict(self.on_loopback, MEANTIME_TEST_NODES="2")
        hosts = ("--host", "a:2,b:2")
        yield "played", (MPIEXEC, "-n", "4"), played
        yield "hosts", (MPIEXEC, *hosts), self.on_loopback
        if THREADS:
            yield "played threads", (MPIEXEC, "-n", "4", *threads), played
            yield "hosts of threads", (MPIEXEC, *hosts, *threads), self.on_loopback
        if HAS_TASKS:
            on_two = self.words_for_launcher()
            yield "tasks", (*on_two, "-n", "4"), dict(self.on_loopback, TMPDIR=self.folder.name)
            if THREADS:
                yield ("tasks of threads", (*on_two, "-n", "2", "--map-by", "node", MPIEXEC, *threads),
                       dict(self.on_loopback, TMPDIR=self.folder.name))

    def test_whoever_is_killed_at_whichever_step(self):
        program = self.path("killed")
        subprocess.run([MPICC, *CFLAGS, self.path("killed.c", KILLED), "-o", program, "-lpthread"], check=True)
        for way, words, environment in self.ways_to_start():
            for whom in ("itself", "supervisor"):
                if whom == "supervisor" and way == "tasks":
                    continue  # it is no child of that
                for step in STEPS:
                    for delay in (2000, 10000, 20000, 40000, 80000) if step in ("wire-up", "finalize") else (0,):
                        with self.subTest(way=way, whom=whom, step=step, delay=delay):
                            began = time.monotonic()
                            job = subprocess.Popen([*words, program, step, whom, str(delay)], text=True, env=environment,
                                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
                            status, error = self.end_of(job, began, 2 * LOST_AFTER + 4)
                            lines = [line for line in error.splitlines() if re.match("mpiexec: |Meantime: ", line)]
                            self.assertNotEqual(status, 0, error)
                            # Tasks' launchers say it, too, or alone; of a supervisor that is killed both ends say it.
                            self.assertIn(len(lines), (0, 1, 2) if way.startswith("tasks") else (1,), error)
                            self.assert_nothing_left_of_ranks()


if __name__ == "__main__":
    unittest.main()
