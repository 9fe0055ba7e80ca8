"""Guest work beside ranks (--guest proc:COMMAND): it runs where they wait, within its limits, and is gone with the job,
whatever ends that."""

import json
import os
import re
import signal
import subprocess
import time
import unittest

from mpiexec import BUILD, CFLAGS, SOURCE, MpiexecTest, main

MPICC = os.path.join(BUILD, "bin", "mpicc")
PROGRAM = os.path.join(SOURCE, "tests", "launch", "guest_waits.c")


def file_text(path):
    with open(path) as file:
        return file.read()


def children(pid):
    return [int(child) for child in file_text(f"/proc/{pid}/task/{pid}/children").split()]


def processes_named(word, but=()):
    """Living processes that have it in their command line, but those of these programs."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
            state = file_text(f"/proc/{entry}/stat").rpartition(")")[2].split()[0]
        except OSError:
            continue
        if (any(word in one for one in words) and state != "Z" and int(entry) != os.getpid()
                and os.path.basename(words[0]) not in but):
            found.append(int(entry))
    return found


class Guests(MpiexecTest):
    def setUp(self):
        super().setUp()
        # Guests have no mark in their environment: they are known by a word of their command.
        self.word = f"guest-of-{os.getpid()}-{self.id().rpartition('.')[2]}"
        self.program = self.path("guest_waits")
        subprocess.run([MPICC, *CFLAGS, PROGRAM, "-o", self.program], check=True)

    def tearDown(self):
        deadline = time.monotonic() + 5
        while processes_named(self.word) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(processes_named(self.word), [])
        super().tearDown()

    def guest(self, script, *words):
        """A command in sh that bears the word."""
        self.assertNotIn("'", script)
        return "proc:sh -c '" + script + "' " + " ".join((self.word,) + words)

    def job(self, guest, milliseconds, *options, ranks=2, **how):
        return self.run_job("--guest", guest, *options, "-n", ranks, self.program, milliseconds, **how)

    def report(self, guest, milliseconds, *options, ranks=2):
        path = self.path("report.json")
        result = self.job(guest, milliseconds, f"--report={path}", *options, ranks=ranks)
        self.assertEqual(result.status, 0, result)
        with open(path) as file:
            return json.load(file)["guests"], result

    def test_it_has_what_ranks_leave(self):
        guests, result = self.report("primes", 1000)
        self.assertGreater(guests["cpu"], 0.6 * guests["left_by_ranks"])
        self.assertGreater(guests["units"], 100)
        self.assertEqual(len(guests["each"]), min(2, len(os.sched_getaffinity(0))))
        self.assertIn("of CPU time", result.error)
        self.assertIn("primes", result.error)

    def test_ready_guests_count(self):
        for name in ("aes", "primes", "stream"):
            with self.subTest(guest=name):
                guests, result = self.report(name, 300)
                self.assertGreater(guests["units"], 0, result)

    def test_what_it_is(self):
        log = self.path("logs")
        script = "id -u; ulimit -c; cat /proc/self/oom_score_adj; chrt -p $$; env; ls /proc/self/fd; sleep 9; exit"
        result = self.job(self.guest(script), 500, "-x", f"MEANTIME_GUEST_LOG={log}",
                          env=dict(self.environment, OMPI_MCA_x="1", SECRET_TOKEN="1", LC_ALL="C"))
        self.assertEqual(result.status, 0, result)
        text = file_text(os.path.join(log, "guest-0.log"))
        self.assertIn("SCHED_IDLE", text)
        self.assertIn("\n1000\n", text)
        self.assertIn("LC_ALL=C", text)
        self.assertIn("MEANTIME_GUEST_INDEX=0", text)
        for name in ("SECRET", "OMPI_", "PMI_", "MEANTIME_SEGMENT", "MEANTIME_TEST_MARK"):
            self.assertNotIn(name, text)
        # 0, 1, 2, its counter, and the folder that ls reads.
        self.assertEqual(re.findall(r"^\d$", text, re.M)[-5:], ["0", "1", "2", "3", "4"])

    def test_asked_politely_then_less_so(self):
        log = self.path("logs")
        script = "trap \"echo int\" INT; trap \"echo term\" TERM; while :; do sleep 0.01; done"
        began = time.monotonic()
        result = self.job(self.guest(script), 300, "-x", "MEANTIME_GUEST_GRACE=300000",
                          "-x", f"MEANTIME_GUEST_LOG={log}")
        self.assertEqual(result.status, 0, result)
        self.assertGreater(time.monotonic() - began, 0.8)
        said = [line for line in file_text(os.path.join(log, "guest-0.log")).splitlines() if line in ("int", "term")]
        self.assertEqual(said, ["int", "term"])

    def test_one_that_ends_by_itself(self):
        guests, result = self.report(self.guest("echo first; echo units 5; exit 3"), 300)
        self.assertEqual([(one["starts"], one["status"], one["units"]) for one in guests["each"]][0], (1, 3, 5))
        self.assertIn("guest 0 ended with status 3: units 5", result.error)

    def test_frozen_where_nobody_waits(self):
        """The last rank only seems to compute, so that a CPU is free for the guest."""
        for ranks in (1, 2):
            for freeze in ((), ("--guest-freeze",)):
                with self.subTest(ranks=ranks, freeze=freeze):
                    guests, _ = self.report("primes", 1000, *freeze, ranks=ranks)
                    had = sum(one["cpu"] for one in guests["each"])
                    waiting = ranks - 1 if freeze else len(guests["each"])
                    self.assertLess(had, waiting + 0.3)
                    if waiting == 1:
                        self.assertGreater(had, 0.05)

    def test_ranks_may_know(self):
        program = self.path("guest_variables")
        subprocess.run([MPICC, *CFLAGS, os.path.join(SOURCE, "tests", "launch", "guest_variables.c"), "-o", program],
                       check=True)
        result = self.run_job("--guest", "primes", "-n", 1, program)
        self.assertEqual(result.status, 0, result)
        milliseconds, units, running = map(int, result.output.split())
        self.assertGreater(milliseconds, 0)
        self.assertGreater(units, 0)
        self.assertEqual(running, 1)

    def test_started_again(self):
        guests, _ = self.report(self.guest("echo units 1"), 600, "-x", "MEANTIME_GUEST_AGAIN=1")
        self.assertGreater(guests["each"][0]["starts"], 1)
        self.assertEqual(guests["each"][0]["units"], guests["each"][0]["starts"])

    def test_too_many_processes(self):
        script = "for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait"
        _, result = self.report(self.guest(script), 700, "-x", "MEANTIME_GUEST_PROCESSES=4")
        self.assertIn("guest 0 was ended: it took more than 4 processes", result.error)

    def test_children_that_outlive_it(self):
        script = "setsid sh -c \"sleep 60\" " + self.word + " & exit 0"
        result = self.job(self.guest(script), 500)
        self.assertEqual(result.status, 0, result)

    def test_memory(self):
        script = "exec python3 -c \"x = [bytearray(1 << 20) for i in range(4000)]\""
        _, result = self.report(self.guest(script), 1500, "-x", "MEANTIME_GUEST_MEMORY=64M")
        self.assertIn("guest 0 ended with status 1: MemoryError", result.error)

    def test_a_flood_of_output(self):
        guests, result = self.report(self.guest("exec yes"), 500)
        self.assertEqual(result.output, "")

    def test_a_long_file(self):
        log = self.path("logs")
        result = self.job(self.guest("exec yes"), 700, "-x", "MEANTIME_GUEST_FILE=1M", "-x", f"MEANTIME_GUEST_LOG={log}")
        self.assertIn("signal 25", result.error)
        self.assertLessEqual(os.path.getsize(os.path.join(log, "guest-0.log")), 1 << 20)

    def test_gone_with_a_job_that_fails(self):
        for end, status in (("exit", 7), ("abort", 9), ("crash", 128 + signal.SIGSEGV)):
            with self.subTest(end=end):
                result = self.run_job("--guest", self.guest("sleep 60; exit"), "-n", 2, self.program, 200, end)
                self.assertEqual(result.status, status, result)

    def guests(self):
        return processes_named(self.word, but=("mpiexec", "meantime-job", "meantime-guests"))

    def start_with_guests(self, script="trap : INT TERM; while :; do sleep 1 & wait; done"):
        job = self.start("--guest", self.guest(script), "-n", 2, self.program, 60000)
        self.addCleanup(job.kill)
        self.wait_for(self.guests, "guests")
        return job

    def test_gone_when_mpiexec_is_killed(self):
        job = self.start_with_guests()
        job.kill()
        job.communicate(timeout=60)

    def test_gone_when_the_supervisor_is_killed(self):
        job = self.start_with_guests()
        os.kill(children(job.pid)[0], signal.SIGKILL)
        job.communicate(timeout=60)

    def test_gone_when_all_of_meantime_is_killed(self):
        job = self.start_with_guests("while :; do :; done" if os.geteuid() != 0 else
                                     "trap : INT TERM; while :; do sleep 1 & wait; done")
        supervisor = children(job.pid)[0]
        keepers = [pid for pid in children(supervisor) if "meantime-guests" in file_text(f"/proc/{pid}/cmdline")]
        self.assertEqual(len(keepers), 1)
        for pid in [job.pid, supervisor] + keepers:
            os.kill(pid, signal.SIGSTOP)
        for pid in [job.pid, supervisor] + keepers:
            os.kill(pid, signal.SIGKILL)
        job.communicate(timeout=60)

    def test_stopped_with_the_job(self):
        job = self.start_with_guests("sleep 60; exit")

        def states():
            return {file_text(f"/proc/{pid}/stat").rpartition(")")[2].split()[0] for pid in self.guests()}

        job.send_signal(signal.SIGTSTP)
        # D: a shell whose child was stopped between vfork and exec.
        self.wait_for(lambda: "T" in states() <= {"T", "D"}, "stopped guests")
        job.send_signal(signal.SIGCONT)
        self.wait_for(lambda: "T" not in states(), "guests that go on")
        job.terminate()
        job.communicate(timeout=60)

    def test_refused(self):
        for guest, line in (("proc:", "no command"),
                            ("proc:no-such-program", "no-such-program"),
                            ("proc:sh -c 'a", "a quote is missing"),
                            ("func:x.so", "func:x.so: No such file or directory"),
                            ("../sh", "takes proc:COMMAND"),
                            ("nobody", "takes proc:COMMAND")):
            with self.subTest(guest=guest):
                result = self.job(guest, 1)
                self.assertEqual(result.status, 1, result)
                self.assertIn(line, result.error)
                self.assertEqual(len(result.error.splitlines()), 1)

    def test_a_program_that_is_no_mpi(self):
        result = self.run_job("--guest", self.guest("sleep 60; exit"), "-n", 2, "true")
        self.assertEqual(result.status, 0, result)

    def test_what_is_said_of_guests_that_are_not_there(self):
        for option, name in (("--max-overhead=1%", "OVERHEAD"), ("--guest-freeze", "FREEZE")):
            result = self.run_job(option, "-n", 1, "true")
            self.assertEqual((result.status, result.error),
                             (0, f"mpiexec: MEANTIME_GUEST_{name} has no effect: there are no guests (--guest)\n"))

    def test_quiet(self):
        self.assertEqual(self.job("primes", 200, "-q").error, "")


if __name__ == "__main__":
    main()
