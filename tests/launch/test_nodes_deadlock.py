#!/usr/bin/env python3
"""Deadlocks of ranks of several nodes, and what is none. (One program a case: tests/hang, which run over nodes, too.)"""

import os
import subprocess
import unittest

from mpiexec import BUILD, CFLAGS, MpiexecTest
from test_tasks import WITH_UCX

MPICC = os.path.join(BUILD, "bin", "mpicc")
# Thread ranks over nodes have not been tried with sanitizers yet.
KINDS = ("processes",) if CFLAGS else ("processes", "threads")

HEAD = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int rank, size, word;
static void begin(void) {
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}
static void get(int from, int tag) {
  MPI_Recv(&word, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void put(int to, int tag) {
  MPI_Send(&word, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}
"""

# Each rank for its neighbour, behind traffic of every kind: nothing of that is under way any more.
RING = HEAD + """
int main(void) {
  enum { most = 1 << 20 };
  char *mine = calloc(1, most), *other = calloc(1, most);
  begin();
  for (int bytes = 1; bytes <= most; bytes *= 32)
    for (int distance = 1; distance < size; ++distance)
      MPI_Sendrecv(mine, bytes, MPI_CHAR, (rank + distance) % size, 1, other, bytes, MPI_CHAR,
                   (rank + size - distance) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  get((rank + 1) % size, 10 + rank);
  MPI_Finalize();
  return 0;
}
"""

# What nobody receives lies at its receiver, short, or stays with its sender, long: neither is under way.
UNRECEIVED = HEAD + """
int main(void) {
  enum { bytes = 1 << 20 };
  char *data = calloc(1, bytes);
  MPI_Request requests[3];
  begin();
  for (int i = 0; i < 3; ++i)
    MPI_Isend(data, i == 0 ? 8 : bytes, MPI_CHAR, size - 1 - rank, 20 + i, MPI_COMM_WORLD, &requests[i]);
  get(size - 1 - rank, 99);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  MPI_Finalize();
  return 0;
}
"""

MISMATCH = HEAD + """
int main(void) {
  begin();
  double value = rank, sum;
  if (rank == size - 1) MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  else get(size - 1, 3);
  MPI_Finalize();
  return 0;
}
"""

LEAVES = HEAD + """
int main(void) {
  begin();
  if (rank == 0) get(size - 1, 7);
  MPI_Finalize();
  return 0;
}
"""

# Everybody waits for one who takes his time: he computes, sleeps, tests, or is slow to receive.
SLOW = HEAD + """
static double now(void) { return MPI_Wtime(); }
int main(int count, char **words) {
  const char *how = words[1];
  const double seconds = atof(words[2]);
  enum { large = 64 << 20 };
  begin();
  MPI_Barrier(MPI_COMM_WORLD);
  const int last = size - 1;
  if (!strcmp(how, "computes") || !strcmp(how, "sleeps")) {
    if (rank == last) {
      if (*how == 's') usleep(seconds * 1e6);
      else for (double end = now() + seconds; now() < end;) {}
      for (int to = 0; to < last; ++to) put(to, 1);
    } else get(last, 1);
  } else if (!strcmp(how, "tests")) {
    MPI_Request request;
    int done = 0;
    MPI_Irecv(&word, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD, &request);
    for (double end = now() + seconds; now() < end && !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    put((rank + last) % size, 2);
    if (!done) MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (!strcmp(how, "flood")) {  // far beyond credit, while its receiver sleeps outside of MPI
    if (rank == 0) for (int i = 0; i < 20000; ++i) put(last, 3);
    if (rank == last) {
      usleep(seconds * 1e6);
      for (int i = 0; i < 20000; ++i) get(0, 3);
    }
  } else if (!strcmp(how, "large")) {
    char *data = calloc(1, large);
    if (rank == 0) {
      MPI_Ssend(data, large, MPI_CHAR, last, 4, MPI_COMM_WORLD);
    } else if (rank == last) {
      usleep(seconds * 1e6);
      MPI_Recv(data, large, MPI_CHAR, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0) puts("done");
  return 0;
}
"""

# A word goes round and round, so that all but one sleep at any time, and a node often falls still.
ROUND = HEAD + """
int main(int count, char **words) {
  const int rounds = atoi(words[1]), pause = atoi(words[2]);
  begin();
  for (int i = 0; i < rounds; ++i) {
    if (rank != 0 || i != 0) get((rank + size - 1) % size, 1);
    if (rank == 0 && pause) usleep(pause);
    put((rank + 1) % size, 1);
  }
  if (rank == 0) get(size - 1, 1);
  MPI_Finalize();
  return 0;
}
"""

# Everything that travels, in an order by chance, with pauses: each message has its round as tag.
MIXTURE = HEAD + """
enum { most = 1 << 20 };
static char mine[most], other[most];
int main(int count, char **words) {
  begin();
  unsigned all = atoi(words[2]), own = all + 77 * rank;
  for (int i = 0, rounds = atoi(words[1]); i < rounds; ++i) {
    const int bytes = 1 << rand_r(&all) % 21, distance = 1 + rand_r(&all) % (size - 1), kind = rand_r(&all) % 5;
    const int to = (rank + distance) % size, from = (rank + size - distance) % size;
    MPI_Request requests[2];
    if (rand_r(&own) % 4 == 0) usleep(rand_r(&own) % 3000);
    if (kind == 0) {
      MPI_Irecv(other, bytes, MPI_CHAR, from, i, MPI_COMM_WORLD, &requests[0]);
      MPI_Issend(mine, bytes, MPI_CHAR, to, i, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (kind == 1) {
      MPI_Isend(mine, bytes, MPI_CHAR, to, i, MPI_COMM_WORLD, requests);
      usleep(rand_r(&own) % 2000);
      MPI_Recv(other, bytes, MPI_CHAR, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(requests, MPI_STATUS_IGNORE);
    } else if (kind == 2) {
      MPI_Barrier(MPI_COMM_WORLD);
    } else if (kind == 3) {
      MPI_Allreduce(mine, other, bytes, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
    } else {
      MPI_Sendrecv(mine, bytes, MPI_CHAR, to, i, other, bytes, MPI_CHAR, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  MPI_Finalize();
  return 0;
}
"""


class NodesDeadlock(MpiexecTest):
    def setUp(self):
        super().setUp()
        self.environment.update(WITH_UCX)

    def program(self, name, source):
        path = self.path(name)
        subprocess.run([MPICC, "-g", *CFLAGS, self.path(name + ".c", source), "-o", path], check=True)
        return path

    def on_nodes(self, nodes, *words, **variables):
        return self.run_job("--timeout", 30, *words, env=dict(self.environment, MEANTIME_TEST_NODES=str(nodes), **variables))

    def assert_deadlock(self, result, *lines):
        self.assertEqual(result.status, 125, result)
        self.assertIn("Meantime: deadlock: every rank waits in MPI, and nothing can wake one of them:", result.error)
        self.assertIn("mpiexec: the job is ended (--on-deadlock=report lets it go on)", result.error)
        for line in lines:
            self.assertRegex(result.error, line)
        self.assertLess(result.seconds, 30)

    def test_a_ring_over_nodes(self):
        program = self.program("ring", RING)
        for nodes, ranks in ((2, 2), (2, 5), (3, 6)):
            for kind in KINDS:
                with self.subTest(nodes=nodes, ranks=ranks, kind=kind):
                    self.assert_deadlock(self.on_nodes(nodes, "--as", kind, "-n", ranks, program),
                                         r"rank 0 \(pid \d+\) waits in MPI_Recv for rank 1, tag 10 on MPI_COMM_WORLD, "
                                         r"called from get \(ring.c:\d+\), for \d+\.\d s",
                                         rf"rank {ranks - 1} .* for rank 0, tag {9 + ranks} ")

    def test_messages_that_nobody_receives(self):
        program = self.program("unreceived", UNRECEIVED)
        for kind in KINDS:
            for variables in ({}, {"MEANTIME_REMOTE_EAGER": "0"}, {"MEANTIME_HELPER": "off"}):
                with self.subTest(kind=kind, variables=variables):
                    self.assert_deadlock(self.on_nodes(2, "--as", kind, "-n", 4, program, **variables), r"rank 3 .* rank 0, tag 99 ")

    def test_a_collective_that_not_all_call(self):
        program = self.program("mismatch", MISMATCH)
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.assert_deadlock(self.on_nodes(2, "--as", kind, "-n", 4, program),
                                     r"rank 3 .* waits in MPI_Allreduce ", r"ranks 0-2: each waits in MPI_Recv for rank 3")

    def test_who_waits_in_finalize_waits(self):
        self.assert_deadlock(self.on_nodes(2, "-n", 4, self.program("leaves", LEAVES)),
                             r"rank 0 .* waits in MPI_Recv for rank 3, tag 7", r"rank 3 .* waits in MPI_Finalize ")

    def test_what_is_done_about_it(self):
        program = self.program("leaves", LEAVES)
        result = self.run_job("--timeout", 6, "--on-deadlock", "report", "-n", 2, program,
                              env=dict(self.environment, MEANTIME_TEST_NODES="2"))
        self.assertEqual((result.status, result.error.count("deadlock: every rank")), (124, 1), result)
        self.assertIn("mpiexec: the job goes on", result.error)
        result = self.run_job("--timeout", 4, "--on-deadlock", "ignore", "-n", 2, program,
                              env=dict(self.environment, MEANTIME_TEST_NODES="2"))
        self.assertEqual((result.status, "deadlock" in result.error), (124, False), result)

    def assert_none(self, result, output=None):
        self.assertEqual((result.status, "deadlock" in result.error), (0, False), result)
        if output is not None:
            self.assertEqual(result.output, output)

    def test_somebody_takes_his_time(self):
        program = self.program("slow", SLOW)
        for how in ("computes", "sleeps", "tests", "flood", "large"):
            for kind in KINDS:
                with self.subTest(how=how, kind=kind):
                    self.assert_none(self.on_nodes(2, "--as", kind, "-n", 4, program, how, "2.5", MEANTIME_EAGER_PAIR="20K"), "done\n")

    def test_one_is_stopped(self):
        """While it is, the message that it waits for comes, and all others wait for it."""
        program = self.program("slow", SLOW)
        job = self.start("--timeout", 60, "-n", 4, program, "computes", "2", env=dict(self.environment, MEANTIME_TEST_NODES="2"))
        pids = self.ranks_of(4, "slow")
        os.kill(min(pids), 19)
        try:
            subprocess.run(["sleep", "5"], check=True)
            self.assertIsNone(job.poll())
        finally:
            os.kill(min(pids), 18)
        _, error = job.communicate(timeout=60)
        self.assertEqual((job.returncode, error), (0, b""))

    def test_a_word_that_goes_round(self):
        """With pauses as long as the first look at a node that has fallen still takes to come."""
        program = self.program("round", ROUND)
        for rounds, pause in ((2000, 0), (6, 700000)):
            for kind in KINDS:
                with self.subTest(pause=pause, kind=kind):
                    self.assert_none(self.on_nodes(2, "--as", kind, "-n", 4, program, rounds, pause))

    def test_many_short_jobs(self):
        program = self.program("round", ROUND)
        for turn in range(60):
            self.assert_none(self.on_nodes(2 + turn % 2, "--as", KINDS[turn % len(KINDS)], "-n", 4, program, 3, 0))

    def test_a_mixture(self):
        program = self.program("mixture", MIXTURE)
        ways = ({"MEANTIME_REMOTE_EAGER": "0"}, {"MEANTIME_EAGER_PAIR": "20K"}, {"MEANTIME_WAIT": "event"})
        for turn in range(12):
            self.assert_none(self.on_nodes(2 + turn % 2, "--as", KINDS[turn // 2 % len(KINDS)], "-n", 5, program, 150, turn, **ways[turn % 3]))


if __name__ == "__main__":
    unittest.main()
