#!/usr/bin/env python3
"""Where the node's segment is full (ulimit -f): who can go on with what is free somewhere goes on, and only a job that
cannot is told, with what limits it."""

import os
import resource
import subprocess
import unittest

from mpiexec import BUILD, CFLAGS, SOURCE, THREADS, MpiexecTest

MPICC = os.path.join(BUILD, "bin", "mpicc")
# Ranks, KiB of segment, bytes of a message. All of it takes a multiple of the segment.
SHAPES = ((2, 2300, 12), (4, 3000, 12), (8, 6000, 12), (2, 2300, 3000), (4, 3000, 3000), (4, 3000, 60000))
TRIES = 2


BESIDE = """
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
static void* exchange(void* unused) {
  enum { bytes = 7600, receives = 4000 };
  static MPI_Request requests[receives];
  static int got[receives];
  char* out = calloc(8, bytes);
  char* in = malloc(8 * bytes);
  for (int i = 0; i < receives; ++i)
    MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[i]);
  MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
  return unused;
}
int main(int argc, char** argv) {
  int level;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  pthread_create(&thread, 0, exchange, 0);
  pthread_join(thread, 0);
  MPI_Finalize();
}
"""

SEVERAL = """
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
enum { most = 5, rounds = 300 };
static MPI_Comm base[2] = {MPI_COMM_WORLD};
static int me, ranks;
static void* work(void* number) {
  const long id = (long)number;
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comms[most];
    const int count = 1 + (int)(round * 7 + id) % most;
    int given, sum;
    for (int i = 0; i < count; ++i) MPI_Comm_dup(i % 2 ? comms[i - 1] : base[id], &comms[i]);
    for (int i = 0; i < count; ++i) {
      given = me + i;
      MPI_Allreduce(&given, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
      if (sum != ranks * (ranks - 1) / 2 + ranks * i) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < count; ++i) MPI_Comm_free(&comms[i]);
    for (int i = 0; i < most; ++i)
      MPI_Sendrecv(&given, 1, MPI_INT, (me + 1) % ranks, id, &sum, 1, MPI_INT, (me + ranks - 1) % ranks, id, base[id],
                   MPI_STATUS_IGNORE);
  }
  return 0;
}
int main(int argc, char** argv) {
  int level;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_dup(MPI_COMM_WORLD, &base[1]);
  pthread_create(&thread, 0, work, (void*)1);
  work(0);
  pthread_join(thread, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) puts("wrong: 0");
  MPI_Finalize();
}
"""


BESIDE_A_MATCH = """
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
enum { messages = 5000, bytes = 300 };
static MPI_Comm other;
static void* sleep_in_mpi(void* unused) {
  MPI_Recv(0, 0, MPI_BYTE, 1, 7, other, MPI_STATUS_IGNORE);
  return unused;
}
int main(int argc, char** argv) {
  int level, rank;
  static char data[bytes];
  MPI_Request* requests = malloc(messages * sizeof *requests);
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  if (rank == 0) {
    pthread_create(&thread, 0, sleep_in_mpi, 0);
    for (int m = 0; m < messages; ++m) MPI_Issend(data, bytes, MPI_BYTE, 1, m, MPI_COMM_WORLD, &requests[m]);
    MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
    MPI_Send(0, 0, MPI_BYTE, 1, 8, other);
    pthread_join(thread, 0);
  } else {
    for (int m = messages; m-- > 0;) {
      if (m == 0) usleep(300000);
      MPI_Recv(data, bytes, MPI_BYTE, 0, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Recv(0, 0, MPI_BYTE, 0, 8, other, MPI_STATUS_IGNORE);
    MPI_Send(0, 0, MPI_BYTE, 0, 7, other);
  }
  free(requests);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("wrong: 0");
  MPI_Finalize();
}
"""


