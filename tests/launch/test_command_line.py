"""Every option, ours and those that users of other launchers type from habit; odd input."""

import os
import re
import socket
import tempfile
import unittest
from pathlib import Path

from mpiexec import FAKE_RANK, SOURCE, MpiexecTest, main

OPTION_ROW = re.compile(r'\{"([^"]+)",\s*(\d),\s*Action::(\w+),\s*((?:"[^"]*"|\w+))')


def option_rows():
    """(name, arguments, action, note) of each row of the table in options.cpp."""
    with open(os.path.join(SOURCE, "src", "launch", "cli", "options.cpp")) as file:
        text = file.read()
    return [(name, int(count), action, note.strip('"'))
            for name, count, action, note in OPTION_ROW.findall(text)]


class OwnOptions(MpiexecTest):
    def assert_refused(self, *words, status=2, parts=()):
        result = self.run_job(*words)
        self.assertEqual((result.status, result.output), (status, ""), result)
        self.assert_one_line(result, *parts)

    def test_number_of_ranks(self):
        for words in (("-n", 3), ("-np", 3), ("-c", 3), ("--n", 3), ("-n3",), ("-np3",), ("-n=3",)):
            self.assertEqual(self.run_job(*words, "echo", "x").output, "x\n" * 3, words)
        self.assertEqual(self.run_job("echo", "x").output, "x\n")
        for words in (("-N", 3), ("-npernode", 3), ("-n", 3, "-N", 2), ("-N", 2, "-n", 3), ("-ppn", 3), ("-perhost", 3),
                      ("-ppn", 2, "-n", 3)):
            self.assertEqual(self.run_job(*words, "echo", "x").output, "x\n" * 3, words)

    def test_number_of_ranks_by_what_there_is(self):
        """As Open MPI's users say it; a number of their own counts more."""
        here = sorted(os.sched_getaffinity(0))
        workers = int(self.run_job("sh", "-c", "echo $MEANTIME_WORKERS").output)  # a quota's, too
        cores = {tuple(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/{what}").read_text()
                       for what in ("physical_package_id", "core_id")) for cpu in here}
        for words, ranks in ((("--map-by", "ppr:4:node"), 4), (("-ppr", "4:node"), 4), (("-pernode",), 1),
                             (("--map-by", "PPR:3:Node:PE=1"), 3), (("--map-by", "ppr:3:node,pe=1"), 3),
                             (("--map-by", "ppr:4:node", "-n", 2), 2), (("-n", 2, "-ppr", "4:l2cache"), 2),
                             (("-npersocket", 2), 2 * min(workers, len({core[0] for core in cores}))),
                             (("--map-by", "ppr:2:core"), 2 * min(workers, len(cores))), (("-ppr", "1:hwthread"), workers)):
            with self.subTest(words=words):
                self.assertEqual(self.run_job(*words, "echo", "x").output, "x\n" * ranks)
        for words, parts in ((("--map-by", "ppr:4:l2cache"), ("--map-by ppr:4:l2cache: ranks are counted for", "use -n NUMBER")),
                             (("-ppr", "4"), ("-ppr wants N:RESOURCE",)), (("-ppr", "x:node"), ("-ppr wants a number of ranks",)),
                             (("-npersocket", 0), ("-npersocket wants a number of ranks",)),
                             (("-ppr", "2000000000:core"), ("at most 65535 ranks",))):
            self.assert_refused(*words, "true", parts=parts)

    def test_odd_numbers_of_ranks(self):
        for number in ("0", "-1", "abc", "1x", "", "1.5", "99999999999", "0x4"):
            self.assert_refused("-n", number, "true", parts=("-n wants a number of ranks",))

    def test_for_the_whole_job(self):
        for option, one, other in (("--timeout", "5", "6"), ("--bind", "core", "none"), ("--stdin", "0", "none"),
                                   ("--on-deadlock", "abort", "ignore")):
            self.assert_refused(option, one, "true", ":", option, other, "true",
                                parts=(f"{option} is for the whole job: '{one}' and '{other}' cannot both hold",))
            for words in ((option, one, option, one, "true"), (option, one, "true", ":", option, one, "true"),
                          (option, other, option, one, "true")):
                self.assertEqual(self.run_job(*words).status, 0, words)

    def test_numbers_of_cpus_for_the_whole_job(self):
        ways = (("--map-by", "slot:PE=%d"), ("--cpus-per-rank", "%d"), ("--cpus-per-proc", "0%d"))
        for option, one in ways:
            for other_option, other in ways:
                self.assert_refused(option, one % 1, "true", ":", other_option, other % 2, "true",
                                    parts=(f"{other_option} is for the whole job: '1' and '2' cannot both hold",))
                self.assertEqual(self.run_job(option, one % 1, "true", ":", other_option, other % 1, "true").status, 0)
        self.assertEqual(self.run_job("--map-by", "core", "true", ":", "--map-by", "slot:PE=1", "true").status, 0)

    def test_for_the_other_kind_of_rank(self):
        for words in (("--place", "round-robin"), ("--balance", "none"), ("--as", "processes", "--place", "block")):
            self.assert_refused(*words, "true", parts=("--place, --balance and --ranks-per-process are for thread ranks",))
        for option in ("--bind", "-bind-to"):
            self.assert_refused("--as", "threads", option, "core", "true", parts=(f"mpiexec: {option} is for process ranks",))
        for words, said in ((("--cpus-per-rank", 2), "--cpus-per-rank"), (("--map-by", "node:PE=2"), "--map-by node:PE=2"),
                            (("--cpus-per-proc", 1, "--bind", "core"), "--bind")):
            self.assert_refused("--as", "threads", *words, "true",
                                parts=(f"mpiexec: {said} is for process ranks; every worker of thread ranks has a CPU",))
        self.assertNotIn("process ranks;", self.run_job("--as", "threads", "--map-by", "node", "true").error)
        result = self.run_job("--as", "auto", "--balance", "none", "sh", "-c", "echo x")
        self.assertEqual((result.status, result.output), (0, "x\n"), result)
        self.assert_one_line(result, "ranks are processes: --place, --balance and --ranks-per-process are for thread ranks")

    def test_too_many_ranks(self):
        for words in (("-n", "65536"), ("-n", "1000000000"), ("-n", "65000", "true", ":", "-n", "536")):
            self.assert_refused(*words, "true", parts=("at most 65535 ranks",))

    def test_ranks_beyond_the_descriptor_limit(self):
        result = self.run_job("-n", 500, "true", preexec_fn=lambda: __import__("resource").setrlimit(
            __import__("resource").RLIMIT_NOFILE, (100, 200)))
        self.assertEqual(result.status, 1)
        self.assert_one_line(result, "500 ranks need", "the limit is 200")

    def test_descriptor_limit_is_raised_for_mpiexec_only(self):
        result = self.run_job("-n", 100, "sh", "-c", "ulimit -Sn",
                              preexec_fn=lambda: __import__("resource").setrlimit(
                                  __import__("resource").RLIMIT_NOFILE, (64, 1000)))
        self.assertEqual(result.output, "64\n" * 100, result)

    def test_file_size_limit(self):
        result = self.run_job("-n", 2, "true", preexec_fn=lambda: __import__("resource").setrlimit(
            __import__("resource").RLIMIT_FSIZE, (0, 0)))
        self.assertEqual(result.status, 1)
        self.assert_one_line(result, "shared memory", "ulimit -f")

    def test_missing_words(self):
        self.assert_refused(parts=("no program",))
        self.assert_refused("-n", parts=("-n wants a value",))
        self.assert_refused("-n", 2, parts=("no program",))
        self.assert_refused("-genv", "A", parts=("-genv wants a name and a value",))
        self.assert_refused(":", "true", parts=("':'",))
        self.assert_refused("true", ":", parts=("':'",))
        self.assert_refused("true", ":", ":", "true", parts=("':'",))

    def test_values_of_options_that_take_none(self):
        for word in ("--verbose=3", "-l=x", "-genvall=0", "--gdb=lldb"):
            self.assert_refused(word, "true", parts=(f"{word.split('=')[0]} takes no value",))

    def test_unknown_options(self):
        for word, near in (("--tiemout", "--timeout"), ("-gnv", "-genv"), ("--bnd", "--bind"),
                           ("--oversubscrib", "--oversubscribe"), ("--on-deadlok=x", "--on-deadlock"),
                           ("-wdri", "-wdir"), ("--debuger", "--debugger"), ("-pn", "-np"),
                           ("--overscribe", "--oversubscribe"), ("--timestamp", "--timestamp-output")):
            self.assert_refused(word, "1", "true", parts=(f"unknown option '{word.split('=')[0]}'",
                                                          f"did you mean {near}?"))
        self.assert_refused("--xyzzyplugh", "true", parts=("unknown option", "--help"))

    def test_options_of_the_program_are_its_own(self):
        result = self.run_job("-n", 1, "echo", "-n", "--help", "--", "-x", "4")
        self.assertEqual(result.output, "--help -- -x 4")
        self.assertEqual(self.run_job("-n", 1, "--", "echo", "a").output, "a\n")

    def test_help_and_version(self):
        for word in ("--help", "-h", "-help"):
            result = self.run_job(word)
            self.assertEqual((result.status, result.error), (0, ""))
            self.assertIn("Usage: mpiexec", result.output)
        for word in ("--version", "-V"):
            result = self.run_job(word)
            self.assertEqual(result.status, 0)
            self.assertRegex(result.output, r"^mpiexec \(Meantime\) \d+\.\d+\.\d+\n$")

    def test_help_names_every_option_of_ours(self):
        text = self.run_job("--help").output
        for name, _, action, _ in option_rows():
            if name in ("verbose", "stdin") or action in ("ignore", "refuse"):
                continue
            if name in ("n", "np", "c", "x", "genv", "env", "genvall", "genvnone", "genvlist", "wdir",
                        "wd", "l", "timeout", "bind", "report-bindings", "cpus-per-rank", "as", "on-deadlock", "debugger", "v", "help"):
                self.assertRegex(text, rf"--?{name}\b", name)

    def test_environment_is_documented(self):
        with open(os.path.join(SOURCE, "docs", "reference", "mpiexec.md"), encoding="utf-8") as file:
            table = file.read().partition("## What a rank finds in its environment")[2].partition("\n## ")[0]
        found = set(re.findall(r"^(\w+)=", self.run_job("-genvnone", "env").output, re.MULTILINE))
        self.assertIn("PMI_FD", found)
        self.assertEqual([name for name in found - {"PWD", "SHLVL", "_", "PATH", "LD_LIBRARY_PATH"} if f"`{name}`" not in table], [])

    def test_environment(self):
        environment = dict(self.environment, KEPT="kept", CHANGED="old")
        script = "echo $KEPT,$CHANGED,$NEW,$SPACE"
        for words, output in (
                (("-x", "CHANGED=new"), "kept,new,,"),
                (("-x", "KEPT"), "kept,old,,"),
                (("-x", "MISSING"), "kept,old,,"),
                (("-genv", "NEW", "1"), "kept,old,1,"),
                (("-genv", "NEW=1=2"), "kept,old,1=2,"),
                (("-env", "NEW", "1"), "kept,old,1,"),
                (("-x", "NEW="), "kept,old,,"),
                (("-genv", "SPACE", "a b"), "kept,old,,a b"),
                (("-genvall",), "kept,old,,"),
                (("-genvlist", "CHANGED,PATH"), ",old,,"),
                (("-genvnone", "-genv", "NEW", "1"), ",,1,")):
            result = self.run_job(*words, "-n", 1, "/bin/sh", "-c", script, env=environment)
            self.assertEqual(result.output, output + "\n", words)
        self.assert_refused("-x", "=3", "true", parts=("NAME=VALUE",))

    def test_teams_of_more_threads_than_cpus_wait_asleep(self):
        cpus = len(os.sched_getaffinity(0))
        clean = {name: value for name, value in self.environment.items()
                 if not name.startswith(("OMP_", "GOMP_", "KMP_"))}
        script = "echo ${OMP_WAIT_POLICY-unset}"
        for ranks, variables, policy in (
                (1, {"OMP_NUM_THREADS": "1"}, "unset"),
                (1, {"OMP_NUM_THREADS": str(cpus + 1)}, "passive"),
                (1, {"OMP_NUM_THREADS": f" {cpus + 1},2"}, "passive"),
                (cpus + 1, {"OMP_NUM_THREADS": "1"}, "passive"),
                (2, {}, "passive"),
                (2, {"OMP_NUM_THREADS": "nonsense"}, "passive"),
                (2, {"OMP_WAIT_POLICY": "active"}, "active"),
                (2, {"GOMP_SPINCOUNT": "10"}, "unset"),
                (2, {"KMP_BLOCKTIME": "0"}, "unset")):
            result = self.run_job("-n", ranks, "sh", "-c", script, env=dict(clean, **variables))
            self.assertEqual(result.output.split(), [policy] * ranks, variables)
        result = self.run_job("-n", 1, "-env", "OMP_WAIT_POLICY", "active", "sh", "-c", script, ":",
                              "-n", 1, "sh", "-c", script, env=clean)
        self.assertEqual(sorted(result.output.split()), ["active", "passive"])

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one CPU")
    def test_teams_of_bound_ranks(self):
        first, second = sorted(os.sched_getaffinity(0))[:2]
        clean = {name: value for name, value in self.environment.items()
                 if not name.startswith(("OMP_", "GOMP_", "KMP_"))}
        for words, variables, policy in (
                (("--bind", f"user:{first},{second}", "-n", 2), {}, "unset"),
                (("--bind", f"user:{first},{second}", "-n", 2), {"OMP_NUM_THREADS": "2"}, "passive"),
                (("--bind", f"user:{first}", "-n", 1), {"OMP_NUM_THREADS": "2"}, "passive"),
                (("--bind", f"user:{first}", "-n", 2), {}, "passive"),
                (("--bind", f"user:{first}+{second}", "-n", 1), {"OMP_NUM_THREADS": "2"}, "unset")):
            result = self.run_job(*words, "sh", "-c", "echo ${OMP_WAIT_POLICY-unset}", env=dict(clean, **variables))
            self.assertEqual(set(result.output.split()), {policy}, (words, variables))

    def test_variable_that_is_not_set(self):
        self.assertEqual(self.run_job("-x", "MISSING", "true").error, "")
        lines = self.run_job("-v", "-x", "MISSING", "true").error.splitlines()
        self.assertEqual(lines.count("mpiexec: -x MISSING: not set, so nothing to pass on"), 1)

    def test_environment_of_one_program(self):
        result = self.run_job("-env", "A", "1", "-n", 1, "sh", "-c", "echo $A", ":", "-n", 1, "sh", "-c",
                              "sleep 0.1; echo none$A")
        self.assertEqual(result.output, "1\nnone\n")

    def test_directory(self):
        folder = os.path.join(self.folder.name, "work")
        os.mkdir(folder)
        for option in ("-wdir", "-wd", "--wdir"):
            result = self.run_job(option, folder, "-n", 2, "pwd")
            self.assertEqual(result.output, f"{folder}\n" * 2)
        with open(os.path.join(folder, "run"), "w") as file:
            file.write("#!/bin/sh\necho here\n")
        os.chmod(os.path.join(folder, "run"), 0o755)
        self.assertEqual(self.run_job("-wdir", folder, "./run").output, "here\n")
        self.assert_refused("-wdir", "/nowhere", "true", status=1, parts=("/nowhere",))

    def test_several_programs(self):
        result = self.run_job("-n", 2, "sh", "-c", "echo a $MEANTIME_RANK $MEANTIME_SIZE", ":", "-n", 3,
                              "sh", "-c", "echo b $MEANTIME_RANK $MEANTIME_SIZE")
        self.assertEqual(sorted(result.output.splitlines()),
                         ["a 0 5", "a 1 5", "b 2 5", "b 3 5", "b 4 5"])

    def test_kinds_of_rank(self):
        self.assertEqual(self.run_job("--as", "processes", "true").status, 0)
        self.assertEqual(self.run_job("--as=auto", "true").status, 0)
        self.assert_refused("--as", "threads", "sh", "-c", "true", status=1,
                            parts=("--as threads: ", "leave --as threads out"))
        self.assert_refused("--place", "nowhere", "true", parts=("block or round-robin or file:PATH",))
        # Of the programs that follow, too.
        self.assertEqual(self.run_job("--as", "auto", "true", ":", "--as", "processes", "true").status, 0)
        self.assert_refused("--as", "threads", "sh", "-c", "true", ":", "--as", "processes", "true", status=1,
                            parts=("--as threads: ",))
        self.assert_refused("true", ":", "--as", "threads", "sh", "-c", "true", status=1, parts=("--as threads: ",))
        self.assert_refused("--as", "fibers", "true", parts=("processes, threads or auto",))

    def test_timeout_values(self):
        for value in ("-1", "soon", "", "1s", "inf", "nan"):
            self.assert_refused("--timeout", value, "true", parts=("--timeout wants seconds",))

    def test_timeout_variable(self):
        # The job ends when its standard input does, or by the time limit, whichever is first.
        environment = dict(self.environment, MPIEXEC_TIMEOUT="0.2")
        reader, writer = os.pipe()
        try:
            self.assertEqual(self.run_job("cat", env=environment, stdin=reader).status, 124)
        finally:
            os.close(reader)
            os.close(writer)
        self.assertEqual(self.run_job("--timeout", 60, "true", env=environment).status, 0)
        environment["MPIEXEC_TIMEOUT"] = "soon"
        result = self.run_job("true", env=environment)
        self.assertEqual(result.status, 2)
        self.assertIn("MPIEXEC_TIMEOUT wants seconds", result.error)

    def test_on_deadlock(self):
        for value in ("abort", "report", "ignore"):
            result = self.run_job(f"--on-deadlock={value}", "sh", "-c", "echo $MEANTIME_ON_DEADLOCK")
            self.assertEqual(result.output, value + "\n")
        self.assert_refused("--on-deadlock=panic", "true", parts=("abort, report or ignore",))

    def test_initial_error_handler(self):
        script = ("sh", "-c", "echo $MEANTIME_INITIAL_ERRHANDLER.")
        self.assertEqual(self.run_job("-initial-errhandler", "mpi_errors_return", *script).output,
                         "mpi_errors_return.\n")
        # It is the job's, not that of a job around it.
        environment = dict(self.environment, MEANTIME_INITIAL_ERRHANDLER="mpi_errors_return")
        self.assertEqual(self.run_job(*script, env=environment).output, ".\n")
        self.assert_refused("--initial-errhandler", "MPI_ERRORS_RETURN", "true",
                            parts=("mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return",))

    def test_memory_kinds(self):
        script = ("sh", "-c", "echo $MEANTIME_MEMORY_ALLOC_KINDS.")
        self.assertEqual(self.run_job("-memory-alloc-kinds", "mpi:alloc_mem,cuda", *script).output, "mpi:alloc_mem,cuda.\n")
        environment = dict(self.environment, MEANTIME_MEMORY_ALLOC_KINDS="mpi")  # of a job around it
        self.assertEqual(self.run_job(*script, env=environment).output, ".\n")

    def test_verbose(self):
        result = self.run_job("-v", "--oversubscribe", "-n", 2, "true")
        self.assertRegex(result.error, r"--oversubscribe is ignored: there are no slots")
        self.assertRegex(result.error, r"rank 1 is pid \d+ \(.*true\)")
        self.assertRegex(result.error, r"2 ranks on \d+ workers? \(")
        cpu = min(os.sched_getaffinity(0))
        self.assertIn("1 rank on 1 worker (1 CPU", self.run_job(
            "-v", "true", preexec_fn=lambda: os.sched_setaffinity(0, {cpu})).error)

    def test_debugger(self):
        self.assert_refused("--debugger", "vi", "true", parts=("takes gdb",))
        if not os.path.exists("/usr/bin/gdb"):
            self.skipTest("no gdb")
        environment = {k: v for k, v in self.environment.items() if k != "DISPLAY"}
        result = self.run_job("--debugger", "gdb", "-n", 2, "true", env=environment)
        self.assertEqual(result.status, 1)
        self.assert_one_line(result, "gdb -p PID")
        result = self.run_job("--debugger", "gdb", "-n", 1, FAKE_RANK, "print=from the program",
                              input=b"set confirm off\nrun\nquit\n", timeout=60)
        self.assertIn("from the program", result.output)

    def test_debugger_windows(self):
        """Each rank in a terminal of its own, whose title is the rank."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("xterm", '[ "$1" = -e ] && shift && exec "$@"'), ("gdb", 'shift; exec "$@"')):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\n{text}\n")
                os.chmod(path, 0o755)
            environment = dict(self.environment, DISPLAY=":9", PATH=f"{folder}:{os.environ['PATH']}")
            result = self.run_job("--debugger", "gdb", "-n", 2, "echo", "a b", env=environment)
        self.assertEqual(result.status, 0, result)
        # Both write to the same output, title and text one after the other: in any order.
        rest = result.output
        for part in ("\033]0;rank 0\007", "\033]0;rank 1\007", "a b\n", "a b\n"):
            self.assertIn(part, rest)
            rest = rest.replace(part, "", 1)
        self.assertEqual(rest, "")


class OtherLaunchersOptions(MpiexecTest):
    def test_each_row(self):
        """Each option of the table does what its row says, with one and with two dashes."""
        for name, count, action, note in option_rows():
            for dashes in ("-", "--"):
                option = dashes + name
                with self.subTest(option):
                    if action == "ignore":
                        result = self.run_job(option, *["x"] * count, "-n", 1, "echo", "fine")
                        self.assertEqual((result.status, result.output, result.error),
                                         (0, "fine\n", ""))
                    elif action == "refuse":
                        result = self.run_job(option, *["x"] * count, "-n", 1, "echo", "fine")
                        self.assertEqual((result.status, result.output), (2, ""))
                        self.assert_one_line(result, f"{option} is not supported: ")

    def test_advice_that_goes_by_the_kind_of_rank(self):
        """What runs in a terminal of its own is no thread rank."""
        option = "-xterm"
        for words, threads in (((option, "x", "true"), False), (("--as", "auto", option, "x", "true"), False),
                               (("--as", "threads", option, "x", "true"), True),
                               ((option, "x", "--as=threads", "true"), True),
                               (("--as", "threads", "true", ":", option, "x", "true"), True),
                               (("--as", "threads", option, "x", "--as", "processes", "true"), False)):
            result = self.run_job(*words)
            self.assertEqual((result.status, result.output), (2, ""), result)
            self.assertEqual(result.error, f"mpiexec: {option} is not supported: use --debugger gdb"
                             + ("\n" if threads else ", or mpiexec ... xterm -e ./program\n"))

    def test_ignored_with_a_note(self):
        for name, count, action, note in option_rows():
            if action == "ignore":
                result = self.run_job("-v", f"-{name}", *["x"] * count, "true")
                self.assertIn(f"-{name} is ignored: ", result.error)
                if " " in note:
                    self.assertIn(note, result.error)

    def test_binding_names(self):
        script = "grep Cpus_allowed_list /proc/self/status"
        for words in (("--bind-to", "none"), ("-bind-to", "core"), ("--bind-to", "core:overload-allowed"),
                      ("-binding", "rr"), ("--bind", "hwthread"), ("--bind", "numa"),
                      ("--bind", "socket"), ("-bind-to-none",)):
            self.assertEqual(self.run_job(*words, "-n", 2, "sh", "-c", script).status, 0, words)

    def test_report_bindings(self):
        cpus = sorted(os.sched_getaffinity(0))
        result = self.run_job("--report-bindings", "--bind-to", "hwthread", "-n", 2, "true")
        for rank in (0, 1):
            self.assertIn(f"rank {rank} is bound to CPU {cpus[rank % len(cpus)]}\n", result.error)
        if len(cpus) > 1:
            result = self.run_job("--report-bindings", "--bind", f"user:{cpus[0]}+{cpus[1]}", "true")
            self.assertIn("rank 0 is bound to CPUs ", result.error)
        for words in (("--report-bindings",), ("--display", "bind"), ("--display", "map,bind"), ("--display", "map"),
                      ("-display-map",)):
            result = self.run_job(*words, "-n", 1, "true")
            self.assertIn("rank 0 is not bound: CPUs", result.error, words)
            self.assertEqual(len(result.error.splitlines()), 1, words)
        self.assertEqual(self.run_job("--display", "allocation", "-n", 1, "true").error, "")
        result = self.run_job("-v", "--display", "allocation,bind", "-n", 1, "true")
        self.assertIn("--display allocation is ignored: ", result.error)
        self.assertIn("rank 0 is not bound: CPUs", result.error)

    def test_hosts(self):
        own = socket.gethostname()
        for word in ("localhost", own, "localhost:4", f"{own},localhost", "127.0.0.1"):
            for option in ("-host", "--host", "-H", "-hosts"):
                self.assertEqual(self.run_job(option, word, "true").status, 0, word)
        self.environment["MEANTIME_REMOTE_SHELL"] = "false"
        result = self.run_job("-hosts", "localhost,faraway", "true")
        self.assertEqual(result.status, 1)
        self.assert_one_line(result, "cannot start ranks on faraway (rank 1)")
        nobody = self.path("nobody", "# nobody\n\n")
        for words, part in (*((("--host", word), f"--host: '{word}' wants a number of slots from 1 on")
                              for word in ("one:x", "one:-3", "one:0", "one:", "one:2x", "localhost:x", "[fe80::1]:x",
                                           "one slots=x", "one slots=")),
                            *((("--host", word), f"--host: '{word}' names no host") for word in (",", " , ")),
                            (("-H", "one,:4"), "-H: ':4' is no host's name"), (("-f", nobody), "nobody' names no host")):
            with self.subTest(words=words):
                result = self.run_job(*words, "true")
                self.assertEqual((result.status, result.output), (2, ""), result)
                self.assert_one_line(result, part)

    def test_host_files_that_are_none(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        for path, part in ((fifo, "not a regular file"), ("/dev/zero", "not a regular file"),
                           (self.folder.name, "not a regular file"), ("missing", "No such file"),
                           (self.path("long", "#\n" * 600_000), "too long"),
                           (self.path("line", "-" * 100_000), "'---")):
            result = self.run_job("--hostfile", path, "-n", 1, "true", timeout=60)
            self.assertEqual(result.status, 2, path)
            self.assert_one_line(result, part)
            self.assertLess(len(result.error), 500)

    def test_host_files(self):
        local = self.path("local", "# a comment\n\nlocalhost slots=4\nlocalhost:2\n", mode=0o644)
        other = self.path("other", "localhost\nfaraway slots=2\n", mode=0o644)
        for option in ("-f", "-machinefile", "--hostfile"):
            self.assertEqual(self.run_job(option, local, "true").status, 0)
            result = self.run_job("-launcher-exec", "false", option, other, "true")
            self.assertEqual(result.status, 1)
            self.assert_one_line(result, "faraway")
            result = self.run_job(option, "/nowhere", "true")
            self.assert_one_line(result, "cannot read '/nowhere'")

    def test_as_many_ranks_as_slots(self):
        hosts = self.path("hosts", "localhost slots=2 max_slots=5 # slots=9\nlocalhost max_slots=4\n", mode=0o644)
        for words, ranks in ((("-H", "localhost:4"), 4), (("--host", "localhost,localhost"), 2), (("-H", "localhost"), 1),
                             (("-H", "localhost", "-H", "localhost:2"), 3), (("-H", "localhost", "--hostfile", hosts), 4),
                             (("-hosts", "localhost:2,localhost"), 3), (("--hostfile", hosts), 3), (("-f", hosts), 3),
                             (("--hostfile", hosts, "-n", 1), 1), (("-n", 1, "-H", "localhost:3"), 1),
                             (("-N", 2, "-H", "localhost:4"), 2)):
            self.assertEqual(self.run_job(*words, "echo", "x").output, "x\n" * ranks, words)
        for text, ranks in (("localhost slots = 4\n", 4), ("localhost\tslots\t=2 max-slots = 9", 2), ("localhost:3\r\n\r\n", 3),
                            ("localhost slots=2\r\nlocalhost\r\n", 3), ("::1\n::1 slots=2\n", 3), ("localhost max_slots = 4\n", 1)):
            self.assertEqual(self.run_job("-f", self.path("hosts", text), "echo", "x").output, "x\n" * ranks, text)
        self.assertEqual(self.run_job("-H", "::1,::1", "echo", "x").output, "x\n" * 2)
        for words in (("-H", "localhost:99999999999"), ("-f", self.path("hosts", "localhost slots=99999999999\n"))):
            result = self.run_job(*words, "true")
            self.assertEqual(result.status, 2)
            self.assert_one_line(result, "99999999999': no job has so many ranks")
        result = self.run_job("-H", "localhost:2", "echo", "x", ":", "echo", "x")
        self.assertEqual(result.output, "x\n" * 3)
        result = self.run_job("-H", "localhost:99999999", "true")
        self.assert_one_line(result, "at most 65535 ranks")

    def test_lines_as_typed_elsewhere(self):
        for line in ("--oversubscribe --allow-run-as-root --bind-to none --map-by core -np 2",
                     "-mca btl self,vader --mca pml ob1 -np 2", "-ppn 2 -n 2", "-genvall -n 2",
                     "-bind-to none -map-by slot -launcher fork -n 2", "--use-hwthread-cpus -np 2",
                     "-x PATH -x LD_LIBRARY_PATH -np 2", "--mca btl_base_warn 0 -quiet -np 2",
                     "-perhost 1 -iface lo -n 2"):
            result = self.run_job(*line.split(), "echo", "x")
            self.assertEqual((result.status, result.output, result.error), (0, "x\nx\n", ""), line)

    def test_labels_by_other_names(self):
        for option in ("-prepend-rank", "--tag-output"):
            self.assertEqual(self.run_job(option, "-n", 1, "echo", "x").output, "[0] x\n")


class Documentation(unittest.TestCase):
    def test_docs_have_every_option(self):
        with open(os.path.join(SOURCE, "docs", "reference", "mpiexec.md")) as file:
            text = file.read()
        for name, _, _, _ in option_rows():
            self.assertRegex(text, rf"`--?{re.escape(name)}[ `=]", f"{name} is not in docs/reference/mpiexec.md")

    def test_what_is_said_to_be_missing_is(self):
        with open(os.path.join(SOURCE, "docs", "reference", "mpi.md")) as file:
            section = file.read().partition("\n## What is not there yet\n")[2].partition("\n## ")[0]
        with open(os.path.join(SOURCE, "src", "launch", "generated", "missing_calls.h")) as file:
            missing = set(re.findall(r'"(MPI_\w+)"', file.read()))
        not_there, _, there = section.partition("\nWindows are there: ")
        call = re.compile(r"`(MPI_\w+)`")
        self.assertEqual([name for name in call.findall(not_there) if name not in missing], [])
        self.assertEqual([name for name in call.findall(there.partition(", and their")[0]) if name in missing], [])
        windows = {name for name in missing if name.startswith("MPI_Win_")}
        self.assertEqual([name for name in windows - set(call.findall(not_there)) if "flush" not in name], [])


if __name__ == "__main__":
    main()
