#!/usr/bin/env python3
"""Jobs over several nodes, which mpiexec plays: what is not one program's behaviour (those run in tests/mpi/catalogue.py)."""

import itertools
import json
import os
import subprocess
import unittest

from mpiexec import BUILD, CFLAGS, MpiexecTest
from test_tasks import WITH_UCX

MPICC = os.path.join(BUILD, "bin", "mpicc")
KINDS = ("processes", "threads")

# The sums of values of which the order of additions shows in the last bits.
SUMS = """
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  int rank, size;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int count = 1; count <= 30000; count *= 30) {
    double *mine = malloc(count * sizeof *mine), *sum = malloc(count * sizeof *sum), all = 0;
    MPI_Request request;
    for (int i = 0; i < count; ++i) mine[i] = sin(1.0 + i + 77.7 * rank) * pow(10, rank % 5);
    MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) all += sum[i] * (1 + i % 3);
    if (rank == size - 1) printf("%d %a", count, all);
    all = 0;
    MPI_Reduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) all += sum[i] * (1 + i % 3);
    if (rank == size - 1) printf(" %a", all);
    all = 0;
    MPI_Iallreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) all += sum[i] * (1 + i % 3);
    if (rank == size - 1) printf(" %a", all);
    all = 0;
    MPI_Ireduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) all += sum[i] * (1 + i % 3);
    if (rank == size - 1) printf(" %a\\n", all);
    free(mine);
    free(sum);
  }
  MPI_Finalize();
  return 0;
}
"""

