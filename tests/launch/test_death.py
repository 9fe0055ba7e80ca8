"""A rank that dies or calls MPI_Abort ends the job within a second, with one line that says which
rank and why; and the exit status is what users of other MPIs expect."""

import os
import signal
import subprocess
import time

from mpiexec import FAKE_RANK, MpiexecTest, main


class Death(MpiexecTest):
    def assert_ended(self, result, status, *parts):
        self.assertEqual(result.status, status, result)
        self.assert_quick(result.seconds)
        self.assert_one_line(result, *parts)

    def test_all_fine(self):
        result = self.run_job("-n", 4, FAKE_RANK, "init", "finalize")
        self.assertEqual((result.status, result.output, result.error), (0, "", ""))

    def test_segmentation_fault(self):
        result = self.run_job("-n", 4, FAKE_RANK, "init", "only=2", "signal=11", "all", "sleep=20")
        self.assert_ended(result, 139, "rank 2 (pid ", "killed by signal 11 (Segmentation fault)")

    def test_segmentation_fault_before_init(self):
        result = self.run_job("-n", 4, FAKE_RANK, "only=2", "signal=11", "all", "sleep=20")
        self.assert_ended(result, 139, "rank 2 (pid ", "signal 11")

    def test_exit_without_finalize(self):
        result = self.run_job("-n", 3, FAKE_RANK, "init", "only=1", "exit=7", "all", "sleep=20")
        self.assert_ended(result, 7, "rank 1 (pid ", "status 7 without MPI_Finalize")

    def test_exit_0_without_finalize(self):
        result = self.run_job("-n", 3, FAKE_RANK, "init", "only=1", "exit=0", "all", "sleep=20")
        self.assert_ended(result, 1, "rank 1 (pid ", "status 0 without MPI_Finalize")

    def test_exit_before_init_while_others_are_in_mpi(self):
        for code, status in ((0, 1), (3, 3)):
            result = self.run_job("-n", 3, FAKE_RANK, "only=1", f"exit={code}", "all", "init",
                                  "sleep=20")
            self.assert_ended(result, status, "rank 1 (pid ", f"status {code} before MPI_Init")

    def test_killed_program_of_a_script(self):
        """How it ended its script is told first, and mpiexec a moment later."""
        for _ in range(10):
            result = self.run_job("-n", 3, "sh", "-c", f"{FAKE_RANK} init only=1 signal=9 all sleep=20; exit $?")
            said = result.error.splitlines()
            self.assertEqual(result.status, 137, result)
            # Or the script's own end is heard of first: it says as much.
            lines = [line for line in said if not line.startswith("Killed")]
            self.assertEqual(len(lines), 1, said)
            self.assertRegex(lines[0], r"rank 1 \(pid .*(killed by signal 9|status 137)")

    def test_abort(self):
        for code, status in ((5, 5), (0, 0), (256, 1), (300, 44), (-1, 255)):
            result = self.run_job("-n", 3, FAKE_RANK, "init", "only=0", f"abort={code}", "all",
                                  "sleep=20")
            self.assert_ended(result, status, "rank 0 (pid ", f"MPI_Abort with code {code}")

    def test_abort_text(self):
        result = self.run_job("-n", 2, FAKE_RANK, "init", "only=1", "abort=2:no input file", "all",
                              "sleep=20")
        self.assert_ended(result, 2, "rank 1 (pid ", "): no input file")

    def test_many_deaths_one_line(self):
        result = self.run_job("-n", 16, FAKE_RANK, "init", "signal=6")
        self.assert_ended(result, 134, "signal 6 (Aborted)")

    def test_after_finalize_others_go_on(self):
        result = self.run_job("-n", 3, FAKE_RANK, "init", "finalize", "only=1", "exit=9", "all",
                              "sleep=0.5", "print=done")
        self.assertEqual((result.status, result.output, result.error), (9, "done\ndone\n", ""))

    def test_signal_after_finalize(self):
        result = self.run_job("-n", 2, FAKE_RANK, "init", "finalize", "only=1", "signal=11", "all",
                              "sleep=0.3", "print=done")
        self.assertEqual((result.status, result.output), (139, "done\n"))
        self.assert_one_line(result, "rank 1", "signal 11", "after MPI_Finalize")

    def test_signals_after_finalize_one_line(self):
        result = self.run_job("-n", 8, FAKE_RANK, "init", "finalize", "signal=13")
        self.assertEqual(result.status, 141)
        self.assert_one_line(result, "signal 13", "after MPI_Finalize")

    def test_ranks_that_do_not_listen(self):
        for words in (("block=15",), ("handle=15",), ("stop",)):
            result = self.run_job("-n", 3, FAKE_RANK, "init", "only=1", "sleep=0.2", "signal=9",
                                  "all", *words, "sleep=20")
            self.assertEqual(result.status, 137, result)
            self.assert_quick(result.seconds, 1.2)

    def test_death_behind_a_script(self):
        result = self.run_job("-n", 2, "sh", "-c",
                              f"{FAKE_RANK} init only=1 sleep=0.1 signal=11 all sleep=20; sleep 20")
        self.assert_quick(result.seconds, 1.2)
        self.assertIn("rank 1 (pid ", result.error)
        # Kernels from 6.15 on tell how a process ended that is not a child.
        self.assertIn((result.status, "signal 11" in result.error,
                       "without MPI_Finalize" in result.error),
                      ((139, True, False), (1, False, True)))

    def test_second_program_in_one_rank(self):
        result = self.run_job("-n", 2, "sh", "-c", f"{FAKE_RANK} init finalize; {FAKE_RANK} init")
        self.assertEqual(result.status, 1, result)
        self.assert_one_line(result, "second MPI program")

    def test_other_version(self):
        result = self.run_job("-n", 2, FAKE_RANK, "other-version", "sleep=20")
        self.assert_ended(result, 1, "uses Meantime 0.0.0")

    def test_deadlock_report(self):
        result = self.run_job("-n", 2, FAKE_RANK, "init", "only=0", "deadlock=all wait", "all",
                              "sleep=20")
        self.assertEqual(result.status, 125, result)
        self.assert_quick(result.seconds)
        self.assertRegex(result.error, r"\Aall wait\n( +rank.*\n)+mpiexec: the job is ended .*\n\Z")

    def test_long_deadlock_report(self):
        result = self.run_job("-n", 1, FAKE_RANK, "init", f"deadlock={'x' * 100000}", "sleep=20")
        self.assertRegex(result.error, r"(?s)\Ax{1000}.*\nmpiexec: the job is ended .*\n\Z")

    def test_deadlock_report_only(self):
        result = self.run_job("--on-deadlock=report", "-n", 2, FAKE_RANK, "init", "only=0",
                              "deadlock=all wait", "all", "sleep=0.3", "finalize")
        self.assertEqual(result.status, 0, result)
        self.assertRegex(result.error, r"\Aall wait\n( +rank.*\n)+mpiexec: the job goes on\n\Z")

    def test_programs_without_mpi(self):
        self.assertEqual(self.run_job("-n", 4, "true").status, 0)
        result = self.run_job("-n", 4, "sh", "-c", "exit 3")
        self.assertEqual((result.status, result.error), (3, ""))
        result = self.run_job("-n", 3, "sh", "-c",
                              "[ $MEANTIME_RANK = 1 ] && exit 4; sleep 0.3; echo done")
        self.assertEqual((result.status, result.output), (4, "done\ndone\n"))

    def test_first_failure_counts(self):
        # Each but the last waits until the next one is gone: mpiexec knows how that ended.
        pids = self.path("pid")
        script = (f"echo $$ >{pids}.$MEANTIME_RANK.new; mv {pids}.$MEANTIME_RANK.new {pids}.$MEANTIME_RANK; "
                  f"next={pids}.$((MEANTIME_RANK + 1)); [ $MEANTIME_RANK = 2 ] || {{ "
                  "while [ ! -e $next ] || kill -0 $(cat $next) 2>/dev/null; do sleep 0.05; done; }; "
                  "exit $((10 + MEANTIME_RANK))")
        result = self.run_job("-n", 3, "sh", "-c", script)
        self.assertEqual(result.status, 12, result)

    def test_timeout(self):
        for limit in (0.5, 4, 30):  # on a busy machine it takes the ranks a while to come so far
            result = self.run_job("--timeout", limit, "-n", 2, FAKE_RANK, "init", "only=1", "finalize",
                                  "all", "sleep=60")
            if "MPI_Finalize" in result.error:
                break
        self.assertEqual(result.status, 124, result)
        self.assert_quick(result.seconds, limit + 1)
        self.assertIn(f"time limit of {limit} s", result.error)
        self.assertRegex(result.error, r"rank 0 \(pid \d+\)")
        self.assertRegex(result.error, r"rank 1 \(pid \d+\).*MPI_Finalize")

    def test_timeout_not_reached(self):
        result = self.run_job("--timeout", 20, "-n", 2, "true")
        self.assertEqual((result.status, result.error), (0, ""))

    def test_another_mpi_tells_on_itself(self):
        # What MPICH's library sends to its launcher first (PMI-1).
        greeting = "cmd=init pmi_version=1 pmi_subversion=1\n"
        result = self.run_job("-n", 2, FAKE_RANK, f"garbage={greeting}", "sleep=20")
        self.assert_ended(result, 1, "loaded another MPI library")

    def test_ends_with_the_job(self):
        # Children, orphans and daemons of ranks are not left behind, and the end is quick.
        for word in ("fork", "daemon", "thread"):
            result = self.run_job("-n", 3, FAKE_RANK, "init", word, "finalize")
            self.assertEqual((result.status, result.error), (0, ""), result)
            self.assert_quick(result.seconds)
            self.assert_nothing_left(within=0)

    def test_background_process_of_a_script(self):
        result = self.run_job("-n", 2, "sh", "-c", "trap '' TERM; sleep 30 & exit 0")
        self.assertEqual((result.status, result.error), (0, ""), result)
        self.assert_quick(result.seconds)
        self.assert_nothing_left(within=0)


