#!/usr/bin/env python3
"""Programs that srun starts, by PMIx: under a Slurm of the test's own, of two nodes on this machine, where there is one to
be run (packaging/dependencies slurm) and root may."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from mpiexec import BUILD, CFLAGS, MPIEXEC, THREADS, MpiexecTest
from test_tasks import MPICC, PROGRAM, WIRE_UP, WITH_UCX

# Rank 0 keeps a session over MPI_Finalize, the others open one after it, in which all meet.
SESSIONS = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm all;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Finalize();
  if (rank != 0) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
  MPI_Barrier(all);
  MPI_Comm_free(&all);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  puts("through");
  return 0;
}
"""

DAEMONS = ("munged", "slurmctld", "slurmd")

CONFIGURATION = """
ClusterName=test
SlurmctldHost={node}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
NodeName=one NodeHostname={node} NodeAddr=127.0.0.1 Port={one} CPUs={cpus}
NodeName=two NodeHostname={node} NodeAddr=127.0.0.1 Port={two} CPUs={cpus}
PartitionName=all Nodes=one,two Default=YES State=UP OverSubscribe=FORCE:8
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Slurm:
    """Its daemons, in a folder that is gone with them."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="meantime-slurm-")
        self.daemons = []
        for name in ("state", "spool-one", "spool-two", "tmp-one", "tmp-two"):
            os.mkdir(os.path.join(self.folder, name))
        self.configuration = os.path.join(self.folder, "slurm.conf")
        controller, one, two = free_ports(3)
        with open(self.configuration, "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(folder=self.folder, node=os.uname().nodename, cpus=os.cpu_count(),
                                            controller=controller, one=one, two=two))
        key = os.path.join(self.folder, "munge.key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o400), "wb") as file:
            file.write(os.urandom(128))
        self._start("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", f"--key-file={key}",
                    f"--seed-file={self.folder}/munge.seed", f"--pid-file={self.folder}/munge.pid",
                    f"--log-file={self.folder}/munge.log")
        self._start("slurmctld", "-D", "-f", self.configuration)
        for node in ("one", "two"):
            self._start("slurmd", "-D", "-f", self.configuration, "-N", node)

    def _start(self, *words):
        with open(os.path.join(self.folder, words[0] + ".out"), "ab") as log:
            self.daemons.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def is_ready(self):
        state = subprocess.run(["sinfo", "-h", "-o", "%T"], env=dict(os.environ, SLURM_CONF=self.configuration),
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60)
        return state.stdout.split() == ["idle"]

    def log(self):
        text = ""
        for name in DAEMONS:
            with open(os.path.join(self.folder, name + ".out"), encoding="utf-8") as file:
                text += f"{name}:\n{file.read()}"
        return text

    def end(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@unittest.skipUnless(os.geteuid() == 0 and all(shutil.which(name) for name in DAEMONS + ("srun",))
                     and os.path.exists(WIRE_UP), "no Slurm that may be started, or built without PMIx")
class TasksOfSlurm(MpiexecTest):
    @classmethod
    def setUpClass(cls):
        cls.slurm = Slurm()
        cls.addClassCleanup(cls.slurm.end)
        end = time.monotonic() + 60
        while not cls.slurm.is_ready():
            if time.monotonic() > end:
                raise unittest.SkipTest("Slurm does not start here:\n" + cls.slurm.log())
            time.sleep(0.1)

    def setUp(self):
        super().setUp()
        self.environment["SLURM_CONF"] = self.slurm.configuration
        self.program = self.path("tasks")
        subprocess.run([MPICC, *CFLAGS, self.path("tasks.c", PROGRAM), "-o", self.program], check=True)

    def srun(self, tasks, *words, nodes=1, mpi="pmix", environment=None):
        return subprocess.Popen(["srun", f"-N{nodes}", "-n", str(tasks), "--overcommit", f"--mpi={mpi}", *words], text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=dict(self.environment, **environment or {}), cwd=self.folder.name)

    def run_tasks(self, *words, **how):
        job = self.srun(*words, **how)
        output, error = job.communicate(timeout=100)
        return job.returncode, output, error

    def test_tasks_are_ranks_of_one_job(self):
        for tasks in (1, 2, 16):
            status, output, error = self.run_tasks(tasks, self.program)
            expected = [f"rank {rank} of {tasks}: {tasks * (tasks - 1) // 2}" for rank in range(tasks)]
            self.assertEqual((status, sorted(output.splitlines())), (0, sorted(expected)), error)

    def test_over_two_nodes(self):
        traffic = os.path.join(BUILD, "tests", "mpi", "traffic")
        for tasks in (2, 5, 8):
            status, output, error = self.run_tasks(tasks, self.program, nodes=2, environment=WITH_UCX)
            expected = [f"rank {rank} of {tasks}: {tasks * (tasks - 1) // 2}" for rank in range(tasks)]
            self.assertEqual((status, sorted(output.splitlines())), (0, sorted(expected)), error)
        for transports in ("tcp,self", "all"):
            status, output, error = self.run_tasks(6, traffic, nodes=2, environment={"UCX_TLS": transports, **WITH_UCX})
            self.assertEqual((status, output), (0, " No Errors\n"), error)

    @unittest.skipUnless(THREADS, "no thread ranks here")
    def test_tasks_that_carry_thread_ranks(self):
        for tasks in (2, 3, 4):
            status, output, error = self.run_tasks(tasks, MPIEXEC, "--as", "threads", "--ranks-per-process", "4", self.program,
                                                   nodes=2, environment=WITH_UCX)
            self.assertEqual((status, output.count(f"of {4 * tasks}: ")), (0, 4 * tasks), error)
        for what in ("abort", "kill", "leave"):
            status, _, error = self.run_tasks(4, MPIEXEC, "--as", "threads", "--ranks-per-process", "2", self.program, what,
                                              nodes=2, environment=WITH_UCX)
            self.assertNotEqual(status, 0, what)

    def in_allocation(self, *words):
        return subprocess.run(["salloc", "-Q", "-N2", "-n4", "--ntasks-per-node=2", "--overcommit", *map(str, words)], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=100, cwd=self.folder.name,
                              env=dict(self.environment, **WITH_UCX))

    def test_mpiexec_in_an_allocation(self):
        job = self.in_allocation(MPIEXEC, self.program)
        expected = [f"rank {rank} of 4: 6" for rank in range(4)]
        self.assertEqual((job.returncode, sorted(job.stdout.splitlines())), (0, expected), job.stderr)
        job = self.in_allocation(MPIEXEC, "-n", 6, "sh", "-c", "echo $SLURMD_NODENAME")
        self.assertEqual((job.returncode, sorted(job.stdout.split())), (0, ["one"] * 3 + ["two"] * 3), job.stderr)
        job = self.in_allocation(MPIEXEC, "--host", "localhost", "-n", 2, self.program)
        self.assertEqual((job.returncode, job.stdout.count("of 2: 1")), (0, 2), job.stderr)
        job = self.in_allocation(MPIEXEC, self.program, "abort")
        self.assertEqual(job.returncode, 7, job.stderr)
        self.assertEqual(job.stderr.count("called MPI_Abort with code 7"), 1, job.stderr)

    def test_ends_over_two_nodes(self):
        for what in ("abort", "crash", "kill", "leave"):
            status, _, error = self.run_tasks(4, self.program, what, nodes=2, environment=WITH_UCX)
            self.assertNotEqual(status, 0, what)
            self.assertNotIn("connection", error, what)

    def test_a_deadlock_over_two_nodes_is_told(self):
        status, _, error = self.run_tasks(4, self.program, "dead", nodes=2, environment=WITH_UCX)
        self.assertNotEqual(status, 0)
        for ranks in ("0-1", "2-3"):
            self.assertRegex(error, rf"ranks {ranks}: each waits in MPI_Recv for any rank, tag 7")

    def test_a_deadlock_is_told(self):
        status, _, error = self.run_tasks(3, self.program, "dead")
        self.assertNotEqual(status, 0)
        self.assertIn("Meantime: deadlock: every rank waits in MPI, and nothing can wake one of them:\n", error)
        self.assertRegex(error, r"ranks 0-2: each waits in MPI_Recv for any rank, tag 7")

    def test_ends(self):
        for what, said in (("abort", r"rank 1 \(pid \d+ on .*\) called MPI_Abort with code 7\n"),
                           ("crash", r"rank 1 \(pid \d+ on .*\) was killed by signal 11 \(Segmentation fault\)"),
                           ("kill", "."), ("leave", ".")):
            status, _, error = self.run_tasks(4, self.program, what)
            self.assertNotEqual(status, 0, what)
            self.assertRegex(error, said)

    def test_it_is_reported(self):
        status, _, error = self.run_tasks(3, self.program, environment={"MEANTIME_REPORT": "1"})
        self.assertEqual(status, 0, error)
        self.assertIn("Meantime: where the time of 3 ranks on ", error)

    def test_one_report_of_two_nodes(self):
        path = self.path("report.json")
        environment = {"MEANTIME_REPORT": "1", **WITH_UCX}
        for tasks in (2, 3, 64):
            status, _, error = self.run_tasks(tasks, self.program, nodes=2, environment=environment)
            self.assertEqual((status, error.count("where the time of ")), (0, 1), error)
            self.assertRegex(error, rf"Meantime: where the time of {tasks} ranks on \d+ workers of 2 nodes went, ")
            self.assertNotIn("missing", error)
        status, _, error = self.run_tasks(4, self.program, nodes=2, environment={"MEANTIME_REPORT": path, **WITH_UCX})
        self.assertEqual(status, 0, error)
        self.assertNotIn("Meantime", error)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual([rank["node"] for rank in report["ranks"]], ["one", "one", "two", "two"])
        self.assertEqual(report["missing"], [])
        for rank in report["ranks"]:
            self.assertGreater(rank["wall"], 0)
        for node in ("one", "two"):
            names = {site["function"] for rank in report["ranks"] if rank["node"] == node for site in rank["sites"]}
            self.assertEqual(names, {"main"})
        self.assertEqual([name for name in os.listdir(self.folder.name) if name.startswith("report")], ["report.json"])

    def test_a_report_of_what_was_broken_off(self):
        for what in ("abort", "kill", "leave"):
            status, _, error = self.run_tasks(4, self.program, what, nodes=2,
                                              environment={"MEANTIME_REPORT": "1", **WITH_UCX})
            self.assertNotEqual(status, 0, what)
            self.assertNotIn("The job was too short", error)

    def test_one_job_after_the_other(self):
        status, output, error = self.run_tasks(4, "sh", "-c", f"{self.program} && {self.program}", nodes=2,
                                               environment={"MEANTIME_REPORT": "1", **WITH_UCX})
        self.assertEqual((status, output.count("of 4: 6\n"), error.count("of 2 nodes went")), (0, 8, 2), error)

    def test_sessions_after_finalize(self):
        """Nobody is held for the report as long as another goes on with sessions."""
        program = self.path("sessions")
        subprocess.run([MPICC, *CFLAGS, self.path("sessions.c", SESSIONS), "-o", program], check=True)
        status, output, error = self.run_tasks(4, program, environment={"MEANTIME_REPORT": "1"})
        self.assertEqual((status, output.count("through\n")), (0, 4), error)
        self.assertIn("where the time of 4 ranks on ", error)

    def test_the_launcher_is_interrupted(self):
        job = self.srun(3, self.program, "wait")
        for _ in range(3):
            job.stdout.readline()
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=60)
        self.assertNotEqual(job.returncode, 0)

    def test_without_pmix(self):
        status, output, error = self.run_tasks(2, self.program, mpi="none")
        self.assertEqual((status, output), (1, ""), error)
        self.assertIn("srun --mpi=pmix", error)


if __name__ == "__main__":
    unittest.main()
