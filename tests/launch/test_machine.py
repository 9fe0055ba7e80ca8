"""What a job changes in the machine, and that it is undone however the job ends. (Of thread ranks:
test_machine_threads.py.)"""

import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess

from machine import CPUS, NORMAL, MachineTest
from mpiexec import MPIEXEC, main
from test_kill import supervisor_of

LATENCY = "/dev/cpu_dma_latency"


class Machine(MachineTest):
    def test_lowered_while_a_rank_waits(self):
        for wait in ("event", "poll", "adaptive", "predicted", "yield"):
            with self.subTest(wait):
                job = self.start_job(MEANTIME_WAIT=wait, MEANTIME_COUNTDOWN="2000")
                self.wait_until_low()
                self.assertEqual(len(self.lowered()), 1)  # rank 1 does not wait in MPI
                self.let_go(job)
                self.wait_until_low()
                output, error = self.end(job, 0)
                self.assertEqual((output, error), ("done\n", ""))
                self.assertEqual(self.values(), [NORMAL] * len(CPUS))

    def test_undone_however_the_job_ends(self):
        self.see_it_undone_however_the_job_ends()

    def test_restored_when_the_wait_is_over(self):
        fifo = self.use_once()
        job = self.start_job()
        self.wait_until_low()
        self.let_go(job)
        self.assertEqual(job.stdout.readline(), b"met\n")
        self.wait_for(lambda: self.value(CPUS[0]) == NORMAL, "the normal frequency")
        with open(fifo, "w") as file:  # until now rank 0 was not in MPI, rank 1 perhaps in MPI_Finalize
            file.write("go\n")
        self.end(job, 0)
        self.assertEqual(self.values(), [NORMAL] * len(CPUS))

    def test_stopped_jobs_slow_nobody(self):
        self.see_that_stopped_jobs_slow_nobody()

    def test_other_knobs(self):
        job = self.start_job(MEANTIME_FREQUENCY="epp")
        self.wait_until_low("energy_performance_preference", "power")
        self.end(job, 0)
        self.assertEqual(set(self.values("energy_performance_preference")), {"balance_power"})
        for cpu in CPUS:
            self.policy(cpu, scaling_governor="userspace", scaling_setspeed="2200000")
        job = self.start_job(MEANTIME_FREQUENCY="setspeed")
        self.wait_until_low("scaling_setspeed")
        self.end(job, 0)
        self.assertEqual(set(self.values("scaling_setspeed")), {"2200000"})
        self.assertEqual(set(self.values()), {NORMAL})

    def test_what_cannot_be_done_is_said(self):
        bound = ("-bind-to", "hwthread", "-n", 2)
        self.assertIn("not bound to cores of their own", self.job_says("-n", 2))
        self.assertIn("not bound", self.job_says("-bind-to", "numa", "-n", 2))
        self.assertRegex(self.job_says("-bind-to", "hwthread", "-n", len(CPUS) + 1),
                         r"\d+ ranks share \d+ cores")
        # Of a file, which is for other jobs too, a job may have no use; who says so for one job is refused.
        self.put("meantime.conf", "frequency = max_freq\nmachine = require\nenergy = countdown\n")
        for energy in ("balanced", "none"):
            result = self.run_job(*bound, "true", env=dict(self.environment, MEANTIME_ENERGY=energy, MEANTIME_FREQUENCY="",
                                                           XDG_CONFIG_HOME=self.machine))
            self.assertEqual((result.status, result.error), (0, ""), result)
        self.assertIn("lowers nothing: MEANTIME_FREQUENCY says how",
                      self.job_says(*bound, MEANTIME_FREQUENCY="none"))
        self.assertIn("scaling_governor is 'schedutil': setspeed needs 'userspace'",
                      self.job_says(*bound, MEANTIME_FREQUENCY="setspeed"))
        first = CPUS[0]
        self.policy(first, scaling_max_freq="fast")
        self.assertIn("says 'fast'", self.job_says(*bound))
        os.remove(os.path.join(self.cpufreq, f"policy{first}", "scaling_max_freq"))
        self.assertIn("cannot be written: No such file", self.job_says(*bound))
        os.symlink("/etc/hostname", os.path.join(self.cpufreq, f"policy{first}", "scaling_max_freq"))
        self.assertIn("frequencies stay as they are", self.job_says(*bound))
        for cpu in CPUS:
            self.policy(cpu, affected_cpus=f"{cpu} 1023")
        self.assertIn("each is shared with CPUs that none of its ranks has", self.job_says(*bound))
        shutil.rmtree(self.cpufreq)
        self.assertIn("has no policies", self.job_says(*bound))
        self.assertIn("No such file", self.job_says(*bound, MEANTIME_ENERGY="none", MEANTIME_FREQUENCY="none",
                                                    MEANTIME_CPU_DMA_LATENCY="5"))

    def test_not_permitted(self):
        for cpu in CPUS:
            os.chmod(os.path.join(self.cpufreq, f"policy{cpu}", "scaling_max_freq"), 0o444)
        nobody = 65534
        if os.geteuid() == 0:  # who may write anything: as somebody else, if he may run mpiexec
            for path, folders, files in os.walk(self.folder.name):
                os.chmod(path, 0o755)
            os.chown(os.path.join(self.machine, "meantime-test-machine"), nobody, nobody)
            tried = subprocess.run([MPIEXEC, "true"], user=nobody, group=nobody, extra_groups=[],
                                   stderr=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]})
            if tried.returncode != 0:
                self.skipTest("this tree is root's alone")
            job = self.start("-bind-to", "hwthread", "-n", 2, "true", user=nobody, group=nobody,
                             extra_groups=[])
            self.assertIn("cannot be written: Permission denied", self.end(job, 0)[1])
        else:
            self.assertIn("cannot be written: Permission denied",
                          self.job_says("-bind-to", "hwthread", "-n", 2))

    def test_one_job_at_a_time(self):
        job = self.start_job()
        self.wait_until_low()
        self.assertIn("is in use by another job", self.job_says("-bind-to", "hwthread", "-n", 2))
        self.assertEqual(len(self.lowered()), 1)
        self.end(job, 0)
        self.assertEqual(self.values(), [NORMAL] * len(CPUS))

    def test_odd_files(self):
        os.mkfifo(self.path("fifo"))
        for odd in ("/dev/full", "/dev/zero", "/dev/null", self.machine, self.path("fifo")):
            for cpu in CPUS:
                path = os.path.join(self.cpufreq, f"policy{cpu}", "scaling_max_freq")
                os.remove(path)
                os.symlink(odd, path)
            self.assertIn("frequencies stay as they are: ",
                          self.job_says("-bind-to", "hwthread", "-n", 2))

    def test_idle_states(self):
        self.put("dev/cpu_dma_latency", "")
        words = ("-x", "MEANTIME_CPU_DMA_LATENCY=123456", "sh", "-c", f"od -An -td4 {self.machine}/dev/*")
        result = self.run_job(*words, env=dict(self.environment, MEANTIME_ENERGY="none",
                                               MEANTIME_FREQUENCY="none"))
        self.assertEqual((result.status, result.output.split(), result.error), (0, ["123456"], ""))

    def test_a_wake_up_under_a_bound_is_nobody_elses(self):
        self.put("dev/cpu_dma_latency", "")
        cache = self.path("cache")
        result = self.run_job("-v", "--report", "-n", 2, "-x", "MEANTIME_CPU_DMA_LATENCY=5", "true",
                              env=dict(self.environment, MEANTIME_ENERGY="none", MEANTIME_FREQUENCY="none",
                                       XDG_CACHE_HOME=cache))
        self.assertEqual(result.status, 0, result)
        self.assertRegex(result.error, r"a wake-up: .*(under this job's bound on idle states|not measured)")
        self.assertFalse(os.path.exists(cache))

    def test_idle_states_of_this_machine(self):
        def bound():
            with open(LATENCY, "rb") as file:
                return struct.unpack("i", file.read(4))[0]

        if not os.access(LATENCY, os.R_OK | os.W_OK):
            self.skipTest(f"{LATENCY} is not ours to change")
        harmless = 1_900_000_000  # longer than any idle state takes
        if bound() <= harmless:
            self.skipTest("somebody else holds it")
        del self.environment["MEANTIME_TEST_MACHINE"]
        self.environment.update(MEANTIME_ENERGY="none", MEANTIME_FREQUENCY="none",
                                MEANTIME_CPU_DMA_LATENCY=str(harmless))
        job = self.start("-n", 2, "-stdin", 1, self.program, stdin=subprocess.PIPE)
        self.wait_for(lambda: bound() == harmless, "the bound")
        self.end(job, 0)
        self.wait_for(lambda: bound() > harmless, "the end of the bound")
        job = self.start("-n", 2, "-stdin", 1, self.program, stdin=subprocess.PIPE)
        self.wait_for(lambda: bound() == harmless, "the bound")
        supervisor = supervisor_of(job.pid)
        job.kill()
        with contextlib.suppress(ProcessLookupError):
            os.kill(supervisor, signal.SIGKILL)
        job.communicate()
        self.wait_for(lambda: bound() > harmless, "the end of the bound")

    def test_report(self):
        report = self.path("report.json")
        job = self.start(f"--report={report}", "-bind-to", "hwthread", "-n", 2, "-stdin", 1, self.program,
                         stdin=subprocess.PIPE)
        self.wait_until_low()
        self.end(job, 0)
        with open(report) as file:
            frequency = json.load(file)["frequency"]
        self.assertGreaterEqual(frequency["times_lowered"], 1)
        self.assertGreater(frequency["seconds_lowered"], 0)
        result = self.run_job("--report", "-bind-to", "hwthread", "-n", 2, "true")
        self.assertIn("frequency: scaling_max_freq of 2 clocks lowered 0 times", result.error)

    def energy(self, *words):
        report = self.path("energy.json")
        job = self.start(f"--report={report}", "-n", 2, "-stdin", 1, self.program, stdin=subprocess.PIPE,
                         env=dict(self.environment, MEANTIME_ENERGY="none", MEANTIME_FREQUENCY="none"))
        self.ranks_of(2, "countdown")
        for path, text in words:
            self.put(path, text)
        self.end(job, 0)
        with open(report) as file:
            return json.load(file)["energy"]

    def test_energy_by_powercap(self):
        zone = "sys/class/powercap/intel-rapl:0/"
        self.put(zone + "name", "package-0\n")
        self.put(zone + "energy_uj", "999000000\n")
        self.put(zone + "max_energy_range_uj", "1000000000\n")
        energy = self.energy((zone + "energy_uj", "500000\n"))  # it went round
        self.assertEqual(energy["joules"], 1.5)
        self.assertEqual(energy["source"], "powercap, 1 package, all that ran on them")

    def test_energy_by_perf(self):
        # The kernel's CPU clock stands for an energy event.
        device = "sys/bus/event_source/devices/power/"
        for name, text in (("type", "1"), ("cpumask", str(CPUS[0])), ("events/energy-pkg", "event=0x00"),
                           ("events/energy-pkg.scale", "1e-9"), ("events/energy-pkg.unit", "Joules")):
            self.put(device + name, text + "\n")
        energy = self.energy()
        if energy["joules"] is None:
            self.assertIn("perf's energy events are not either", energy["source"])
            self.skipTest(energy["source"])
        self.assertGreater(energy["joules"], 0)
        self.assertEqual(energy["source"], "perf's power/energy-pkg/, 1 package, all that ran on them")

    def test_no_energy(self):
        self.assertEqual(self.energy()["joules"], None)

    def test_only_a_tests_tree_stands_for_the_machine(self):
        os.remove(os.path.join(self.machine, "meantime-test-machine"))
        for root in (self.machine, "machine", "/"):
            result = self.run_job("true", env=dict(self.environment, MEANTIME_TEST_MACHINE=root))
            self.assertEqual(result.status, 1)
            self.assert_one_line(result, "MEANTIME_TEST_MACHINE is for Meantime's tests")


if __name__ == "__main__":
    main()