class NobodyReads(MpiexecTest):
    """Standard error is full, and stays so: the job ends all the same."""

    def start_full(self, *words):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_blocking(writer, False)
        try:
            while True:
                os.write(writer, b"x")
        except BlockingIOError:
            os.set_blocking(writer, True)
        job = self.start(*words, stderr=writer)
        os.close(writer)
        return job

    def assert_ends(self, job, status, since, limit=1.0):
        try:
            self.assertEqual(job.wait(timeout=60), status)
        except subprocess.TimeoutExpired:
            job.kill()
            self.fail("mpiexec hangs")
        self.assert_quick(time.monotonic() - since, limit)
        job.stdout.close()
        self.assert_nothing_left()

    def test_death(self):
        begin = time.monotonic()
        job = self.start_full("-n", 2, FAKE_RANK, "init", "only=0", "signal=9", "all", "sleep=30")
        self.assert_ends(job, 137, begin)

    def test_death_while_others_write(self):
        begin = time.monotonic()
        job = self.start_full("-n", 2, "sh", "-c",
                              "yes >&2 & [ $MEANTIME_RANK = 0 ] && kill -9 $$; sleep 30")
        self.assert_ends(job, 137, begin)

    def test_time_limit(self):
        begin = time.monotonic()
        job = self.start_full("--timeout", 0.2, "-n", 2, FAKE_RANK, "init", "sleep=30")
        self.assert_ends(job, 124, begin, 1.2)

    def test_deadlock_report(self):
        begin = time.monotonic()
        job = self.start_full("-n", 2, FAKE_RANK, "init", "only=0", "deadlock=x", "all", "sleep=30")
        self.assert_ends(job, 125, begin)

    def test_report_asked_for(self):
        job = self.start_full("-n", 2, FAKE_RANK, "init", "print=ready", "sleep=30")
        for _ in range(2):
            self.assertEqual(job.stdout.readline(), b"ready\n")
        job.send_signal(signal.SIGQUIT)
        time.sleep(0.1)
        begin = time.monotonic()
        job.terminate()
        self.assert_ends(job, 143, begin)


if __name__ == "__main__":
    main()