# The last rank, in a gatherv one of a third node, too, and another one do not agree on how long a block is: one that goes together with others at
# both, alone at both, or at one of them. The one that gets it is told; then all goes on.
LENGTHS = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { most = 60000 };
static int rank, size, error;
static int *out, *in, *given, *taken, *places;
static void collective(int what, int give, int take, int waits, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  int last = size - 1, other = what == 0 && size > 4 ? 3 : last;
  int own = rank != last && rank != other ? 2 : what == 0 ? give : take;
  for (int i = 0; i < size; ++i) given[i] = taken[i] = 2;
  if (what == 0) taken[last] = taken[other] = take;
  if (what == 1) given[last] = give;
  if (what == 2 && rank == 1) given[last] = give;
  if (what == 2 && rank == last) taken[1] = take;
  if (what == 0 && !waits) error = MPI_Gatherv(out, own, MPI_INT, in, taken, places, MPI_INT, 1, comm);
  if (what == 1 && !waits) error = MPI_Scatterv(out, given, places, MPI_INT, in, own, MPI_INT, 1, comm);
  if (what == 2 && !waits) error = MPI_Alltoallv(out, given, places, MPI_INT, in, taken, places, MPI_INT, comm);
  if (what == 0 && waits) MPI_Igatherv(out, own, MPI_INT, in, taken, places, MPI_INT, 1, comm, &request);
  if (what == 1 && waits) MPI_Iscatterv(out, given, places, MPI_INT, in, own, MPI_INT, 1, comm, &request);
  if (what == 2 && waits) MPI_Ialltoallv(out, given, places, MPI_INT, in, taken, places, MPI_INT, comm, &request);
  if (waits) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
}
int main(void) {
  int lengths[][2] = {{5, 3}, {3, 5}, {3, 0}, {0, 3}, {most, 3}, {3, most}, {most, most - 1}, {most - 1, most}}, class;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  out = calloc(size * most, sizeof(int)), in = calloc(size * most, sizeof(int));
  given = calloc(size, sizeof(int)), taken = calloc(size, sizeof(int)), places = calloc(size, sizeof(int));
  for (int i = 0; i < size; ++i) places[i] = i * most;
  for (int what = 0; what < 3; ++what)
    for (int waits = 0; waits < 2; ++waits)
      for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        int give = lengths[i][0], take = lengths[i][1], expected = MPI_SUCCESS;
        if (rank == (what == 0 ? 1 : size - 1)) expected = give > take ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT;
        collective(what, give, take, waits, MPI_COMM_WORLD);
        MPI_Error_class(error, &class);
        if (class != expected) printf("rank %d, collective %d %d of %d, %d: %d\\n", rank, what, waits, give, take, class);
        collective(what, take, take, waits, MPI_COMM_WORLD);
        if (error) printf("rank %d, collective %d %d behind %d, %d: %d\\n", rank, what, waits, give, take, error);
      }
  MPI_Finalize();
  return 0;
}
"""

# No two ranks agree: each gives a short block where the other expects one that goes alone, or the reverse, first ranks of nodes, neighbours and a
# rank's own block, too. Who gets one is told; then all goes on.
NO_LENGTHS = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { most = 200000 };
static int size, error;
static char *out, *in;
static int *given, *taken, *places;
static void collective(int what, int root, int give, int take, int waits, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (int i = 0; i < size; ++i) given[i] = give, taken[i] = take;
  if (what == 0 && !waits) error = MPI_Gatherv(out, give, MPI_BYTE, in, taken, places, MPI_BYTE, root, comm);
  if (what == 1 && !waits) error = MPI_Scatterv(out, given, places, MPI_BYTE, in, take, MPI_BYTE, root, comm);
  if (what == 2 && !waits) error = MPI_Alltoallv(out, given, places, MPI_BYTE, in, taken, places, MPI_BYTE, comm);
  if (what == 0 && waits) MPI_Igatherv(out, give, MPI_BYTE, in, taken, places, MPI_BYTE, root, comm, &request);
  if (what == 1 && waits) MPI_Iscatterv(out, given, places, MPI_BYTE, in, take, MPI_BYTE, root, comm, &request);
  if (what == 2 && waits) MPI_Ialltoallv(out, given, places, MPI_BYTE, in, taken, places, MPI_BYTE, comm, &request);
  if (waits) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
}
int main(void) {
  int rank, class;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  out = calloc(size, most), in = calloc(size, most);
  given = calloc(size, sizeof(int)), taken = calloc(size, sizeof(int)), places = calloc(size, sizeof(int));
  for (int i = 0; i < size; ++i) places[i] = i * most;
  for (int what = 0; what < 3; ++what)
    for (int waits = 0; waits < 2; ++waits)
      for (int root = 0; root < size; ++root)
        for (int more = 0; more < 2; ++more) {
          int expected = more ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT;
          collective(what, root, more ? most : 8, more ? 8 : most, waits, MPI_COMM_WORLD);
          MPI_Error_class(error, &class);
          if (what == 0 ? (rank == root) != (class == expected) : rank != root && class != expected)
            printf("rank %d, collective %d %d, root %d, more %d: %d\\n", rank, what, waits, root, more, class);
          collective(what, root, 8, 8, waits, MPI_COMM_WORLD);
          if (error) printf("rank %d, collective %d %d behind it, root %d, more %d: %d\\n", rank, what, waits, root, more, error);
        }
  MPI_Finalize();
  return 0;
}
"""

