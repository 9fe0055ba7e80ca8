"""Guest work beside other MPIs (meantime steal): a preload library, no change to the program. On Meantime itself always, on
Open MPI and MPICH where they are installed."""

import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from mpiexec import BUILD, CFLAGS, SOURCE, MpiexecTest, foreign_files, main
from test_guest_function import COUNTS, compiled_library
from test_guests import file_text, processes_named

MEANTIME = os.path.join(BUILD, "bin", "meantime")
PROGRAM = os.path.join(SOURCE, "tests", "launch", "guest_waits.c")
OURS = os.path.join(BUILD, "bin")
SHIM = os.path.join(BUILD, "libexec", "meantime", "libmeantime-steal.so")
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
        self.enterContext(foreign_files.taken_away())
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

    def test_ranks_that_share_cpus_wait_as_their_mpi_does(self):
        """Timers instead of the MPI's yields made a job a hundred times slower."""
        ranks = os.cpu_count() + 2
        for launcher, program in self.each():
            if launcher.startswith(OURS):
                continue
            more = ("--oversubscribe",) if "openmpi" in launcher else ()
            job = self.steal("--guest", "primes", "--steal", "all", "--", launcher, *more, "-n", ranks, program, 100)
            _, said = job.communicate(timeout=100)
            self.assertEqual(job.returncode, 0, said)
            self.assertIn(f"meantime steal: {ranks} ranks share {os.cpu_count()} CPUs: they wait as their MPI does", said)
            self.assertIn(" and slept for 0 % of it\n", said)

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

    def each_of(self, name, text, *, cpp=False):
        """A program of the test's own on each MPI."""
        source = self.path(f"{name}.{'cpp' if cpp else 'c'}", text)
        for mpi, compiler, launcher in implementations():
            program = self.path(f"{name}-{mpi}")
            if cpp:
                compiler = compiler.replace("mpicc", "mpicxx")
            subprocess.run([compiler, source, "-o", program], check=True, stderr=subprocess.DEVNULL)
            yield mpi, launcher, program

    def all_end_well(self, name, text, *words, cpp=False, times=1):
        for mpi, launcher, program in self.each_of(name, text, cpp=cpp):
            for _ in range(times):
                job = self.steal("--guest", "primes", *words, "--", launcher, "-n", 2, program)
                said = job.communicate(timeout=100)
                self.assertEqual(job.returncode, 0, (mpi, said))

    def test_mpi_ends_in_a_static_object(self):
        """When what a thread had of its own is destroyed."""
        text = ("#include <mpi.h>\n#include <unistd.h>\n#include <cstdlib>\n#include <cstring>\n"
                "struct Guard { ~Guard() { int r; MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
                "for (int i = 0; i < 20; ++i) { void* p[50]; for (int k = 0; k < 50; ++k) std::memset(p[k] = std::malloc(8 + k * 8), 0x5a, 8);\n"
                "if (r == 0) usleep(2000); MPI_Barrier(MPI_COMM_WORLD); for (void* one : p) std::free(one); } MPI_Finalize(); } } guard;\n"
                "int main(int c, char** v) { MPI_Init(&c, &v); MPI_Barrier(MPI_COMM_WORLD); }\n")
        self.all_end_well("guard", text, cpp=True, times=3)

    def test_both_forms_of_a_collective_meet(self):
        text = ("#include <mpi.h>\nint main(int c, char** v) { int r, x = 0; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
                "#if MPI_VERSION >= 4\nif (r == 0) { x = 42; MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD); }\n"
                "else MPI_Bcast_c(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);\nif (x != 42) MPI_Abort(MPI_COMM_WORLD, 1);\n#endif\n"
                "MPI_Finalize(); return 0; }\n")
        self.all_end_well("forms", text)

    def test_from_nobody(self):
        text = ("#include <mpi.h>\n#include <string.h>\nint main(int c, char** v) { int x = 0; MPI_Status s; MPI_Init(&c, &v);\n"
                "memset(&s, 0x33, sizeof s); MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &s);\n"
                "if (s.MPI_SOURCE != MPI_PROC_NULL || s.MPI_TAG != MPI_ANY_TAG) MPI_Abort(MPI_COMM_WORLD, 1);\n"
                "memset(&s, 0x33, sizeof s); MPI_Probe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &s);\n"
                "if (s.MPI_SOURCE != MPI_PROC_NULL) MPI_Abort(MPI_COMM_WORLD, 2); MPI_Finalize(); return 0; }\n")
        self.all_end_well("nobody", text, "--steal", "all")

    def test_a_tool_of_the_user_s_comes_first(self):
        tool = self.path("tool.c", "#include <stdio.h>\nint PMPI_Barrier(void*);\nint MPI_Barrier(void* comm) { fputs(\"tool\\n\", stderr); return PMPI_Barrier(comm); }\n")
        library = self.path("tool.so")
        subprocess.run(["gcc", "-shared", "-fPIC", tool, "-o", library], check=True)
        self.environment["LD_PRELOAD"] = library
        for launcher, program in self.each():
            job = self.steal("--guest", "primes", "--", launcher, "-n", 2, program, 200)
            _, said = job.communicate(timeout=100)
            self.assertEqual(job.returncode, 0, said)
            self.assertEqual(said.count("tool\n"), 2, said)
            self.assertGreater(int(re.search(r"(\d+) units\n", said)[1]), 1000, said)

    def test_variables_by_open_mpi_s_option(self):
        if not shutil.which("mpiexec.openmpi"):
            self.skipTest("no Open MPI")
        job = self.steal("--guest", "primes", "--", "mpiexec.openmpi", "-x", "NAME=VALUE", "-n", 1, "true")
        said = job.communicate(timeout=100)
        self.assertEqual(job.returncode, 0, said)

    def test_a_forked_child_keeps_no_guest(self):
        text = ("#include <mpi.h>\n#include <signal.h>\n#include <unistd.h>\nint main(int c, char** v) { int r; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
                "MPI_Barrier(MPI_COMM_WORLD); if (r == 0) { if (fork() == 0) { setsid(); signal(SIGTERM, SIG_IGN); for (int d = 0; d < 3; ++d) close(d); sleep(8); _exit(0); }\n"
                "kill(getpid(), SIGKILL); } MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); }\n")
        for mpi, launcher, program in self.each_of("forks", text):
            job = self.steal("--guest", self.guest(), "--", launcher, "-n", 2, program)
            said = job.communicate(timeout=100)
            self.assertNotEqual(job.returncode, 0, (mpi, said))
            self.wait_for(lambda: not processes_named(self.word), f"the end of guests beside {mpi}", 4)
            subprocess.run(["pkill", "-KILL", "-f", program], check=False)

    def test_status_of_a_job_that_fails(self):
        for launcher, program in self.each():
            job = self.steal("--guest", self.guest(), "--", launcher, "-n", 2, program, 200, "abort")
            said = job.communicate(timeout=100)
            self.assertNotEqual(job.returncode, 0, said)
            self.wait_for(lambda: not processes_named(self.word), "the end of guests", 10)

    def test_told_of_a_job_that_fails(self):
        """The rank that is dead can tell nothing."""
        for name, launcher, program in self.each_of("crash", "#include <mpi.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
                                                    "int main(int c, char** v) { MPI_Init(&c, &v); usleep(300000); abort(); }\n"):
            with self.subTest(mpi=name):
                job = self.steal("--guest", "primes", "--", launcher, "-n", 1, program)
                _, said = job.communicate(timeout=60)
                self.assertRegex(said, r"the job ended without MPI_Finalize; \d+ guests? had .* [1-9]\d* units")

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
            self.assertIn("rank 1 has not loaded the shim", said, (launcher, job.returncode))
            self.assertLess(time.monotonic() - began, 60)

    def function_had(self, guest, *words, status=0):
        """A guest function on each MPI: what was said."""
        for launcher, program in self.each():
            job = self.steal("--guest", guest, "--steal", "all", *words, "--", launcher, "-n", 2, program, 500)
            _, said = job.communicate(timeout=100)
            self.assertEqual(job.returncode != 0, status != 0, said)
            yield launcher, said

    def test_function(self):
        guest = compiled_library(self, COUNTS)
        for launcher, said in self.function_had(guest):
            share, units = re.search(r"2 ranks waited for .* the guest function had (\d+) % of it, .* (\d+) units", said).groups()
            self.assertGreater(int(units), 2 * 10**12, said)  # finish_extrawork was called by both
            if not launcher.startswith(OURS):
                self.assertGreater(int(share), 50, said)

    def test_function_that_throws(self):
        guest = compiled_library(self, "extern \"C\" void do_extrawork() { throw 3; }\n", "cpp")
        for _, said in self.function_had(guest):
            self.assertIn("threw an exception (of an unknown type): it is not called any more", said)

    def test_function_that_ends_the_job(self):
        for call, body in (("MPI", "#include <dlfcn.h>\nvoid do_extrawork(void)"
                            " { ((int (*)(void*))dlsym(RTLD_DEFAULT, \"MPI_Barrier\"))(0); }\n"),
                           ("exit", "#include <stdlib.h>\nvoid do_extrawork(void) { exit(0); }\n")):
            guest = compiled_library(self, body)
            for launcher, said in self.function_had(guest, status=1):
                if launcher.startswith(OURS) and call == "exit":
                    continue  # its own word
                self.assertIn(f"the guest function called {call}", said)

    def test_ways_to_sleep(self):
        for mode in ("ade", "naps"):
            for launcher, program in self.each():
                job = self.steal("--guest", "primes", "--steal", "all", "--mode", mode, "--", launcher, "-n", 2, program, 300)
                _, said = job.communicate(timeout=100)
                self.assertEqual(job.returncode, 0, said)
                if not launcher.startswith(OURS):
                    self.assertGreater(int(re.search(r"slept for (\d+) %", said)[1]), 30, said)

    def test_refused(self):
        for words, line, status in ((("--guest", "nobody", "--", "true"), "takes proc:COMMAND", 1),
                                    (("--guest", "primes"), "which command?", 2),
                                    (("--guest", "func:/no/such.so", "--", "true"), "No such file", 1),
                                    (("--guest", "primes", "--mode", "dreams", "--", "true"), "dreams", 2),
                                    (("--guest", "primes", "--", "no-such-launcher"), "no-such-launcher", 127),
                                    (("--guests", "primes", "true"), "takes no '--guests'", 2)):
            with self.subTest(words=words):
                job = self.steal(*words)
                _, said = job.communicate(timeout=100)
                self.assertEqual(job.returncode, status, said)
                self.assertIn(line, said)

    def test_static_programs(self):
        program = self.path("static")
        if subprocess.run(["gcc", "-static", self.path("static.c", "int main(void) { return 0; }\n"), "-o", program],
                          stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no static libc")
        job = self.steal("--guest", "primes", "--", "env", "-n", 2, program)
        _, said = job.communicate(timeout=100)
        self.assertEqual(job.returncode, 1, said)
        self.assertIn("is static: nothing can be put in front of its MPI", said)

    def test_sends_that_wait(self):
        """As LAMMPS waits: for a receiver that comes late."""
        text = ("#include <mpi.h>\n#include <stdlib.h>\n#include <unistd.h>\nint main(int c, char** v) { enum { n = 1 << 20 }; int r; char* b = calloc(n, 1);\n"
                "MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
                "for (int i = 0; i < 2; ++i) { if (r == 0) { b[7] = 5 + i; (i ? MPI_Ssend : MPI_Send)(b, i ? 8 : n, MPI_CHAR, 1, 0, MPI_COMM_WORLD); }\n"
                "else { usleep(300000); MPI_Recv(b, n, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); if (b[7] != 5 + i) MPI_Abort(MPI_COMM_WORLD, 1); } }\n"
                "MPI_Send(b, 1, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD); MPI_Finalize(); return 0; }\n")
        for mpi, launcher, program in self.each_of("sends", text):
            job = self.steal("--guest", "primes", "--steal", "all", "--", launcher, "-n", 2, program)
            _, said = job.communicate(timeout=100)
            self.assertEqual(job.returncode, 0, said)
            if mpi != "Meantime":
                self.assertGreater(int(re.search(r"slept for (\d+) %", said)[1]), 60, said)

    def test_variables_by_hand(self):
        for launcher, program in self.each():
            line = f'eval "$({MEANTIME} steal --guest "primes" --steal all --print)"; exec {launcher} -n 2 {program} 300'
            job = subprocess.run(["sh", "-c", line], env=self.environment, text=True, capture_output=True, timeout=100, check=False)
            self.assertEqual(job.returncode, 0, job)
            self.assertRegex(job.stderr, r"2 guests had .*: \d{3,} units")

    def test_it_says_what_it_does(self):
        library = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12", "Meantime": "libmpi_abi.so.1"}
        for name, compiler, launcher in implementations():
            program = self.path(f"says-{name}")
            subprocess.run([compiler, PROGRAM, "-o", program], check=True, stderr=subprocess.DEVNULL)
            job = self.steal("-v", "--guest", "primes", "--", launcher, "-n", 2, program, 10)
            _, said = job.communicate(timeout=100)
            self.assertEqual(job.returncode, 0, said)
            self.assertIn(f"{program} needs {library[name]}; 2 guests, LD_PRELOAD={SHIM}\n", said)

    def test_misspelt_settings_are_named(self):
        self.environment["MEANTIME_GUSET_LOG"] = "x"
        job = self.steal("--guest", "primes", "--", "true")
        self.assertIn("MEANTIME_GUSET_LOG (meant MEANTIME_GUEST_LOG?)", job.communicate(timeout=60)[1])

    def test_nothing_without_a_guest(self):
        for launcher, program in self.each():
            job = self.steal("--", launcher, "-n", 2, program, 10)
            self.assertEqual(job.communicate(timeout=100), ("", ""))
            self.assertEqual(job.returncode, 0)


if __name__ == "__main__":
    main()
