#!/usr/bin/env python3
"""Programs that PRRTE starts, where it is installed: by prterun, and by prun, whose daemon stays for further jobs."""

import os
import shutil
import signal
import subprocess
import unittest

import test_tasks
from mpiexec import CFLAGS, MpiexecTest, processes_of


class TasksOfPrterun(test_tasks.Tasks):
    launcher = shutil.which("prterun")

    def test_one_job_after_the_other_over_nodes(self):
        on_two, environment = self.on_two()
        for _ in range(3):
            try:
                status, output, error = self.run_tasks(4, *on_two, "sh", "-c", f"{self.program} && {self.program}",
                                                       environment=environment, within=20)
            except subprocess.TimeoutExpired:
                continue  # now and then a PMIx server of PRRTE 3.0 does not answer a task's second client
            self.assertEqual((status, output.count("of 4: 6\n")), (0, 8), error)
            return
        self.fail("thrice the second program never began")


@unittest.skipUnless(all(shutil.which(name) for name in ("prte", "prun", "pterm")) and os.path.exists(test_tasks.WIRE_UP),
                     "no prun, or built without PMIx")
class TasksOfPrun(MpiexecTest):
    def setUp(self):
        super().setUp()
        self.environment.update(PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.program = self.path("tasks")
        subprocess.run([test_tasks.MPICC, *CFLAGS, self.path("tasks.c", test_tasks.PROGRAM), "-o", self.program], check=True)
        self.uri = self.path("uri")
        self.call("prte", "--daemonize", "--report-uri", self.uri).check_returncode()

    def tearDown(self):
        if processes_of(self.mark):
            self.call("pterm", "--dvm-uri", f"file:{self.uri}")
        super().tearDown()

    def call(self, *words):
        # To files, whose end nobody waits for: the daemon keeps them open.
        with open(self.path("output"), "w+") as output, open(self.path("error"), "w+") as error:
            job = subprocess.run(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=error, timeout=60)
            output.seek(0)
            error.seek(0)
            return subprocess.CompletedProcess(words, job.returncode, output.read(), error.read())

    def words(self, tasks, *program):
        return "prun", "--dvm-uri", f"file:{self.uri}", "--map-by", ":oversubscribe", "-n", str(tasks), *program

    def run_tasks(self, tasks, *program):
        job = self.call(*self.words(tasks, *program))
        return job.returncode, job.stdout, job.stderr

    def test_jobs_one_after_the_other(self):
        # PRRTE 3.0.14 and 4.1.0 do not, and of a task that ends at once PRRTE may not hear that it has.
        tells = self.run_tasks(1, "sh", "-c", "sleep 0.5; exit 7")[0] == 7
        for what, ends, said in (("sum", 0, ""), ("dead", 125, "Meantime: deadlock: every rank waits in MPI"),
                                 ("abort", 7, "called MPI_Abort with code 7"), ("kill", 137, "was killed by signal 9"),
                                 ("sum", 0, "")):
            status, output, error = self.run_tasks(4, self.program, what)
            self.assertEqual((status, output.count("of 4: 6\n")), (ends if tells else 0, 4), error)
            self.assertIn(said, output + error)

    def test_jobs_at_once(self):
        jobs = [subprocess.Popen(self.words(tasks, self.program), text=True, env=self.environment,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for tasks in (2, 3, 4)]
        for tasks, job in zip((2, 3, 4), jobs):
            output, error = job.communicate(timeout=60)
            self.assertEqual((job.returncode, output.count(f" of {tasks}: ")), (0, tasks), error)

    def test_the_daemon_dies(self):
        job = subprocess.Popen(self.words(3, self.program, "wait"), text=True, env=self.environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(3):
            job.stdout.readline()
        for pid, words in processes_of(self.mark).items():
            if words.startswith("prte "):
                os.kill(pid, signal.SIGKILL)
        job.communicate(timeout=60)
        test_tasks.remove_launchers_files(self.temporary)


if __name__ == "__main__":
    unittest.main()