class FullSegment(MpiexecTest):
    def setUp(self):
        super().setUp()
        self.program = self.path("full")
        subprocess.run([MPICC, "-O1", *CFLAGS, os.path.join(SOURCE, "tests", "launch", "full.c"), "-o", self.program],
                       check=True)

    def run_full(self, ranks, kibibytes, *arguments, options=()):
        limit = kibibytes * 1024
        return self.run_job(*options, "-n", ranks, self.program, *arguments, timeout=60,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))

    def goes_on(self, ranks, kibibytes, *arguments, options=()):
        for _ in range(TRIES):
            result = self.run_full(ranks, kibibytes, *arguments, options=options)
            self.assertEqual((result.status, result.output, result.error), (0, "wrong: 0\n", ""),
                             (ranks, kibibytes, arguments, result))

    def floods(self, what, options=(), least_ranks=2):
        for ranks, kibibytes, size in SHAPES:
            if ranks >= least_ranks:
                messages = 20000 if size == 12 else 2000 if size == 3000 else 400
                self.goes_on(ranks, kibibytes, what, messages, size, options=options)

    def test_one_way(self):
        self.floods("one-way")

    def test_both_ways(self):
        self.floods("ring")

    def test_buffered(self):
        self.floods("buffered")

    def test_memory_of_those_who_sleep(self):
        self.floods("in-turn", least_ranks=4)

    def test_synchronous_and_pieces(self):
        for what in ("synchronous", "pieces"):
            for ranks, kibibytes, size in SHAPES:
                self.goes_on(ranks, kibibytes, what, 300 if size == 12 else 30, size)

    def test_pipes_of_a_window(self):
        """Each is free once it is emptied, not when the owner of its send asks."""
        self.goes_on(2, 10240, "window-of-pieces", 600, 9000)

    def test_collectives_by_messages(self):
        """None goes on without a step that lacks memory: others would have its wrong result."""
        self.goes_on(6, 6000, "schedules", 300, 8000)

    def test_what_is_read_is_free_again(self):
        for what in ("roots", "roots-elsewhere"):
            for ranks, kibibytes, size in ((8, 600, 7600), (16, 1900, 7600), (64, 2900, 4000)):
                self.goes_on(ranks, kibibytes, what, 1, size)

    def test_who_is_ahead_leaves_memory_to_the_others(self):
        for options in ((),) + ((("--as", "threads"),) if THREADS else ()):
            for what in ("ahead", "ahead-and-free"):
                for ranks, kibibytes, size in ((16, 800, 400), (4, 400, 3000)):
                    self.goes_on(ranks, kibibytes, what, 60, size, options=options)

    def test_what_has_a_receive_leaves_its_cell(self):
        for what in ("posted", "posted-late"):
            for size in (3000, 7600, 8192):
                self.goes_on(4, 4096, what, 2712, size)

    def test_partitions_wait_for_memory(self):
        for ranks, kibibytes, messages, size in ((8, 980, 4, 12000), (2, 400, 8, 3000), (4, 700, 16, 200)):
            self.goes_on(ranks, kibibytes, "partitions", messages, size)

    def test_a_thread_beside_it_makes_it_a_doubt(self):
        """Receives fill the segment. Whoever lacks memory has a main thread that waits for the one in MPI."""
        program = self.path("beside")
        subprocess.run([MPICC, "-O1", *CFLAGS, self.path("beside.c", BESIDE), "-o", program, "-pthread"], check=True)
        self.program = program
        result = self.run_full(8, 600, options=("--timeout", "5", "-x", "MEANTIME_TEST_STILL=1"))
        self.assertEqual(result.status, 124, result)
        self.assertRegex(result.error, r"perhaps a deadlock: .*(?s:.*)needs shared memory(?s:.*)the job goes on")

    def test_one_thread_that_goes_on_ends_no_other_one_s_nap(self):
        """Else the nap of a thread that lacks memory is taken for a sleep that nothing ends."""
        self.program = self.path("several")
        subprocess.run([MPICC, "-O1", *CFLAGS, self.path("several.c", SEVERAL), "-o", self.program, "-pthread"], check=True)
        for _ in range(6):
            self.goes_on(4, 490)

    def test_receives_that_lack_memory_wait(self):
        for options in ((),) + ((("--as", "threads"),) if THREADS else ()):
            self.goes_on(16, 1500, "last-first", 64, 500, options=options)

    def test_collectives(self):
        for ranks, kibibytes, unread, size in ((2, 1000, 1500, 5000), (4, 1500, 1000, 5000), (8, 3000, 800, 5000),
                                               (4, 2500, 500, 20000)):
            self.goes_on(ranks, kibibytes, "collectives", 20, size, unread, 12)
        for ranks, size in ((8, 65536), (16, 65536), (4, 300000)):
            self.goes_on(ranks, 1000, "collectives", 2, size, 0, 12)

    def test_sender_that_leaves(self):
        for options in ((),) + ((("--as", "threads"),) if THREADS else ()):
            self.goes_on(2, 1000, "leaves", 0, 1024, options=options)
            self.goes_on(3, 3000, "legacy", 12000, 12, options=options)
            unread = self.run_full(2, 1000, "leaves", 1, 1024, options=options)
            self.assertEqual((unread.status, unread.error), (0, ""), unread)
            for_ever = self.run_full(2, 1000, "leaves", 2, 1024, options=options)
            self.assertEqual(for_ever.status, 125, for_ever)
            # What rank 1 takes out of its inbox while it waits may be room enough for the last ones.
            self.assertRegex(for_ever.error, r"rank 0 .* (waits in MPI_Finalize|has .*inalize)")
            self.assertRegex(for_ever.error, r"rank 1 .* waits in MPI_Recv for rank 0, tag 5 ")

    @unittest.skipUnless(THREADS, "thread ranks")
    def test_thread_ranks(self):
        for what in ("one-way", "ring", "buffered"):
            self.floods(what, options=("--as", "threads"))
        self.goes_on(8, 6000, "in-turn", 20000, 12, options=("--as", "threads"))

    def test_collective_calls_wait_for_memory(self):
        """However long: the receiver computes, and comes in the end."""
        for options in ((),) + ((("--as", "threads"),) if THREADS else ()):
            for what in ("broadcast", "communicators", "window"):
                self.goes_on(2, 1000, what, 20000, 12, 1, options=options)

    def test_a_window_that_is_not_to_be_had(self):
        """Not even its few bytes for a new communicator."""
        for options in ((),) + ((("--as", "threads"),) if THREADS else ()):
            for ranks, size in ((5, 30000), (6, 1000)):
                self.goes_on(ranks, 1500, "windows", 1, size, options=options)

    def test_what_lies_unread_leaves_the_segment(self):
        """Where its receiver waits for something else first."""
        for options in ((),) + ((("--as", "threads"),) if THREADS else ()):
            self.goes_on(2, 1000, "broadcast", 20000, 12, 0, options=options)
            self.goes_on(4, 1000, "collectives", 2, 100, 20000, 12, options=options)
            for messages, size in ((20000, 12), (5000, 1000), (1000, 4000), (500, 8000)):
                self.goes_on(4, 1000, "last-first", messages, size, options=options)
            self.goes_on(2, 1000, "last-first", 1000, 20000, options=options)
            self.goes_on(2, 1000, "synchronous-broadcast", 20000, 12, options=options)
            self.goes_on(2, 1000, "synchronous-last-first", 5000, 1000, options=options)
            self.goes_on(4, 1000, "pieces-last-first", 300, 1000, options=options)
        self.goes_on(4, 1000, "synchronous-last-first", 3000, 500, options=("-x", "MEANTIME_CMA=0"))

    def test_a_match_wakes_the_thread_that_waits_for_it(self):
        """Another one sleeps in MPI, and hears of it."""
        self.program = self.path("beside_a_match")
        subprocess.run([MPICC, "-O1", *CFLAGS, self.path("beside_a_match.c", BESIDE_A_MATCH), "-o", self.program, "-pthread"], check=True)
        self.goes_on(2, 1000)

    def test_told_that_memory_is_full(self):
        """What lies with its sender and cannot be fetched from there before its receive, which comes later."""
        result = self.run_full(2, 150, "broadcast", 500, 200000, 0, options=("-x", "MEANTIME_CMA=0"))
        self.assertEqual(result.status, 125, result)
        self.assertIn("Meantime: memory is full: every rank waits in MPI, and some need shared memory:\n", result.error)
        self.assertRegex(result.error, r"rank 0.* waits in MPI_Bcast .*; it needs shared memory for that\n")
        self.assertRegex(result.error, r"\(all \d+ KiB of shared memory are in use: it counts as a file, and "
                                       r"`ulimit -f` lets files have \d+ KiB\)\n")
        self.assertNotIn("deadlock:", result.error)

    def test_told_beside_one_that_asks_again_and_again(self):
        result = self.run_full(2, 150, "broadcast-asking", 500, 200000, 0,
                               options=("--timeout", "5", "-x", "MEANTIME_CMA=0", "-x", "MEANTIME_TEST_STILL=1"))
        self.assertEqual(result.status, 124, result)
        self.assertEqual(result.error.count("Meantime: memory is full: rank 0 has lacked some for 1 s:\n"), 1, result)
        self.assertRegex(result.error, r"needs shared memory for that\n(?s:.*)`ulimit -f`(?s:.*)the job goes on")

    def test_no_room_to_start(self):
        result = self.run_full(4, 20, "none", 1, 1)
        self.assertEqual(result.status, 1, result)
        self.assert_one_line(result, "cannot make the job's shared memory", "`ulimit -f` lets files have 20 KiB")
        limit = 20 * 1024
        alone = subprocess.run([self.program, "none", "1", "1"], env=self.environment, stderr=subprocess.PIPE, timeout=60,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit // 2, limit // 2)))
        self.assertRegex(alone.stderr.decode(), r"MPI_Init: MPI_ERR_NO_MEM: .*`ulimit -f` lets files have \d+ KiB")


if __name__ == "__main__":
    unittest.main()