class Nodes(MpiexecTest):
    def setUp(self):
        super().setUp()
        self.environment.update(WITH_UCX)

    def program(self, name, source):
        path = self.path(name)
        subprocess.run([MPICC, *CFLAGS, self.path(name + ".c", source), "-o", path, "-lm"], check=True)
        return path

    def on_nodes(self, nodes, *words, **variables):
        return self.run_job(*words, env=dict(self.environment, MEANTIME_TEST_NODES=str(nodes), **variables))

    def test_same_bits_wherever_ranks_are(self):
        sums = self.program("sums", SUMS)
        first = self.on_nodes(1, "-n", 7, sums)
        self.assertEqual((first.status, len(first.output.splitlines())), (0, 4), first.error)
        for line in first.output.splitlines():
            self.assertEqual(len(set(line.split()[1:])), 1, line)
        for nodes in (2, 3, 7):
            for kind in KINDS:
                self.assertEqual(self.on_nodes(nodes, "--as", kind, "-n", 7, sums).output, first.output, f"{nodes} nodes, {kind}")

    def test_lengths_that_differ(self):
        for name, source in (("lengths", LENGTHS), ("no_lengths", NO_LENGTHS)):
            program = self.program(name, source)
            for kind, (ranks, nodes) in itertools.product(KINDS, ((4, 2), (7, 3))):
                with self.subTest(program=name, kind=kind, nodes=nodes):
                    result = self.on_nodes(nodes, "--as", kind, "-n", ranks, program)
                    self.assertEqual((result.status, result.output, result.error), (0, "", ""))

    def test_the_report_is_of_all(self):
        result = self.on_nodes(2, "--report", "-n", 4, self.program("sums", SUMS))
        self.assertEqual(result.status, 0, result.error)
        self.assertRegex(result.error, r"where the time of 4 ranks .* went")

    def test_what_is_not_there_yet(self):
        result = self.on_nodes(2, "--guest", "proc:true", "-n", 4, self.program("sums", SUMS))
        self.assertEqual(result.status, 1)
        self.assertIn("guest work beside several nodes is not there yet", result.error)

    def test_messages_arrive_while_a_rank_computes(self):
        """Long after the message has come its rank looks for the first time: somebody has taken it in."""
        source = """
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
enum { bytes = 1 << 20 };
int main(void) {
  int rank, size;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char *data = calloc(1, bytes);
  if (rank == size - 1) {
    MPI_Request request;
    MPI_Irecv(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    for (double end = MPI_Wtime() + 0.4; MPI_Wtime() < end;) {}
    if (data[bytes - 1] != 1) MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    data[bytes - 1] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(100000);  // until the other one computes
    if (rank == 0) MPI_Send(data, bytes, MPI_CHAR, size - 1, 0, MPI_COMM_WORLD);
    sleep(1);  // its CPU is idle
  }
  MPI_Finalize();
  return 0;
}
"""
        program = self.program("computes", source)
        for kind in KINDS:
            for helper in ("auto", "on", "off"):
                report = self.path("report.json")
                result = self.on_nodes(2, "--as", kind, f"--report={report}", "-n", 2, program, MEANTIME_HELPER=helper)
                self.assertEqual(result.status, 7 if helper == "off" else 0, (kind, helper, result.error))
                if helper != "off":
                    with open(report) as file:
                        helped = json.load(file)["ranks"][1]["helped"]
                    self.assertGreaterEqual(helped["bytes"], 1 << 20, (kind, helped))

    def test_a_rank_that_computes_holds_up_no_short_messages(self):
        """The first one, for which UCX has to connect; more than a socket takes; one that is still to be fetched from a rank
        whose send is over."""
        source = """
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { bytes = 60 << 10, many = 60 };
static void compute(void) {
  for (double end = MPI_Wtime() + 3; MPI_Wtime() < end;) {}
}
int main(int argc, char **argv) {
  int rank, size, first = !strcmp(argv[1], "first"), fetched = !strcmp(argv[1], "fetched");
  int count = first || fetched ? 1 : many, length = first || fetched ? 8 : bytes;
  MPI_Request request[many];
  char *data = calloc(many, bytes), word = 0;
  double began;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int last = size - 1;
  if (!first && rank == last) MPI_Recv(&word, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!first && rank == 0) MPI_Send(&word, 1, MPI_CHAR, last, 1, MPI_COMM_WORLD);
  if (rank == 0 && fetched) {
    MPI_Send(data, length, MPI_CHAR, last, 0, MPI_COMM_WORLD);
    compute();
  } else if (rank == 0) {
    usleep(500000);
    began = MPI_Wtime();
    for (int i = 0; i < count; i++) MPI_Send(data, length, MPI_CHAR, last, 0, MPI_COMM_WORLD);
    if (MPI_Wtime() - began > 1.5) MPI_Abort(MPI_COMM_WORLD, 7);
  } else if (rank == last && fetched) {
    usleep(500000);
    began = MPI_Wtime();
    MPI_Recv(data, length, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (MPI_Wtime() - began > 1.5) MPI_Abort(MPI_COMM_WORLD, 7);
  } else if (rank == last) {
    for (int i = 0; i < count; i++)
      MPI_Irecv(data + i * bytes, length, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request[i]);
    compute();
    MPI_Waitall(count, request, MPI_STATUSES_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
"""
        program = self.program("short", source)
        for what, variables in (("first", {}), ("many", {}), ("fetched", {"MEANTIME_REMOTE_EAGER": "0"})):
            for kind in KINDS:
                result = self.on_nodes(2, "--as", kind, "-n", 6, program, what, **variables)
                self.assertEqual(result.status, 0, (what, kind, result.error))

    def test_nothing_listens_beyond_the_loopback(self):
        source = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  char command[200];
  MPI_Init(0, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int family = 4; family <= 6; family += 2) {
    FILE *file = fopen(family == 4 ? "/proc/net/tcp" : "/proc/net/tcp6", "r");
    char line[300], address[64];
    unsigned state, inode;
    while (file && fgets(line, sizeof line, file)) {
      if (sscanf(line, " %*d: %63s %*s %x %*s %*s %*s %*d %*d %u", address, &state, &inode) != 3 || state != 10) continue;
      for (int i = 3; i < 1024; ++i) {
        char path[40], target[40] = "", wanted[40];
        snprintf(path, sizeof path, "/proc/self/fd/%d", i);
        snprintf(wanted, sizeof wanted, "socket:[%u]", inode);
        if (readlink(path, target, sizeof target - 1) > 0 && !__builtin_strcmp(target, wanted)) printf("%s\\n", address);
      }
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""
        result = self.on_nodes(2, "-n", 2, self.program("listens", source))
        self.assertEqual(result.status, 0, result.error)
        self.assertGreaterEqual(len(result.output.split()), 2)
        for address in result.output.split():
            self.assertTrue(address.startswith("0100007F:"), address)  # 127.0.0.1

    def test_much_of_a_thread_s_own(self):
        """The thread that hears the network has the program's thread-local data, too."""
        source = """
#include <mpi.h>
#include <unistd.h>
static __thread char large[1000000];
int main(void) {
  int rank;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 3; ++i) {
    if (rank == i % 2) usleep(50000);
    large[i] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
"""
        result = self.on_nodes(2, "--wait", "event", "--timeout", 20, "-n", 2, self.program("large", source))
        self.assertEqual(result.status, 0, result.error)

    def test_the_end_behind_a_last_send(self):
        source = """
#include <mpi.h>
int main(void) {
  int rank, size, data[100] = {0};
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) for (int i = 1; i < size; ++i) MPI_Send(data, 100, MPI_INT, i, 0, MPI_COMM_WORLD);
  else MPI_Recv(data, 100, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
"""
        program = self.program("last", source)
        for number in range(40):
            result = self.on_nodes(3, "--timeout", 20, "-n", 3, program, MEANTIME_REMOTE_EAGER=("0", "64K")[number % 2])
            self.assertEqual((result.status, result.error), (0, ""))

    def test_a_connection_is_lost(self):
        """Nobody has died, so the connection itself is told of."""
        source = """
#include <mpi.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void) {
  int rank, data = 0;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 3; rank == 1 && i < 1024; ++i) {
    struct sockaddr_in peer;
    socklen_t bytes = sizeof peer;
    if (getpeername(i, (struct sockaddr *)&peer, &bytes) == 0 && peer.sin_family == AF_INET) shutdown(i, SHUT_RDWR);
  }
  for (int i = 0; rank == 0 && i < 100000; ++i) MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  sleep(20);
  return 0;
}
"""
        result = self.on_nodes(2, "--timeout", 30, "-n", 2, self.program("lost", source))
        self.assertNotEqual(result.status, 0)
        self.assertRegex(result.error, r"mpiexec: the connection of rank [01] \(pid .*\) to rank [01] \(pid .*\) is lost: ")


if __name__ == "__main__":
    unittest.main()
