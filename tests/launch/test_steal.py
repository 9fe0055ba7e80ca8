"""Guest work beside other MPIs (meantime steal): a preload library, no change to the program. On Meantime itself always, on
Open MPI and MPICH where they are installed."""

import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from mpiexec import BUILD, CFLAGS, SOURCE, MpiexecTest, main
from test_guests import file_text, processes_named

MEANTIME = os.path.join(BUILD, "bin", "meantime")
PROGRAM = os.path.join(SOURCE, "tests", "launch", "guest_waits.c")
OURS = os.path.join(BUILD, "bin")
# Sanitizers do not like a library in front of theirs.
PLAIN = not CFLAGS


def implementations():
    """Name, compiler wrapper, launcher."""
    yield "Meantime", os.path.join(OURS, "mpicc"), os.path.join(OURS, "mpiexec")
    for name in ("openmpi", "mpich"):
        if shutil.which(f"mpicc.{name}") and shutil.which(f"mpiexec.{name}"):
            yield name, f"mpicc.{name}", f"mpiexec.{name}"


@unittest.skipUnless(PLAIN, "sanitizers")
class Steal(MpiexecTest):
    def setUp(self):
        super().setUp()
        self.word = f"guest-of-{os.getpid()}-{self.id().rpartition('.')[2]}"
        self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_rmaps_base_oversubscribe="1")

    def tearDown(self):
        self.wait_for(lambda: not processes_named(self.word), "the end of guests", 10)
        # Open MPI's own, which stay after a kill.
        for name in os.listdir(self.temporary):
            if name.startswith(("ompi.", "openmpi-")):
                shutil.rmtree(os.path.join(self.temporary, name))
        super().tearDown()

    def each(self):
        for name, compiler, launcher in implementations():
            program = self.path(f"waits-{name}")
            subprocess.run([compiler, PROGRAM, "-o", program], check=True, stderr=subprocess.DEVNULL)
            yield launcher, program

    def steal(self, *words):
        return subprocess.Popen([MEANTIME, "steal", *map(str, words)], env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def guest(self, script="trap : INT TERM; while :; do sleep 1 & wait; done"):
        return f"proc:sh -c '{script}' {self.word}"

    def test_units(self):
        for launcher, program in self.each():
            for words in ((), ("--steal", "all")):
                job = self.steal("--guest", "primes", *words, "--", launcher, "-n", 2, program, 600)
                _, said = job.communicate(timeout=100)
                self.assertEqual(job.returncode, 0, said)
                self.assertGreater(int(re.search(r"(\d+) units\n", said)[1]), 1000, said)
                if not launcher.startswith(OURS):  # whose MPI_Test sleeps itself in a series of them
                    self.assertGreater(int(re.search(r"slept for (\d+) %", said)[1]), 60, said)

    def test_messages_that_need_the_receivers_progress(self):
        """Thousands of them before the one that is waited for, on each MPI."""
        source = self.path("many.c", "#include <mpi.h>\nint main(int c, char** v) { int rank, i, x = 0;\n"
                           "MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
                           "if (rank == 0) { for (i = 0; i < 50000; ++i) MPI_Send(&i, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);\n"
                           "MPI_Send(&i, 1, MPI_INT, 1, 2, MPI_COMM_WORLD); }\n"
                           "else { MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
                           "for (i = 0; i < 50000; ++i) { MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
                           "if (x != i) MPI_Abort(MPI_COMM_WORLD, 1); } }\nMPI_Finalize(); return 0; }\n")
        for name, compiler, launcher in implementations():
            with self.subTest(mpi=name):
                program = self.path(f"many-{name}")
                subprocess.run([compiler, source, "-o", program], check=True, stderr=subprocess.DEVNULL)
                began = time.monotonic()
                job = self.steal("--guest", "primes", "--steal", "all", "--", launcher, "-n", 2, program)
                said = job.communicate(timeout=100)
                self.assertEqual(job.returncode, 0, said)
                self.assertLess(time.monotonic() - began, 20)

    def test_status_of_a_job_that_fails(self):
        for launcher, program in self.each():
            job = self.steal("--guest", self.guest(), "--", launcher, "-n", 2, program, 200, "abort")
            said = job.communicate(timeout=100)
            self.assertNotEqual(job.returncode, 0, said)
            self.wait_for(lambda: not processes_named(self.word), "the end of guests", 10)

    def test_gone_when_the_launcher_is_killed(self):
        for launcher, program in self.each():
            job = self.steal("--guest", self.guest(), "--", launcher, "-n", 2, program, 60000)
            self.wait_for(lambda: processes_named(self.word, but=(os.path.basename(launcher), "meantime-guests", "meantime-job",
                                                                   "meantime", "hydra_pmi_proxy")), "guests")
            job.send_signal(signal.SIGKILL)
            job.communicate(timeout=100)
            # Not every launcher's end ends its ranks.
            subprocess.run(["pkill", "-KILL", "-f", program], check=False)
            self.wait_for(lambda: not processes_named(self.word), "the end of guests", 10)

    def test_words_of_the_guest_are_its_own(self):
        """Whatever they look like; and what it says last is shown, not obeyed."""
        for launcher, program in self.each():
            job = self.steal("--guest", "proc:sh -c 'printf \"%s=\\033[31m\" \"$@\"; exit 3' sh control=5 detached=7 meantime-guests \"\"",
                             "--", launcher, "-n", 2, program, 300)
            _, said = job.communicate(timeout=100)
            self.assertEqual(job.returncode, 0, said)
            self.assertIn("guest 0 ended with status 3: control=5=?[31mdetached=7=?[31mmeantime-guests=?[31m=?[31m", said)
            self.assertNotIn("\033", said)

    def test_a_stopped_keeper_goes_on_at_the_end(self):
        _, compiler, launcher = next(implementations())
        program = self.path("waits")
        subprocess.run([compiler, PROGRAM, "-o", program], check=True)
        self.environment["MEANTIME_GUEST_GRACE"] = "100000"
        job = self.steal("--guest", self.guest(), "--", launcher, "-n", 2, program, 2000)
        self.wait_for(lambda: processes_named(self.word, but=("mpiexec", "meantime-job", "meantime-guests", "meantime")), "guests")
        keepers = [pid for pid in processes_named(self.word)
                   if os.path.basename(file_text(f"/proc/{pid}/cmdline").split("\0")[0]) == "meantime-guests"]
        for pid in keepers:
            os.kill(pid, signal.SIGSTOP)
        _, said = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0, said)
        self.assertIn("guests had", said)  # the order to end makes it go on

    def test_a_rank_without_it_is_named(self):
        for launcher, program in self.each():
            job = self.steal("--guest", "primes", "--", launcher, "-n", 1, program, 1, ":",
                             "-n", 1, "env", "-u", "LD_PRELOAD", program, 1)
            began = time.monotonic()
            _, said = job.communicate(timeout=100)
            self.assertNotEqual(job.returncode, 0, said)
            self.assertIn("rank 1 has not loaded the shim", said)
            self.assertLess(time.monotonic() - began, 60)

    def test_refused(self):
        for words, line, status in ((("--guest", "nobody", "--", "true"), "takes proc:COMMAND", 1),
                                    (("--guest", "primes"), "which command?", 2),
                                    (("--guest", "primes", "--", "no-such-launcher"), "no-such-launcher", 127),
                                    (("--guests", "primes", "true"), "takes no '--guests'", 2)):
            with self.subTest(words=words):
                job = self.steal(*words)
                _, said = job.communicate(timeout=100)
                self.assertEqual(job.returncode, status, said)
                self.assertIn(line, said)

    def test_nothing_without_a_guest(self):
        for launcher, program in self.each():
            job = self.steal("--", launcher, "-n", 2, program, 10)
            self.assertEqual(job.communicate(timeout=100), ("", ""))
            self.assertEqual(job.returncode, 0)


if __name__ == "__main__":
    main()
