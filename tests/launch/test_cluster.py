#!/usr/bin/env python3
"""meantime cluster: nodes in network namespaces, where they are allowed, and on the loopback."""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import unittest

from mpiexec import BUILD, CFLAGS, MpiexecTest, processes_of
from test_kill import kill_both, supervisor_of
from test_namespaces import refused
from test_tasks import WITH_UCX

MEANTIME = os.path.join(BUILD, "bin", "meantime")
MPIEXEC = os.path.join(BUILD, "bin", "mpiexec")
MPICC = os.path.join(BUILD, "bin", "mpicc")
WAYS = ((), ("--loopback",))
NOBODY = 65534

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
enum { large = 4 << 20 };
static char data[large];
int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int rank, size, on_node, sum;
  struct stat network;
  MPI_Comm node;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &on_node);
  stat("/proc/self/ns/net", &network);
  for (int i = 0; i < 100; ++i) {
    const int to = (rank + size / 2) % size, from = (rank + size - size / 2) % size;
    data[0] = rank + i;
    MPI_Sendrecv(data, 1000, MPI_BYTE, to, 0, data + 1000, 1000, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (data[1000] != (char)(from + i)) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (!strcmp(what, "trips")) {  // the shortest of some round trips
    double least = 1e9;
    for (int i = 0; i < 10; ++i) {
      const double begin = MPI_Wtime();
      if (rank == 0) MPI_Send(data, 8, MPI_BYTE, size - 1, 0, MPI_COMM_WORLD);
      if (rank == 0 || rank == size - 1) MPI_Recv(data, 8, MPI_BYTE, size - 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == size - 1) MPI_Send(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
      if (MPI_Wtime() - begin < least) least = MPI_Wtime() - begin;
    }
    if (rank == 0) printf("%.4f\\n", least);
  } else if (!strcmp(what, "seconds")) {
    const double begin = MPI_Wtime();
    if (rank == 0) MPI_Send(data, large, MPI_BYTE, size - 1, 0, MPI_COMM_WORLD);
    if (rank == size - 1) {
      MPI_Recv(data, large, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      printf("%.4f\\n", MPI_Wtime() - begin);
    }
  } else {
    printf("%d %d %lu %d\\n", rank, on_node, (unsigned long)network.st_ino, sum);
    fflush(stdout);
  }
  if (!strcmp(what, "wait")) sleep(100);
  if (!strcmp(what, "exit") && rank == 1) exit(7);
  MPI_Finalize();
  return 0;
}
"""


def why_no_namespaces():
    tried = subprocess.run([MEANTIME, "cluster", "2", "--bandwidth", "1gbit", "true"], capture_output=True, text=True)
    return tried.stderr.strip() if tried.returncode != 0 else ""


WHY_NOT = why_no_namespaces()
with_namespaces = unittest.skipIf(WHY_NOT, WHY_NOT)
DELAYED = () if WHY_NOT else (("--delay", "1ms"),)


def devices():
    with open("/proc/net/dev", encoding="ascii") as file:
        return [line.split(":")[0].strip() for line in file if ":" in line]


class Cluster(MpiexecTest):
    def setUp(self):
        super().setUp()
        self.environment.update(WITH_UCX)
        self.devices = devices()

    def tearDown(self):
        super().tearDown()
        self.assertEqual(devices(), self.devices)

    def cluster(self, *words, **options):
        options.setdefault("env", self.environment)
        return subprocess.run([MEANTIME, "cluster", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=100, **options)

    def begin(self, *words, **options):
        job = subprocess.Popen([MEANTIME, "cluster", *map(str, words)], env=self.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(job.communicate)
        return job

    def program(self):
        path = self.path("program")
        subprocess.run([MPICC, *CFLAGS, self.path("program.c", PROGRAM), "-o", path], check=True)
        return path

    def networks(self, result, nodes, ranks):
        """Of each node its namespace, and all that a rank knows is right."""
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = sorted([int(word) for word in line.split()] for line in result.stdout.splitlines())
        self.assertEqual([line[0] for line in lines], list(range(ranks)))
        self.assertEqual({line[1] for line in lines}, {ranks // nodes})
        self.assertEqual({line[3] for line in lines}, {ranks * (ranks - 1) // 2})
        found = [line[2] for line in lines]
        return [found[i] for i in range(0, ranks, ranks // nodes) if len(set(found[i:i + ranks // nodes])) == 1]

    @with_namespaces
    def test_each_node_has_a_network_of_its_own(self):
        program = self.program()
        for nodes, ranks in ((2, 4), (4, 8), (3, 3)):
            found = self.networks(self.cluster(nodes, "--", "mpiexec", "-n", ranks, program), nodes, ranks)
            self.assertEqual(len(set(found) - {os.stat("/proc/self/ns/net").st_ino}), nodes)

    def test_on_the_loopback(self):
        program = self.program()
        for nodes in (2, 4):
            result = self.cluster(nodes, "--loopback", "mpiexec", "-n", 4, program)
            self.assertEqual(self.networks(result, nodes, 4), [os.stat("/proc/self/ns/net").st_ino] * nodes)

    @with_namespaces
    def test_bandwidth(self):
        # What is let through at once at first, two devices' 70 kB, makes it a little shorter than 0.336 s.
        result = self.cluster(2, "--bandwidth", "100mbit", "mpiexec", "-n", 4, self.program(), "seconds")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(float(result.stdout), 0.32)

    @with_namespaces
    def test_many_nodes_know_each_other(self):
        """More pairs than the kernel keeps neighbours by itself."""
        result = self.cluster(40, "--", "mpiexec", "-n", 40, self.program())
        self.assertEqual(len(set(self.networks(result, 40, 40))), 40)

    @with_namespaces
    def test_an_ordinary_user(self):
        if os.geteuid() != 0:
            self.skipTest("this is one")
        program = self.program()
        for folder in (self.folder.name, self.temporary):
            os.chmod(folder, 0o755)
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        try:
            subprocess.run([MPIEXEC, "-n", "1", program], env=self.environment, check=True, capture_output=True, **as_nobody)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest(f"nobody may not run {MPIEXEC}")
        result = self.cluster(2, "mpiexec", "-n", 4, program, **as_nobody)
        if "over the loopback" in result.stderr:
            self.skipTest(result.stderr)
        least = self.shortest_round_trip(2, "--delay", "20ms", "mpiexec", "-n", 2, program, "trips", **as_nobody)
        self.assertTrue(0.04 <= least < 0.07, least)
        self.assertEqual(len(set(self.networks(result, 2, 4)) - {os.stat("/proc/self/ns/net").st_ino}), 2)
        self.assertEqual(self.cluster(2, "id", "-u", **as_nobody).stdout, f"{NOBODY}\n")
        self.assertIn("there are 2 for 3 nodes",
                      self.cluster(2, "mpiexec", "--env", "MEANTIME_TEST_NODES=3", "-n", 3, program, **as_nobody).stderr)

    def test_where_namespaces_are_not_allowed(self):
        if why := refused(["unshare", "-Ur"]):
            self.skipTest(why)
        forbidden = "echo 0 >/proc/sys/user/max_net_namespaces && exec \"$@\""
        words = ["unshare", "-Ur", "sh", "-c", forbidden, "sh", MEANTIME, "cluster", "2"]
        result = subprocess.run([*words, "--", "mpiexec", "-n", "2", self.program()], env=self.environment,
                                capture_output=True, text=True, timeout=100)
        self.assertEqual((result.returncode, len(result.stdout.splitlines())), (0, 2), result.stderr)
        self.assertRegex(result.stderr, r"\Ameantime cluster: the nodes are played over the loopback: .*\n\Z")
        result = subprocess.run([*words, "--bandwidth", "1gbit", "true"], env=self.environment, capture_output=True, text=True)
        self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1), result.stderr)

    def test_without_iproute2(self):
        hide = "for f in /usr/sbin/ip /usr/bin/ip; do [ ! -e $f ] || mount --bind /dev/null $f; done && exec \"$@\""
        words = ["unshare", "-Urm", "sh", "-c", hide, "sh"]
        if why := refused(words):
            self.skipTest(why)
        if subprocess.run([*words, "sh", "-c", "PATH=$PATH:/usr/sbin:/sbin; command -v ip"], capture_output=True).returncode == 0:
            self.skipTest("ip is elsewhere")
        result = subprocess.run([*words, MEANTIME, "cluster", "2", "true"], env=self.environment, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr),
                         (0, "meantime cluster: the nodes are played over the loopback: "
                             "there is no ip (Debian: apt install iproute2)\n"))

    @with_namespaces
    def test_clusters_inside_of_clusters(self):
        program = self.program()
        result = self.cluster(2, MEANTIME, "cluster", 3, "mpiexec", "-n", 3, program)
        self.assertEqual(len(set(self.networks(result, 3, 3))), 3)
        result = self.cluster(2, MEANTIME, "cluster", 3, "--loopback", "mpiexec", "-n", 3, program)
        self.assertEqual(len(set(self.networks(result, 3, 3))), 1)

    def test_commands_of_all_kinds(self):
        program = self.program()
        for way in WAYS:
            result = self.cluster(2, *way, "--", "sh", "-c", f"mpiexec -n 4 {program} | wc -l; pwd", cwd=self.temporary)
            self.assertEqual((result.returncode, result.stdout), (0, f"4\n{self.temporary}\n"), result.stderr)
            # It closes descriptors that it does not know.
            script = f"import subprocess; subprocess.run(['mpiexec', '-n', '2', '{program}'], check=True)"
            self.assertEqual(self.cluster(2, *way, sys.executable, "-c", script).returncode, 0)

    def test_status(self):
        program = self.program()
        for way in WAYS:
            for status in (0, 7):
                self.assertEqual(self.cluster(2, *way, "sh", "-c", f"exit {status}").returncode, status)
            self.assertEqual(self.cluster(2, *way, "sh", "-c", "kill -9 $$").returncode, 137)
            result = self.cluster(2, *way, "mpiexec", "-n", 2, program, "exit")
            self.assertEqual(result.returncode, 7, result.stderr)
            for name, status in (("no-such-program", 127), ("/etc/passwd", 126)):
                result = self.cluster(2, *way, name)
                self.assertEqual((result.returncode, len(result.stderr.splitlines())), (status, 1))

    def test_what_is_refused(self):
        for words, says in (((), "nodes is missing; `meantime cluster --help` shows how"),
                            (("0", "true"), "'0' nodes: a number from 1 to 250 is needed"),
                            (("-3", "true"), "'-3' nodes: a number from 1 to 250 is needed"),
                            (("251", "true"), "'251' nodes: a number from 1 to 250 is needed"),
                            (("x", "true"), "'x' nodes: a number from 1 to 250 is needed"),
                            (("2",), "which command? meantime cluster 4 -- mpiexec -n 16 ./program"),
                            (("2", "--bandwidth", "5", "true"), "--bandwidth: '5' is no rate; 100mbit is, or 1gbit"),
                            (("2", "--delay", "-1ms", "true"), "--delay: '-1ms' is no time up to 10s; 50us is, or 1ms"),
                            (("2", "--delay", "0ms", "true"), "--delay: '0ms' is no time up to 10s; 50us is, or 1ms"),
                            (("2", "--delay", "1", "true"), "--delay: '1' is no time up to 10s; 50us is, or 1ms"),
                            (("2", "--delay", "11s", "true"), "--delay: '11s' is no time up to 10s; 50us is, or 1ms"),
                            (("2", "--loopback", "--delay", "1ms", "true"),
                             "--bandwidth and --delay are of devices, which nodes on the loopback do not have")):
            result = self.cluster(*words)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (2, "", f"meantime cluster: {says}\n"))

    def shortest_round_trip(self, *words, **options):
        result = self.cluster(*words, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return float(result.stdout)

    @with_namespaces
    def test_delay(self):
        # Twice 20 ms, and as much more as this machine may need at worst for ten of them.
        program = self.program()
        for nodes, ranks in ((2, 2), (3, 6)):
            least = self.shortest_round_trip(nodes, "--delay", "20ms", "mpiexec", "-n", ranks, program, "trips")
            self.assertTrue(0.04 <= least < 0.07, least)

    @with_namespaces
    def test_delay_of_less_than_a_timer_slack(self):
        self.assertLess(self.shortest_round_trip(2, "--delay", "1us", "mpiexec", "-n", 2, self.program(), "trips"), 0.02)

    @with_namespaces
    def test_delay_and_bandwidth(self):
        # 4 MiB take 0.336 s, but for the burst.
        words = (2, "--delay", "20ms", "--bandwidth", "100mbit", "mpiexec", "-n", 4, self.program())
        seconds = self.shortest_round_trip(*words, "seconds")
        self.assertTrue(0.34 < seconds < 1, seconds)
        self.assertGreaterEqual(self.shortest_round_trip(*words, "trips"), 0.04)

    @with_namespaces
    def test_many_nodes_with_a_delay(self):
        result = self.cluster(40, "--delay", "100us", "--", "mpiexec", "-n", 40, self.program())
        self.assertEqual(len(set(self.networks(result, 40, 40))), 40)

    def test_mpiexec_of_a_cluster_that_is_gone(self):
        for held, says in (("x", "'x' is not PID:FD,FD,..."), (f"{os.getpid()}:0", "is no network namespace (has the cluster"),
                           (f"{os.getpid()}:999", "No such file or directory (has the cluster ended?)")):
            result = self.run_job("-n", 2, "true", env=dict(self.environment, MEANTIME_TEST_NODES="2",
                                                            MEANTIME_TEST_NAMESPACES=held))
            self.assertEqual(result.status, 1)
            self.assert_one_line(result, "MEANTIME_TEST_NAMESPACES: ", says)

    def running(self, *words, **options):
        job = self.begin(*words, **options)
        for _ in range(4):
            self.assertTrue(job.stdout.readline())
        return job

    def test_whoever_is_killed(self):
        program = self.program()
        for way in (*WAYS, *DELAYED):
            for command in (("mpiexec", "-n", 4, program, "wait"), ("sh", "-c", f"mpiexec -n 4 {program} wait; true")):
                for kill in (lambda job: job.kill(), lambda job: os.kill(supervisor_of(job.pid), signal.SIGKILL)):
                    job = self.running(2, *way, "--", *command)
                    kill(job)
                    self.assertIn(job.wait(timeout=60), (-9, 137))
                    self.assert_nothing_left()
            job = self.running(2, *way, "--", "mpiexec", "-n", 4, program, "wait")
            kill_both(job)
            job.wait(timeout=60)
            self.assert_nothing_left()

    def test_killed_while_its_keeper_is_stopped(self):
        job = self.running(2, "mpiexec", "-n", 4, self.program(), "wait")
        os.kill(supervisor_of(job.pid), signal.SIGSTOP)
        job.kill()
        self.assert_nothing_left()

    def test_signals_are_passed_on(self):
        script = 'trap "echo got; exit 5" {0}; echo ready; while :; do sleep 0.05; done'
        for name in ("INT", "TERM", "HUP", "USR1"):
            job = self.begin(2, "sh", "-c", script.format(name))
            self.assertEqual(job.stdout.readline(), "ready\n")
            job.send_signal(getattr(signal, f"SIG{name}"))
            self.assertEqual((job.communicate(timeout=60)[0], job.returncode), ("got\n", 5))
        for number in (signal.SIGINT, signal.SIGTERM):
            job = self.running(2, "mpiexec", "-n", 4, self.program(), "wait")
            job.send_signal(number)
            self.assertEqual(job.wait(timeout=60), 128 + number)
            self.assert_nothing_left()

    def test_interrupt_of_a_terminal(self):
        program = self.program()
        for way in WAYS:
            for command in (("mpiexec", "-n", 4, program, "wait"), ("sh", "-c", f"mpiexec -n 4 {program} wait; sleep 9")):
                ours, theirs = pty.openpty()
                job = self.running(2, *way, "--", *command, start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0))
                os.write(ours, b"\x03")
                self.assertEqual(job.wait(timeout=60), -signal.SIGINT)
                self.assert_nothing_left()
                os.close(ours)
                os.close(theirs)

    def test_interrupt_while_it_is_set_up(self):
        job = self.begin(100, "sleep", 100)
        job.send_signal(signal.SIGINT)
        self.assertIn(job.wait(timeout=60), (-signal.SIGINT, 128 + signal.SIGINT))

    def test_what_the_command_leaves(self):
        for way in WAYS:
            result = self.cluster(2, *way, "--", "sh", "-c", "sleep 100 & setsid sh -c 'trap : TERM; sleep 100; sleep 100' & exit 3")
            self.assertEqual(result.returncode, 3)
            self.assertEqual(processes_of(self.mark), {})

    def test_again_and_again(self):
        program = self.program()
        for _ in range(10):
            self.assertEqual(self.cluster(2, "mpiexec", "-n", 2, program).returncode, 0)


if __name__ == "__main__":
    unittest.main()
