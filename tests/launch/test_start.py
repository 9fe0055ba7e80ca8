"""From a program's name to running ranks: finding and looking at the program, what a rank finds
when it starts, many ranks and many jobs."""

import os
import re
import shutil
import subprocess
import unittest

from mpiexec import BUILD, CFLAGS, FAKE_RANK, MPIEXEC, SOURCE, MpiexecTest, main, processes_of

LIBRARY = os.path.join(BUILD, "lib", "libmpi_abi.so.1")


class Finding(MpiexecTest):
    def assert_refused(self, status, *words, parts=(), **options):
        result = self.run_job(*words, **options)
        self.assertEqual((result.status, result.output), (status, ""), result)
        self.assert_one_line(result, *parts)
        self.assert_quick(result.seconds)

    def test_missing(self):
        self.assert_refused(127, "-n", 4, "./missing", parts=("'./missing'", "no such file"))
        self.assert_refused(127, "-n", 4, "missing-program", parts=("'missing-program'", "PATH"))
        self.assert_refused(127, "-n", 4, "", parts=("PATH",))

    def test_second_program_missing(self):
        self.assert_refused(127, "echo", "started", ":", "./missing", parts=("'./missing'",))

    def test_directory(self):
        self.assert_refused(126, "-n", 4, self.folder.name, parts=("is a directory",))

    def test_no_regular_file(self):
        path = self.path("fifo")
        os.mkfifo(path, 0o755)
        for name in (path, "/dev/null"):
            self.assert_refused(126, "-n", 4, name, timeout=60, parts=("not a regular file",))

    def test_not_executable(self):
        path = self.path("program", "#!/bin/sh\n", mode=0o644)
        self.assert_refused(126, path, parts=("not executable",))
        self.assert_refused(126, "program", parts=("not executable",),
                            env=dict(self.environment, PATH=self.folder.name))

    def test_bare_name_in_this_folder(self):
        self.path("program", "#!/bin/sh\necho here\n")
        self.assert_refused(127, "program", parts=("did you mean ./program?",), cwd=self.folder.name)
        self.assertEqual(self.run_job("./program", cwd=self.folder.name).output, "here\n")

    def test_path_of_the_job(self):
        self.path("program", "#!/bin/sh\necho found $1\n")
        result = self.run_job("-x", f"PATH={self.folder.name}:/usr/bin:/bin", "program", "it")
        self.assertEqual(result.output, "found it\n")

    def test_text_without_an_interpreter(self):
        path = self.path("program", "echo by the shell $MEANTIME_RANK $1\n")
        self.assertEqual(self.run_job("-n", 1, path, "x").output, "by the shell 0 x\n")
        self.assertEqual(self.run_job("-n", 1, self.path("empty", "")).status, 0)

    def test_not_a_program(self):
        for data in (b"\x7fELF\0\0\0", b"\0\1\2\3" * 100, b"\x7fELF\x02\x01\x01" + b"\0" * 60,
                     b"\x7fELF\x02\x01\x01" + b"\xff" * 300):
            path = self.path("program", data)
            self.assert_refused(126, "-n", 3, path, parts=("cannot run", ": it is "))

    def test_another_processor(self):
        with open("/bin/true", "rb") as file:
            program = bytearray(file.read())
        for machine, width, name in ((183, 2, "64-bit Arm"), (3, 1, "32-bit x86")):
            program[4], program[18:20] = width, machine.to_bytes(2, "little")
            path = self.path("program", bytes(program))
            self.assert_refused(126, "-n", 2, path, parts=(f"it is a program for {name}, and this machine is ",))
            self.assert_refused(1, "--as", "threads", "-n", 2, path, parts=(f"it is a program for {name}, ",))

    def test_missing_interpreter(self):
        path = self.path("program", "#!/no/such/interpreter\n")
        self.assert_refused(127, "-n", 3, path, parts=("interpreter",))

    def test_damaged_programs_do_not_hurt(self):
        """Inspection reads files that anybody may have written."""
        with open(FAKE_RANK, "rb") as file:
            good = file.read()
        for cut in (64, 100, 500, 1000, 4096, len(good) // 2):
            self.run_job(self.path("program", good[:cut]), timeout=60)
        for place in range(16, 1024, 13):
            bad = bytearray(good)
            bad[place:place + 8] = b"\xff" * 8
            status = self.run_job(self.path("program", bytes(bad)), "exit=0", timeout=60).status
            self.assertNotEqual(status, -11, place)


@unittest.skipUnless(shutil.which("cc"), "no C compiler")
class Libraries(MpiexecTest):
    MAIN = r"""
        #include <stdio.h>
        #include <string.h>
        int which(void);
        int main(void) {
          char line[4096];
          FILE* maps = fopen("/proc/self/maps", "r");
          while (fgets(line, sizeof line, maps))
            if (strstr(line, "libmpi_abi")) { fputs(strchr(line, '/'), stdout); break; }
          return 0;
        }"""

    def compile(self, name, text, *flags):
        output = self.path(name)
        subprocess.run(["cc", *CFLAGS, "-x", "c", "-", "-o", output, "-Wl,--no-as-needed", "-x", "none", *flags],
                       input=text.encode(), check=True)
        return output

    def library(self, name, folder="other", text="int which(void) { return 1; }", flags=()):
        os.makedirs(os.path.join(self.folder.name, folder), exist_ok=True)
        return self.compile(f"{folder}/{name}", text, "-shared", "-fPIC", f"-Wl,-soname,{name}", *flags)

    def test_other_mpis_are_refused(self):
        for name, words in (("libmpi.so.40", "Open MPI"), ("libmpi.so.12", "MPICH"),
                            ("libmpich.so.12", "MPICH"), ("libmpi.so.20", "Open MPI")):
            program = self.compile("program", self.MAIN, self.library(name))
            result = self.run_job("-n", 4, program)
            self.assertEqual((result.status, result.output), (1, ""), result)
            self.assert_one_line(result, name, words, "mpicc")

    def test_other_mpi_through_a_library(self):
        mpi = self.library("libmpi.so.40")
        middle = self.library("libmiddle.so", flags=("-Wl,--no-as-needed", mpi))
        program = self.compile("program", self.MAIN, middle,
                               f"-Wl,--enable-new-dtags,-rpath,{self.folder.name}/other",
                               "-Wl,--allow-shlib-undefined")
        result = self.run_job(program)
        self.assertEqual(result.status, 1)
        self.assert_one_line(result, "libmpi.so.40", "libmiddle.so")

    def test_scripts_are_not_inspected(self):
        path = self.path("script", "#!/bin/sh\necho libmpi.so.40\n")
        self.assertEqual(self.run_job(path).output, "libmpi.so.40\n")

    def test_other_mpi_loaded_later(self):
        """As an interpreter's module loads it: each rank is a job of its own there, and ends well."""
        mpi = self.library("libmpi.so.40")
        program = self.compile("loads", r"""
            #include <dlfcn.h>
            #include <stdlib.h>
            #include <unistd.h>
            int main(int count, char** words) {
              if (!dlopen(words[1], RTLD_NOW)) return 9;
              sleep(2);
              return atoi(words[2]);
            }""", "-ldl")
        for code in (0, 3):
            result = self.run_job("-n", 2, program, mpi, code)
            self.assertEqual((result.status, result.output), (code or 1, ""), result)
            self.assert_one_line(result, "loaded another MPI library", "libmpi.so.40", "--no-cache-dir --force-reinstall --no-binary mpi4py mpi4py)")
        other = self.library("libmpiece.so")
        result = self.run_job("-n", 2, program, other, 0)
        self.assertEqual((result.status, result.error), (0, ""), result)

    @unittest.skipUnless(os.path.exists(LIBRARY), "no library in this build")
    def test_another_abi_library_gives_way_to_ours(self):
        other = self.library("libmpi_abi.so.1")
        program = self.compile("program", self.MAIN, other,
                               f"-Wl,--enable-new-dtags,-rpath,{self.folder.name}/other")
        own = subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout.decode()
        self.assertEqual(own.strip(), other)
        result = self.run_job("-n", 2, program)
        self.assertEqual(result.status, 0, result)
        for line in result.output.split():
            self.assertTrue(os.path.samefile(line, LIBRARY), result)
        # Even where the user's own LD_LIBRARY_PATH names the other one.
        result = self.run_job("-n", 1, program, env=dict(
            self.environment, LD_LIBRARY_PATH=f"{self.folder.name}/other"))
        self.assertTrue(os.path.samefile(result.output.strip(), LIBRARY), result)

    def test_old_run_path_to_another_abi_library(self):
        other = self.library("libmpi_abi.so.1")
        program = self.compile("program", self.MAIN, other,
                               f"-Wl,--disable-new-dtags,-rpath,{self.folder.name}/other")
        result = self.run_job("-n", 2, program)
        self.assertEqual((result.status, result.output), (1, ""), result)
        self.assert_one_line(result, other, "DT_RPATH", "rebuild")

    @unittest.skipUnless(os.path.exists(LIBRARY), "no library in this build")
    def test_library_path_is_left_alone_when_not_needed(self):
        program = self.compile("program", "#include <stdlib.h>\n#include <stdio.h>\nint main(void) {"
                               'puts(getenv("LD_LIBRARY_PATH") ? "set" : "unset"); return 0; }',
                               LIBRARY, f"-Wl,--enable-new-dtags,-rpath,{BUILD}/lib")
        environment = dict(self.environment)
        environment.pop("LD_LIBRARY_PATH", None)
        self.assertEqual(self.run_job(program, env=environment).output, "unset\n")

    @unittest.skipUnless(os.path.exists(LIBRARY), "no library in this build")
    def test_missing_calls_are_named(self):
        with open(os.path.join(SOURCE, "src/launch/generated/missing_calls.h")) as file:
            missing = re.findall(r'"(MPI_\w+)"', file.read())
        if not missing:
            self.skipTest("no call is missing")
        call = missing[0]
        program = self.compile("program", f"int {call}(void); int main(int n, char** v) {{"
                               f"return n > 5 ? {call}() : 0; }}", LIBRARY,
                               f"-Wl,--enable-new-dtags,-rpath,{BUILD}/lib")
        result = self.run_job("-n", 2, program)
        self.assertEqual(result.status, 0)
        self.assert_one_line(result, call, "does not have yet")
        self.assertEqual(self.run_job("-q", "-n", 2, program).error, "")
        # A library has calls for many programs.
        library = self.compile("libcalls.so", f"int {call}(void); int calls(void) {{ return {call}(); }}", LIBRARY,
                               "-shared", "-fPIC")
        user = self.compile("user", "int calls(void); int main(int n, char** v) { return n > 5 ? calls() : 0; }", library,
                            LIBRARY, f"-Wl,--no-as-needed,--enable-new-dtags,-rpath,{BUILD}/lib:{os.path.dirname(library)}")
        self.assertEqual(self.run_job("-n", 2, user).error, "")
        self.assertIn(f"does not have yet: {call}\n", self.run_job("-v", "-n", 2, user).error)
        command = subprocess.run([os.path.join(BUILD, "bin", "meantime"), "missing", program],
                                 stdout=subprocess.PIPE)
        self.assertIn(call.encode(), command.stdout)

    def test_a_start_is_fast(self):
        # It takes milliseconds. Seconds would be a wait that nobody meant; less would test how busy
        # the machine is.
        best = min(self.run_job("-n", 1, "true").seconds for _ in range(5))
        self.assertLess(best, 3)


class Contract(MpiexecTest):
    """What a rank finds."""

    def test_variables(self):
        result = self.run_job("-n", 2, "env")
        for rank in range(2):
            self.assertIn(f"MEANTIME_RANK={rank}\n", result.output)
            self.assertIn(f"MPI_LOCALRANKID={rank}\n", result.output)
        self.assertIn("MEANTIME_SIZE=2\n", result.output)
        self.assertEqual(result.output.count("MPI_LOCALNRANKS=2\n"), 2)
        workers = int(re.search(r"MEANTIME_WORKERS=(\d+)", result.output)[1])
        self.assertTrue(1 <= workers <= len(os.sched_getaffinity(0)))

    def test_variables_in_a_job_in_a_job(self):
        result = self.run_job("-n", 2, "sh", "-c", f'{MPIEXEC} -n 1 sh -c "echo \\$MPI_LOCALRANKID \\$MPI_LOCALNRANKS"')
        self.assertEqual(result.output, "0 1\n" * 2)

    def test_workers_follow_the_mask(self):
        cpu = min(os.sched_getaffinity(0))
        result = self.run_job("sh", "-c", "echo $MEANTIME_WORKERS",
                              preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        self.assertEqual(result.output, "1\n")

    def test_binding(self):
        script = "echo $MEANTIME_RANK $(grep Cpus_allowed_list /proc/self/status)"
        cpus = sorted(os.sched_getaffinity(0))
        result = self.run_job("-n", 3, "sh", "-c", script)
        self.assertEqual(len({line.split()[2] for line in result.output.splitlines()}), 1)
        result = self.run_job("--bind", "hwthread", "-n", 2 * len(cpus), "sh", "-c", script)
        places = [line.split()[2] for line in sorted(result.output.splitlines(),
                                                     key=lambda line: int(line.split()[0]))]
        self.assertEqual(places[:len(cpus)], places[len(cpus):])
        self.assertEqual(sorted(places[:len(cpus)]), sorted(map(str, cpus)))

    def bound(self, *words):
        """The CPUs of each rank, in their order."""
        result = self.run_job(*words, "sh", "-c", "echo $MEANTIME_RANK $(grep Cpus_allowed_list /proc/self/status)")
        self.assertEqual((result.status, result.error), (0, ""), result)
        places = {}
        for line in result.output.splitlines():
            rank, _, cpus = line.split()
            places[int(rank)] = set()
            for part in cpus.split(","):
                first, _, last = part.partition("-")
                places[int(rank)] |= set(range(int(first), int(last or first) + 1))
        return [places[rank] for rank in range(len(places))]

    def test_binding_to_a_list(self):
        cpus = sorted(os.sched_getaffinity(0))
        first, last = cpus[0], cpus[-1]
        for option in ("-bind-to", "--bind", "-binding"):
            self.assertEqual(self.bound(option, f"user:{last},{first}", "-n", 3), [{last}, {first}, {last}])
        self.assertEqual(self.bound("--bind", f"user:{first}+{last},{last}", "-n", 2), [{first, last}, {last}])
        for word, part in (("user:", "wants a CPU"), ("user", "wants a CPU"), (f"user:{first},,{last}", "wants a CPU"),
                           ("user:0,", "wants a CPU"), ("user:x", "'x' is no CPU's number"),
                           ("user:-1", "'-1' is no CPU's number"), ("user:99999", "is no CPU's number"),
                           ("board", "not 'board'"), ("core:0", "number of CPUs"), (f"user:{first}+", "wants a CPU"),
                           (f"user:{first}+,{last}", "wants a CPU"), ("core:-1", "number of CPUs"), ("core:", "number of CPUs"),
                           ("core:+2", "number of CPUs")):
            result = self.run_job("--bind", word, "true")
            self.assertEqual(result.status, 2, word)
            self.assert_one_line(result, part)
        # Waits are told how many CPUs the list has: ranks that share one must not poll on it.
        for words, workers in ((("user:%d" % first, "-n", 2), 1), ((f"user:{first},{first},{last}", "-n", 2), 1),
                               ((f"user:{first},{last}", "-n", 1), 1), ((f"user:{first},{last}", "-n", 3), len({first, last}))):
            result = self.run_job("-v", "--bind", *words, "sh", "-c", "echo $MEANTIME_WORKERS")
            self.assertEqual(set(result.output.split()), {str(workers)}, words)
            self.assertEqual("ranks share CPUs: --bind user has" in result.error, int(words[2]) > workers, result.error)
        result = self.run_job("--bind", "user:1023", "true")
        self.assertEqual(result.status, 1)
        self.assert_one_line(result, "CPU 1023 is not one of those that this job may use")

    def test_several_cpus_for_each_rank(self):
        single = self.bound("--bind", "core", "-n", len(os.sched_getaffinity(0)))
        cores = [core for i, core in enumerate(single) if core not in single[:i]]
        two = [cores[2 * rank % len(cores)] | cores[(2 * rank + 1) % len(cores)] for rank in range(3)]
        for words in (("--map-by", "slot:PE=2"), ("--map-by", "ppr:2:socket:pe=2"), ("--map-by", "core:PE=2,OVERSUBSCRIBE"),
                      ("--cpus-per-rank", 2), ("--cpus-per-proc", 2, "--bind-to", "core"), ("-bind-to", "core:2")):
            self.assertEqual(self.bound(*words, "-n", 3), two, words)
        self.assertEqual(self.bound("--cpus-per-rank", 1, "-n", len(single)), single)
        # The last one counts, as a whole.
        for words in (("--bind", "core:2", "--bind", "core"), ("--bind", "core:2", "--bind", f"user:{min(single[0])}", "-bind-to", "core")):
            self.assertEqual(self.bound(*words, "-n", len(single)), single, words)
        self.assertEqual(self.bound("--bind", "socket:2", "--cpus-per-rank", 2, "-bind-to", "core:1", "-n", 3), two)
        self.assertEqual(self.bound("--bind", "hwthread", "--cpus-per-rank", 1024, "-n", 1),
                         self.bound("--bind", "none", "--cpus-per-rank", 2, "-n", 1))
        enough = self.run_job("-v", "--cpus-per-rank", len(cores), "-n", 1, "true")
        self.assertNotIn("ranks share CPUs", enough.error)
        crowded = self.run_job("-v", "--cpus-per-rank", len(cores), "-n", 2, "true")
        self.assertIn(f"ranks share CPUs: 2 x {len(cores)} places are more than the {len(cores)} there are\n", crowded.error)
        for each, too_few in ((len(cores), False), (len(cores) + 1, True)):
            result = self.run_job("-v", "--cpus-per-rank", each, "-n", 1, "true")
            self.assertEqual(f", not {each}: there are no more\n" in result.error, too_few, result.error)
        ignored = self.run_job("-v", "--cpus-per-rank", 2, "--bind", "numa", "true")
        self.assertIn("ignored beside --bind numa", ignored.error)
        for words in (("--cpus-per-rank", "x"), ("--cpus-per-proc", 0), ("--map-by", "slot:PE=")):
            result = self.run_job(*words, "true")
            self.assertEqual(result.status, 2)
            self.assert_one_line(result, "wants a number of CPUs")
        self.assert_one_line(self.run_job("--map-by", "PE=x\n\033[1m", "true"), "--map-by PE=x")

    def test_descriptors(self):
        """Standard ones and the three of the contract, nothing else of mpiexec's."""
        for options in ((), ("-l",)):
            result = self.run_job(*options, "-n", 5, "sh", "-c", "exec ls -l /proc/self/fd")
            numbers = re.findall(r" (\d+) -> (\S+)", result.output)
            kept = [(int(n), target) for n, target in numbers
                    if not target.startswith(("/proc/", "/dev/urandom"))]
            self.assertEqual(sorted({n for n, _ in kept}), [0, 1, 2, 20, 21, 22], result)

    def test_descriptors_given_to_mpiexec_arrive(self):
        with open("/dev/zero") as file:
            result = self.run_job("-n", 1, "sh", "-c", f"readlink /proc/self/fd/{file.fileno()}",
                                  pass_fds=[file.fileno()])
        self.assertEqual(result.output, "/dev/zero\n")

    def test_scripts_may_use_small_numbers(self):
        result = self.run_job("-n", 2, "bash", "-c",
                              f"exec 3>/dev/null 4>&3 9>&1; exec {FAKE_RANK} init finalize print=ok")
        self.assertEqual((result.status, result.output), (0, "ok\nok\n"), result)

    def test_signals_are_as_they_were(self):
        script = "grep -E 'Sig(Blk|Ign)' /proc/self/status"
        outside = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE).stdout.decode()
        inside = self.run_job("-n", 1, "sh", "-c", script, start_new_session=True).output
        self.assertEqual(inside, outside)

    def test_limits_are_as_they_were(self):
        for limit in ("-c", "-n", "-s", "-u"):
            words = ("bash", "-c", f"ulimit {limit}")
            outside = subprocess.run(words, stdout=subprocess.PIPE).stdout.decode()
            self.assertEqual(self.run_job(*words).output, outside)

    def test_no_other_launchers_variables(self):
        environment = dict(self.environment, PMI_RANK="3", PMI_SIZE="8", OMPI_COMM_WORLD_RANK="2",
                           PMIX_RANK="1")
        result = self.run_job("-n", 1, "env", env=environment)
        self.assertIsNone(re.search(r"^(PMI_RANK|PMI_SIZE|OMPI_COMM|PMIX)", result.output, re.M))

    def test_mpiexec_in_a_rank(self):
        result = self.run_job("-n", 2, "sh", "-c", f"{MPIEXEC} -n 2 {FAKE_RANK} init finalize print=x")
        self.assertEqual((result.status, result.output), (0, "x\n" * 4), result)


class Many(MpiexecTest):
    def test_64_ranks(self):
        result = self.run_job("-n", 64, FAKE_RANK, "init", "finalize")
        self.assertEqual((result.status, result.error), (0, ""))

    def test_500_ranks(self):
        result = self.run_job("-n", 500, FAKE_RANK, "init", "finalize", timeout=60)
        self.assertEqual((result.status, result.error), (0, ""))

    def test_no_room_for_more_processes(self):
        # As a user without privileges, whose number of processes the kernel bounds.
        if os.getuid() != 0:
            self.skipTest("needs root to become somebody else")
        os.chmod(self.folder.name, 0o755)
        for path in (MPIEXEC,):
            folder = os.path.dirname(path)
            while folder != "/":
                if not os.stat(folder).st_mode & 1:
                    self.skipTest(f"{folder} is closed to others")
                folder = os.path.dirname(folder)

        def somebody_else(most=20):
            import resource
            os.setgid(65534)
            os.setuid(64321)
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))

        result = self.run_job("-n", 64, "sleep", 20, preexec_fn=somebody_else)
        self.assertEqual(result.status, 1, result)
        self.assert_one_line(result, "cannot start rank", "of 64")
        # Not even for mpiexec's own: then nothing is left of its report either.
        folder = self.path("of_all")
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        # (The search for leaks starts a process as well.)
        sanitizer = self.environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        result = self.run_job(f"--report={folder}/report", "true", preexec_fn=lambda: somebody_else(1),
                              env=dict(self.environment, ASAN_OPTIONS=sanitizer))
        self.assertEqual(result.status, 1, result)
        self.assert_one_line(result, "cannot start a process")
        self.assertEqual(os.listdir(folder), [])

    def test_eight_at_once(self):
        jobs = [self.start("-n", 4, FAKE_RANK, "init", "finalize", f"print=job{i}") for i in range(8)]
        for i, job in enumerate(jobs):
            output, error = job.communicate(timeout=30)
            self.assertEqual((job.returncode, output, error), (0, b"job%d\n" % i * 4, b""))

    def test_a_thousand_runs(self):
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(100 if CFLAGS else 1000):  # a sanitized start takes its time
            status = subprocess.run([MPIEXEC, "-n", "2", "true"], env=self.environment,
                                    timeout=60).returncode
            self.assertEqual(status, 0)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)
        self.assertEqual(processes_of(self.mark), {})


if __name__ == "__main__":
    main()
