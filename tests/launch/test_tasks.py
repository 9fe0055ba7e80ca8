#!/usr/bin/env python3
"""Programs that another launcher starts, by PMIx: Open MPI's mpirun, where it is installed; of PRRTE, too (test_prterun.py)."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from mpiexec import BUILD, CFLAGS, MPIEXEC, THREADS, MpiexecTest, processes_of

MPICC = os.path.join(BUILD, "bin", "mpicc")
MEANTIME = os.path.join(BUILD, "bin", "meantime")
WIRE_UP = os.path.join(BUILD, "libexec", "meantime", "meantime-wire-up")
# The leak sanitizer itself crashes where UCX's libraries are loaded.
WITH_UCX = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}

PROGRAM = """
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "sum";
  int rank, size, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d: %d\\n", rank, size, sum);
  fflush(stdout);
  if (!strcmp(what, "dead")) MPI_Recv(&sum, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!strcmp(what, "abort") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
  if (!strcmp(what, "kill") && rank == 2) raise(SIGKILL);
  if (!strcmp(what, "crash") && rank == 1) *(volatile int*)8 = 1;
  if (!strcmp(what, "leave") && rank == 1) exit(0);
  if (!strcmp(what, "child") && rank == 0) system(argv[2]);
  if (!strcmp(what, "wait")) pause();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""

NUMBERS = """
#include <mpi.h>
#include <stdio.h>
int main(void) {
  int* number, found;
  MPI_Init(0, 0);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
  printf("%d\\n", found ? *number : -1);
  MPI_Finalize();
}
"""

# An ssh that stays here. Daemons of PRRTE have the name of the machine, whatever the host was called, and so each gets one
# of its own.
SSH = r"""#!/bin/sh
test "$1" = -x && shift
node=$1; shift
TMPDIR=$TMPDIR/$node; mkdir -p $TMPDIR; export TMPDIR
test $(id -u) = 0 || user="--user --map-current-user --keep-caps"
exec unshare $user --uts sh -c "hostname $node && $*"
"""


def version_of(launcher):
    return subprocess.run([launcher, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def remove_launchers_files(folder):
    """Of one that was killed."""
    for name in os.listdir(folder):
        if re.match(r"(ompi|prte|prterun|prtrn|prun)\.", name):
            shutil.rmtree(os.path.join(folder, name))


class Tasks(MpiexecTest):
    launcher = shutil.which("mpirun.openmpi")

    @classmethod
    def setUpClass(cls):
        version = version_of(cls.launcher) if cls.launcher and os.path.exists(WIRE_UP) else ""
        if not re.search(r"\((Open ?RTE|Open MPI|PRRTE)\) \d", version):
            raise unittest.SkipTest("no such launcher, or built without PMIx")
        cls.is_prrte = re.search(r"\((Open ?RTE|Open MPI)\) [1-4]\.", version) is None

    def setUp(self):
        super().setUp()
        for name in ("OMPI", "PRTE"):
            self.environment.update({f"{name}_ALLOW_RUN_AS_ROOT": "1", f"{name}_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self.program = self.path("tasks")
        subprocess.run([MPICC, *CFLAGS, self.path("tasks.c", PROGRAM), "-o", self.program], check=True)

    def mpirun(self, tasks, *words, environment=None):
        crowded = ("--map-by", ":oversubscribe") if self.is_prrte else ("--oversubscribe",)
        return subprocess.Popen([self.launcher, *crowded, "-n", str(tasks), *words], text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=dict(self.environment, **environment or {}))

    def run_tasks(self, tasks, *words, environment=None, within=60):
        job = self.mpirun(tasks, *words, environment=environment)
        try:
            output, error = job.communicate(timeout=within)
        except subprocess.TimeoutExpired:
            job.kill()
            job.communicate()
            raise
        return job.returncode, output, error

    def test_tasks_are_ranks_of_one_job(self):
        for tasks in (1, 2, 5, 16):
            status, output, error = self.run_tasks(tasks, self.program)
            expected = [f"rank {rank} of {tasks}: {tasks * (tasks - 1) // 2}" for rank in range(tasks)]
            self.assertEqual((status, sorted(output.splitlines())), (0, sorted(expected)), error)

    def on_two(self, each=2):
        """Words and variables for the launcher's daemons of two nodes, which are both here."""
        words = ("--bind-to", "none", "--host", f"one:{each},two:{each}")
        environment = {"TMPDIR": self.folder.name, "UCX_TLS": "tcp,self", **WITH_UCX}
        if self.is_prrte:
            os.makedirs(self.path("bin"), exist_ok=True)
            self.path("bin/ssh", SSH)
            environment["PATH"] = self.path("bin") + ":" + self.environment["PATH"]
            try:  # of a task that ends at once PRRTE 3.0 may not hear that it has
                hosts = self.run_tasks(2 * each, *words, "sh", "-c", "hostname; sleep 0.5", environment=environment,
                                       within=20)[1].split()
            except subprocess.TimeoutExpired:
                hosts = []
            if sorted(hosts) != ["one"] * each + ["two"] * each:
                self.skipTest("this machine cannot be two of this PRRTE's nodes")
            return words, environment
        agent = self.path("agent", '#!/bin/sh\nTMPDIR=$TMPDIR/$1; mkdir -p $TMPDIR; export TMPDIR; shift; exec sh -c "$*"\n')
        return ("--mca", "plm_rsh_agent", agent, "--mca", "rtc", "^hwloc", *words), environment

    @unittest.skipUnless(THREADS, "no thread ranks here")
    def test_tasks_that_carry_thread_ranks(self):
        one_each, environment = self.on_two(1)
        on_two, environment = self.on_two(2)
        carry = (MPIEXEC, "--as", "threads", "--ranks-per-process", "3", self.program)
        for tasks, words in ((1, ()), (3, ()), (2, one_each), (4, on_two)):
            status, output, error = self.run_tasks(tasks, *words, *carry, environment=environment)
            ranks = 3 * tasks
            expected = [f"rank {rank} of {ranks}: {ranks * (ranks - 1) // 2}" for rank in range(ranks)]
            self.assertEqual((status, sorted(output.splitlines())), (0, sorted(expected)), error)
        status, output, error = self.run_tasks(4, *on_two, *carry, environment=dict(environment, MEANTIME_REPORT="1"))
        self.assertEqual((status, error.count("where the time of ")), (0, 1), error)
        self.assertRegex(error, r"mpiexec: where the time of 12 ranks on \d+ workers of 2 nodes went, ")
        for what, ends, said in (("abort", 7, "called MPI_Abort with code 7"), ("kill", 137, "was killed by signal 9"),
                                 ("leave", 1, "ended with status 0 without MPI_Finalize")):
            status, output, error = self.run_tasks(4, *on_two, *carry, what, environment=environment)
            self.assertEqual((status, error.count(said)), (ends, 1), error)

    def test_over_nodes(self):
        traffic = os.path.join(BUILD, "tests", "mpi", "traffic")
        on_two, environment = self.on_two()
        status, output, error = self.run_tasks(4, *on_two, self.program, environment=environment)
        self.assertEqual((status, output.count("of 4: 6\n")), (0, 4), error)
        status, output, error = self.run_tasks(4, *on_two, self.program, environment=dict(environment, MEANTIME_REPORT="1"))
        self.assertEqual((status, error.count("where the time of ")), (0, 1), error)
        self.assertRegex(error, r"Meantime: where the time of 4 ranks on \d+ workers of 2 nodes went, ")
        self.assertRegex(error, r"\n +3 .*  two\n")
        self.assertNotIn("missing", error)
        status, output, error = self.run_tasks(4, *on_two, self.program, "dead", environment=environment)
        self.assertEqual(status, 125)
        for ranks in ("0-1", "2-3"):
            self.assertRegex(error, rf"ranks {ranks}: each waits in MPI_Recv for any rank, tag 7")
        status, output, error = self.run_tasks(4, *on_two, traffic, environment=environment)
        self.assertEqual((status, output), (0, " No Errors\n"), error)

    def test_through_a_script(self):
        status, output, error = self.run_tasks(3, "sh", "-c", f"{self.program}; echo then")
        self.assertEqual((status, output.count("of 3: 3\n"), output.count("then\n")), (0, 3, 3), error)

    def test_one_job_after_the_other(self):
        status, output, error = self.run_tasks(3, "sh", "-c", f"{self.program} && {self.program}")
        self.assertEqual((status, output.count("of 3: 3\n")), (0, 6), error)

    def test_a_deadlock_is_told(self):
        status, _, error = self.run_tasks(3, self.program, "dead")
        self.assertEqual(status, 125)
        self.assertIn("Meantime: deadlock: every rank waits in MPI, and nothing can wake one of them:\n", error)
        self.assertRegex(error, r"ranks 0-2: each waits in MPI_Recv for any rank, tag 7")
        self.assertIn("Meantime: the job is ended (MEANTIME_ON_DEADLOCK=report lets it go on)\n", error)

    def test_abort(self):
        status, _, error = self.run_tasks(3, self.program, "abort")
        self.assertEqual(status, 7)
        self.assertRegex(error, r"Meantime: rank 1 \(pid \d+ on .*\) called MPI_Abort with code 7\n")

    def test_a_task_that_dies_ends_the_job(self):
        for what in ("kill", "leave"):
            status, _, error = self.run_tasks(4, self.program, what)
            self.assertNotEqual(status, 0, error)

    def test_a_crash(self):
        said = r"Meantime: rank 1 \(pid \d+ on .*\) was killed by signal 11 \(Segmentation fault\)"
        status, _, error = self.run_tasks(4, self.program, "crash")
        self.assertEqual(status, 139)
        self.assertRegex(error, said)
        status, _, error = self.run_tasks(4, "sh", "-c", f"{self.program} crash; exit 0")
        self.assertNotEqual(status, 0, "scripts made it a success")
        self.assertRegex(error, said)

    def test_who_ends_the_launcher_knows_why(self):
        job = self.mpirun(3, self.program, "wait")
        for _ in range(3):
            job.stdout.readline()
        job.terminate()
        _, error = job.communicate(timeout=30)
        self.assertNotIn("Meantime", error)

    def test_a_task_dies_before_it_is_a_rank(self):
        script = f'test "$PMIX_RANK" = {{}} && kill -9 $$; exec {self.program}'
        for dead in (0, 2):
            status, output, _ = self.run_tasks(3, "sh", "-c", script.format(dead))
            self.assertNotEqual((status, output), (0, ""))

    def test_programs_have_numbers(self):
        numbers = self.path("numbers")
        subprocess.run([MPICC, *CFLAGS, self.path("numbers.c", NUMBERS), "-o", numbers], check=True)
        status, output, error = self.run_tasks(1, numbers, ":", "-n", "2", numbers)
        self.assertEqual((status, sorted(output.split())), (0, ["0", "1", "1"]), error)

    def test_few_descriptors(self):
        status, output, error = self.run_tasks(32, "sh", "-c", f"ulimit -Sn 40; exec {self.program}")
        self.assertEqual((status, output.count("of 32: 496\n")), (0, 32), error)

    def test_the_supervisor_dies(self):
        job = self.mpirun(3, self.program, "wait")
        end = time.monotonic() + 20
        supervisor = None
        while supervisor is None and time.monotonic() < end:
            supervisor = next((pid for pid, words in processes_of(self.mark).items()
                               if os.path.exists(f"/proc/{pid}") and words.startswith("tasks of ")), None)
            time.sleep(0.02)
        self.assertIsNotNone(supervisor)
        for _ in range(3):
            job.stdout.readline()
        os.kill(supervisor, signal.SIGKILL)
        job.communicate(timeout=30)
        self.assertNotEqual(job.returncode, 0)

    def test_the_launcher_dies(self):
        job = self.mpirun(3, self.program, "wait")
        for _ in range(3):
            job.stdout.readline()
        job.kill()
        job.communicate(timeout=30)
        remove_launchers_files(self.temporary)

    def test_what_a_task_starts_is_alone(self):
        status, output, error = self.run_tasks(3, self.program, "child", self.program)
        self.assertEqual((status, output.count("rank 0 of 1: 0\n"), output.count("of 3: 3\n")), (0, 1, 3), error)

    def test_a_world_each(self):
        status, output, error = self.run_tasks(3, self.program, environment={"MEANTIME_SINGLETON": "1"})
        self.assertEqual((status, output.count("rank 0 of 1: 0\n")), (0, 3), error)

    def test_it_is_listed(self):
        job = self.mpirun(3, self.program, "wait")
        end = time.monotonic() + 20
        listed = ""
        while f"tasks of {self.program} (3 ranks" not in listed and time.monotonic() < end:
            time.sleep(0.05)
            listed = subprocess.run([MEANTIME, "ps"], env=self.environment, stdout=subprocess.PIPE, text=True, check=True).stdout
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=30)
        self.assertRegex(listed, rf"job \d+: tasks of {self.program} \(3 ranks")

    def test_it_is_reported(self):
        path = self.path("report.json")
        status, _, error = self.run_tasks(3, self.program, environment={"MEANTIME_REPORT": path})
        self.assertEqual((status, error), (0, ""))
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["ranks_count"], 3)
        self.assertGreater(report["cpu"], 0)
        self.assertIn("MPI_Allreduce", {site["call"] for rank in report["ranks"] for site in rank["sites"]})

    def test_no_server_behind_the_variables(self):
        lost = subprocess.run([self.program], env=dict(self.environment, PMIX_NAMESPACE="nobody", PMIX_RANK="0"),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual((lost.returncode, lost.stdout), (1, ""), lost.stderr)
        self.assertIn("Meantime: cannot join the job of the launcher that started this program: ", lost.stderr)


if __name__ == "__main__":
    unittest.main()
