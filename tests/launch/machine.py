"""A machine whose CPUs' frequencies and idle states a job may change: a tree of files
(MEANTIME_TEST_MACHINE)."""

import contextlib
import os
import shutil
import signal
import subprocess
import unittest

from mpiexec import BUILD, CFLAGS, SOURCE, MpiexecTest, processes_of
from test_kill import kill_both, supervisor_of
from test_signals import state_of

MPICC = os.path.join(BUILD, "bin", "mpicc")
NORMAL, LEAST = "3000000", "800000"
CPUS = sorted(os.sched_getaffinity(0))


@unittest.skipIf(len(CPUS) < 2, "needs two CPUs")
class MachineTest(MpiexecTest):
    """Jobs on the first two CPUs, each of which has a clock of its own."""

    kind = ("-bind-to", "hwthread")

    def setUp(self):
        super().setUp()
        self.machine = os.path.join(self.folder.name, "machine")
        if os.path.exists(self.machine):
            shutil.rmtree(self.machine)
        self.cpufreq = os.path.join(self.machine, "sys", "devices", "system", "cpu", "cpufreq")
        os.makedirs(os.path.join(self.machine, "dev"))
        self.put("meantime-test-machine", "")
        for cpu in CPUS:
            self.policy(cpu, affected_cpus=f"{cpu} ", scaling_max_freq=NORMAL, cpuinfo_min_freq=LEAST,
                        scaling_min_freq=LEAST, scaling_setspeed="<unsupported>",
                        scaling_governor="schedutil", energy_performance_preference="balance_power",
                        energy_performance_available_preferences="default performance power ")
        for name in list(self.environment):
            if name.startswith("MEANTIME_"):
                self.environment.pop(name) if name != "MEANTIME_TEST_MARK" else None
        self.environment.update(MEANTIME_TEST_MACHINE=self.machine, MEANTIME_ENERGY="countdown",
                                MEANTIME_FREQUENCY="max_freq", MEANTIME_WAIT="event")
        workers = self.run_job("sh", "-c", "echo $MEANTIME_WORKERS",
                               env=dict(self.environment, MEANTIME_ENERGY="none", MEANTIME_FREQUENCY="none"))
        if int(workers.output) < 2:
            self.skipTest("needs CPU time of two CPUs")
        self.program = self.path("countdown")
        if not os.path.exists(self.program):
            subprocess.run([MPICC, *CFLAGS, os.path.join(SOURCE, "tests", "launch", "countdown.c"), "-o",
                            self.program], check=True)

    def put(self, path, text):
        path = os.path.join(self.machine, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def policy(self, number, **values):
        for name, value in values.items():
            self.put(os.path.join(self.cpufreq, f"policy{number}", name), value + "\n")

    def lowered(self, name="scaling_max_freq", low=LEAST):
        return [cpu for cpu in CPUS if self.value(cpu, name) == low]

    def value(self, cpu, name="scaling_max_freq"):
        with open(os.path.join(self.cpufreq, f"policy{cpu}", name)) as file:
            return file.read().strip()

    def values(self, name="scaling_max_freq"):
        return [self.value(cpu, name) for cpu in CPUS]

    def start_job(self, *words, options=("-n", 2, "-stdin", 1), **variables):
        """Two ranks; the second reads what the test writes."""
        return self.start(*self.kind, *options, self.program, *words, stdin=subprocess.PIPE,
                          env=dict(self.environment, **variables))

    def let_go(self, job, line=b"go\n"):
        job.stdin.write(line)
        job.stdin.flush()

    def wait_until_low(self, name="scaling_max_freq", low=LEAST):
        self.wait_for(lambda: self.lowered(name, low), "the lower frequency")

    def assert_normal(self):
        self.wait_for(lambda: self.values() == [NORMAL] * len(CPUS), "the normal frequency")

    def end(self, job, status):
        output, error = job.communicate(timeout=30)
        self.assertEqual(job.returncode, status, (output, error))
        return output.decode(), error.decode()

    def see_it_undone_however_the_job_ends(self):
        ends = {"MPI_Abort": (5, ("abort",), None), "SIGKILL of a rank": (137, ("kill",), None),
                "SIGKILL of mpiexec": (-9, (), lambda job: job.kill()),
                "SIGKILL of the supervisor":
                    (137, (), lambda job: os.kill(supervisor_of(job.pid), signal.SIGKILL)),
                "SIGKILL of all but the supervisor": (-9, (), self.kill_all_but_the_supervisor),
                "SIGKILL of mpiexec and its supervisor": (-9, (), self.kill_mpiexec_and_supervisor),
                "SIGTERM": (143, (), lambda job: job.terminate()),
                "time limit": (124, ("-timeout", 1), None)}
        for name, (status, words, action) in ends.items():
            with self.subTest(name):
                if words[:1] == ("-timeout",):
                    job = self.start_job(options=("-timeout", 1, "-n", 2, "-stdin", 1))
                else:
                    job = self.start_job(*words)
                    self.wait_until_low()
                if action is not None:
                    action(job)
                elif words[0] in ("abort", "kill"):
                    self.let_go(job, b"end\n")
                job.wait(timeout=30)
                job.communicate()
                self.assertEqual(job.returncode, status)
                self.assert_normal()
                self.assert_nothing_left()
                self.assertEqual(self.values(), [NORMAL] * len(CPUS))

    def see_that_stopped_jobs_slow_nobody(self):
        """Returns what the job said."""
        job = self.start_job()
        self.wait_until_low()
        job.send_signal(signal.SIGTSTP)
        self.assert_normal()
        # Its own SIGSTOP would throw away a SIGCONT that came before.
        self.wait_for(lambda: state_of(job.pid) == "T", "mpiexec to stop")
        job.send_signal(signal.SIGCONT)
        said = self.end(job, 0)
        self.assertEqual(self.values(), [NORMAL] * len(CPUS))
        return said

    def kill_mpiexec_and_supervisor(self, job):
        kill_both(job)

    def kill_all_but_the_supervisor(self, job):
        supervisor = supervisor_of(job.pid)
        for pid in processes_of(self.mark):
            if pid != supervisor:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def job_says(self, *words, program=None, **variables):
        """The one line of a job that goes on without; and the same as a refusal."""
        words = [*words, program or "true"]
        result = self.run_job(*words, env=dict(self.environment, **variables))
        self.assertEqual(result.status, 0, result)
        self.assert_one_line(result)
        refused = self.run_job(*words, env=dict(self.environment, MEANTIME_MACHINE="require",
                                                **variables))
        self.assertEqual(refused.status, 1, refused)
        self.assertEqual(refused.error,
                         result.error.replace("\n", " (MEANTIME_MACHINE=require)\n"))
        return result.error

    def use_once(self):
        """The program is one whose rank 0, after its wait, is not in MPI until the fifo is written."""
        source = self.path("once.c", """
            #include <mpi.h>
            #include <stdio.h>
            int main(void) {
              int rank, got = 0;
              char line[8];
              MPI_Init(0, 0);
              MPI_Comm_rank(MPI_COMM_WORLD, &rank);
              if (rank == 1 && !fgets(line, 8, stdin)) return 1;
              MPI_Bcast(&got, 1, MPI_INT, 1, MPI_COMM_WORLD);
              if (rank == 0) { puts("met"); fflush(stdout); }
              if (rank == 0 && !fgets(line, 8, fopen(FIFO, "r"))) return 1;
              MPI_Finalize();
            }""")
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        subprocess.run([MPICC, *CFLAGS, f'-DFIFO="{fifo}"', source, "-o", self.path("once")], check=True)
        self.program = self.path("once")
        return fifo
