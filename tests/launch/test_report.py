"""mpiexec --report: where the time went."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import unittest

from mpiexec import BUILD, CFLAGS, SOURCE, THREADS, MpiexecTest, main

MPICC = os.path.join(BUILD, "bin", "mpicc")
PROGRAM = os.path.join(SOURCE, "tests", "launch", "report.c")
RANK = os.path.join(SOURCE, "tests", "launch", "rank.c")
CHANGES = os.path.join(SOURCE, "tests", "launch", "changes.c")
FORTRAN = os.path.join(SOURCE, "tests", "launch", "report_fortran.F90")
HAVE_FORTRAN = os.path.exists(os.path.join(BUILD, "lib", "libmeantime_gfortran.so"))
WAITS = 200


def line_of(file, text):
    with open(file) as lines:
        return next(number for number, line in enumerate(lines, 1) if text in line)


class Report(MpiexecTest):
    def program(self, *flags):
        program = self.path("report")
        subprocess.run([MPICC, "-g", "-O1", *flags, *CFLAGS, PROGRAM, "-o", program], check=True)
        return program

    def compiled(self, source):
        program = self.path(source.removesuffix(".c"))
        subprocess.run([MPICC, "-O1", *CFLAGS, os.path.join(SOURCE, "tests", "launch", source), "-o", program], check=True)
        return program

    def json_of(self, *words):
        path = self.path("report.json")
        result = self.run_job(f"--report={path}", *words)
        self.assertEqual((result.status, result.error), (0, ""), result)
        with open(path) as file:
            return json.load(file)

    def test_table(self):
        result = self.run_job("--report", "-n", 2, self.program())
        self.assertEqual((result.status, result.output), (0, "done\n"), result)
        self.assertRegex(result.error, r"where the time of 2 ranks on \d+ workers? went")
        self.assertRegex(result.error, r"\n +1 +\d+\.\d{3} +\d+\.\d{3} +\d+ ")
        self.assertRegex(result.error, r"core-seconds: allocated \d+\.\d+ = computing .* asleep "
                         r"\d+\.\d+ \+ unused \d+\.\d+; preempted \d+\.\d+\n")
        self.assertIn("\nwaiting: adaptive\n", result.error)
        self.assertRegex(result.error, r"by call\n.*\n +\d+( +\d+\.\d{3}){2}( +-){2}  MPI_")
        self.assertNotIn("\nworker ", result.error)
        if THREADS:
            result = self.run_job("--report", "--as", "threads", "-n", 4, self.program())
            self.assertRegex(result.error, r"by call\n.*\n +\d+( +\d+\.\d{3}){4}  MPI_")
            self.assertRegex(result.error, r"\nworker +running +polling +yielding +sleeping +CPU time +preempted +ranks\n")
            self.assertRegex(result.error, r"\n +0( +\d+\.\d{3}){6} +\d\n")
            self.assertRegex(result.error, r"core-seconds: .*; preempted \d+\.\d+\n")
        self.assertNotRegex(result.error, "not read|not measured")  # no rows of nothing
        self.assertRegex(self.run_job("-v", "--report", "true").error, r"\nenergy: (\d|not read \(.*\))\n")

    def test_advice(self):
        """The report opens with what to do."""
        program = self.program()
        for ranks, says in ((3, r"Rank 0 ran for [\d.]+ s, the median for [\d.]+ s: the others wait for what|Other programs had the cores"),
                            (1, "there is little to gain from less waiting")):
            result = self.run_job("--report", "-n", ranks, program)
            self.assertRegex(result.error.splitlines()[1], says, result)

    def test_advice_names_who_is_waited_for(self):
        """Not the one that runs longest, if that is the one that waited; nor other ranks' turns on idle cores."""
        program = self.path("advice")
        subprocess.run([MPICC, *CFLAGS, os.path.join(SOURCE, "tests", "launch", "advice.c"), "-o", program], check=True)
        for ranks, what, says in (
                (2, "alone", r"Rank 0 waited for 0\.\d+ s, rank 1 for 0\.0\d+ s: look at what|Other programs had the cores"),
                (4, "asleep", r"Ranks ran for [01]\.\d+ s and computed for 0\.\d+ s: the rest of it they slept or "
                              r"read outside of MPI\. Rank 3 waited for 0\.\d+ s, rank \d for 0\.0|Other programs had the cores")):
            advice = self.run_job("--report", "-n", ranks, program, what).error.splitlines()[1]
            self.assertRegex(advice, says)
            self.assertNotRegex(advice, "the others wait for|others' turn")

    def test_advice_blames_nobody_for_what_other_programs_do(self):
        program = self.path("advice")
        subprocess.run([MPICC, *CFLAGS, os.path.join(SOURCE, "tests", "launch", "advice.c"), "-o", program], check=True)
        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                 for _ in range(3 * len(os.sched_getaffinity(0)))]
        try:
            result = self.run_job("--report", "-n", 16, program, "even")
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
        self.assertRegex(result.error.splitlines()[1], r"Other programs had the cores for \d+\.\d+ of \d+\.\d+ core-seconds")

    def test_many_ranks(self):
        """Three lines about all of them, and three of those that waited longest."""
        result = self.run_job("--report", "-n", 9, self.program())
        self.assertRegex(result.error, r"\n least .*\nmedian .*\n  most .*\n  of them those that waited longest:\n"
                         r"( +[0-8] .*\n){3}core-seconds")
        for line in result.error.splitlines():
            if re.match(r" *(\d|least|median|most|rank|waits) ", line) and " in " not in line:
                self.assertLessEqual(len(line), 80)

    @unittest.skipIf(CFLAGS, "with a sanitizer no job is short")
    def test_no_advice_where_there_is_none(self):
        ring, waits = self.compiled("ring.c"), self.compiled("guest_waits.c")
        for words, sentence in (((ring, 1), "The job was too short to say anything of its waiting."),
                                ((waits, 200, "abort"), "The job was ended before its ranks were through")):
            result = self.run_job("--report", "-n", 2, *words)
            self.assertIn(sentence, result.error)
            self.assertNotIn("Rank 0", result.error)

    def test_nobody_is_blamed_for_his_turns(self):
        """Thread ranks that all do the same, and come one after the other on their worker."""
        if not THREADS:
            self.skipTest("without thread ranks")
        result = self.run_job("--report", "--as", "threads", "-n", 16, self.compiled("ring.c"), 30000)
        self.assertEqual(result.status, 0, result)
        self.assertNotRegex(result.error, r"Rank \d+ ran for|Ranks ran for")

    def test_call_site(self):
        line = line_of(PROGRAM, "waited for here")
        for kind in ("processes", "threads") if THREADS else ("processes",):
            for flag in ("-pie", "-no-pie") if kind == "processes" else ("-pie",):
                report = self.json_of("--as", kind, "-n", 2, "--wait", "event", self.program(flag))
                sites = {(site["call"], site["function"], site["source"]): site
                         for site in report["ranks"][1]["sites"]}
                site = sites[("MPI_Recv", "wait_for_zero", f"report.c:{line}")]
                self.assertLessEqual(site["waits"], WAITS)
                self.assertGreater(site["waits"], 0)
                self.assertGreater(site["seconds"], 0)
                self.assertLessEqual(site["median"], site["p99"])
                self.assertLessEqual(site["p99"], site["longest"])
                self.assertLessEqual(site["longest"], site["seconds"])

    def test_call_sites_of_several_threads(self):
        """Each wait is charged to its own thread's call, whatever the others have called meanwhile."""
        program = self.path("several_threads")
        source = os.path.join(SOURCE, "tests", "launch", "several_threads.c")
        subprocess.run([MPICC, "-g", "-pthread", *CFLAGS, source, "-o", program], check=True)
        calls = ("MPI_Sendrecv", "MPI_Allreduce", "MPI_Comm_dup", "MPI_Comm_free", "MPI_Finalize")
        lines = {call: line_of(source, f"{call}(") for call in calls}
        for _ in range(3):
            report = self.json_of("-n", 4, program)
            for rank in report["ranks"]:
                for site in rank["sites"]:
                    self.assertIn(site["call"], lines, site)
                    # (A call goes on for two lines.)
                    number = int(site["source"].split(":")[1])
                    self.assertIn(number - lines[site["call"]], (0, 1), site)

    @unittest.skipUnless(HAVE_FORTRAN, "no gfortran")
    def test_call_sites_of_fortran(self):
        """The user's line, not the binding's; also in a callback, and behind one."""
        wanted = {(call, f"report_fortran.F90:{line_of(FORTRAN, mark)}") for call, mark in (
            ("MPI_Recv", "! blocking"), ("MPI_Wait", "! of a request"),
            ("MPI_Recv", "! in the callback"), ("MPI_Barrier", "! for all"))}
        program = self.path("report_fortran")
        for interface in ("-DWITH_MPIF", "-DWITH_MPI", "-DWITH_F08"):
            subprocess.run([os.path.join(BUILD, "bin", "mpifort"), "-g", "-O1", "-fno-inline", "-w", interface, *CFLAGS,
                            FORTRAN, "-o", program], check=True, cwd=os.path.dirname(program))
            for kind in ("processes", "threads") if THREADS else ("processes",):
                report = self.json_of("--as", kind, "-n", 2, "--wait", "event", program)
                sites = {(site["call"], site["source"]) for site in report["ranks"][1]["sites"]}
                self.assertLessEqual(wanted, sites)
                self.assertEqual({source.split(":")[0] for _, source in sites}, {"report_fortran.F90"})
                functions = {site["function"] for site in report["ranks"][1]["sites"]}
                self.assertIn("receive", functions)  # without what the compiler appends to a contained one

    def test_sums(self):
        for kind in ("processes", "threads") if THREADS else ("processes",):
            for wait in ("adaptive", "event", "yield", "predicted", "ade"):
                report = self.json_of("--as", kind, "-n", 4, "--wait", wait, self.program())
                self.assertEqual(len(report["ranks"]), 4)
                for rank in report["ranks"]:
                    # What was measured activity by activity is the whole wait, rank by rank.
                    self.assertAlmostEqual(sum(rank["spent"].values()), rank["waiting"], places=6)
                    self.assertAlmostEqual(sum(site["seconds"] for site in rank["sites"]),
                                           rank["waiting"], places=6)
                    self.assertEqual(sum(site["waits"] for site in rank["sites"]), rank["waits"])
                    # (Short waits are sampled: what was kept from the core in one, some time slices on a
                    # busy machine, counts for several.)
                    self.assertLessEqual(rank["waiting"], 1.25 * rank["wall"] + 0.05, (kind, wait, rank))
                    self.assertGreater(rank["cpu"], 0)
                    self.assertEqual(rank["prorated"], kind == "threads")
                for worker in report["per_worker"]:
                    self.assertAlmostEqual(sum(worker["spent"].values()), worker["wall"], places=3)
                    self.assertEqual(worker["worker"] is None, kind == "processes")
                # By call it is the same time once more, from both points of view.
                self.assertAlmostEqual(sum(call["seconds"] for call in report["calls"]),
                                       sum(rank["waiting"] for rank in report["ranks"]), places=5)
                self.assertEqual(len({call["call"] for call in report["calls"]}), len(report["calls"]))
                for call in report["calls"]:
                    if kind == "processes":  # whom the kernel ran there is not known
                        self.assertEqual((call["core_others"], call["core_nobody"]), (None, None))
                        continue
                    self.assertAlmostEqual(call["rank"] + call["core_others"] + call["core_nobody"],
                                           call["seconds"], places=6)
                if kind == "threads":
                    self.assertGreater(sum(call["core_others"] for call in report["calls"]), 0)
                parts = report["core_seconds"]
                self.assertGreaterEqual(parts["computing"], 0)
                self.assertAlmostEqual(parts["computing"] + parts["waiting_awake"], report["cpu"],
                                       places=6)
                self.assertGreaterEqual(parts["allocated"] + 1e-6, parts["waiting_asleep"] + parts["unused"])
                self.assertEqual((report["wait"], report["energy_policy"]), (wait, "none"))
                self.assertEqual({rank["wait"] for rank in report["ranks"]}, {wait})

    def test_a_name_that_is_no_text(self):
        program = os.fsencode(self.program())
        odd = program + b"\xff\xc3\xa4\""
        os.rename(program, odd)
        report = self.json_of("-n", 2, "--wait", "event", os.fsdecode(odd))
        files = {site["file"] for rank in report["ranks"] for site in rank["sites"]}
        self.assertIn("report\ufffd\u00e4\"", {os.path.basename(file) for file in files})

    def test_ways_that_differ(self):
        program = self.program()
        words = ("-n", 2, "--wait", "event", program, ":", "-n", 1, "--wait", "yield", program, ":", "-n", 1,
                 "--wait", "event", "-env", "MEANTIME_TRIES_POLL=5", program)
        report = self.json_of(*words)
        self.assertEqual([rank["wait"] for rank in report["ranks"]],
                         ["event", "event", "yield", "event, MEANTIME_TRIES_POLL=5"])
        result = self.run_job("--report", *words)
        self.assertIn("\nwaiting: event; rank 2: yield; rank 3: event, MEANTIME_TRIES_POLL=5\n", result.error)
        report = self.json_of("-x", "MEANTIME_ENERGY=powersave", "-n", 2, program)
        self.assertEqual((report["wait"], report["energy_policy"]), ("adaptive", "powersave"))

    def test_polling_with_too_few_cpus(self):
        """Said at the start to who asks for it for this job, else with -v; always in the report."""
        ranks = 2 * len(os.sched_getaffinity(0)) + 1
        said = rf"ranks poll, and there are {ranks} for \d+ CPUs?: .*--wait adaptive"

        def error_of(*words, **variables):
            result = self.run_job(*words, "true", env=dict(self.environment, **variables))
            self.assertEqual(result.status, 0)
            return result.error

        self.assertRegex(error_of("--wait", "poll", "-n", ranks), rf"^mpiexec: {said}.*\n$")
        self.assertRegex(error_of("-n", ranks, MEANTIME_WAIT="poll"), rf"^mpiexec: {said}.*\n$")
        for knob in ("MEANTIME_TRIES_POLL=infinity", "MEANTIME_TRIES_POLL=100000", "MEANTIME_TIMEOUT=0"):
            self.assertRegex(error_of("-x", knob, "-n", ranks), said)
        self.assertEqual(error_of("-n", ranks), "")
        self.assertEqual(error_of("--wait", "poll", "-n", 1), "")
        self.assertEqual(error_of("--wait", "poll", "-x", "MEANTIME_TRIES_POLL=9", "-n", ranks), "")
        os.mkdir(self.path("config"))
        with open(self.path("config/meantime.conf"), "w") as file:
            file.write("wait = poll\n")
        by_file = {"XDG_CONFIG_HOME": self.path("config")}
        self.assertEqual(error_of("-n", ranks, **by_file), "")
        self.assertRegex(error_of("-v", "-n", ranks, **by_file), said)
        self.assertRegex(error_of("--report", "-n", ranks, **by_file), rf"\nwaiting: poll\nnote: {said}.*\n")
        result = self.run_job("--report", "--wait", "poll", "-n", ranks, "true")
        self.assertRegex(result.error, rf"\nwaiting: poll\nnote: {said}.*\n")
        self.assertNotIn("note:", self.run_job("--report", "--wait", "poll", "-n", 1, "true").error)

    def test_changed_while_it_ran(self):
        program = self.path("changes")
        subprocess.run([MPICC, *CFLAGS, CHANGES, "-o", program], check=True)
        for kind in ("processes", "threads") if THREADS else ("processes",):
            words = ("--as", kind, "-n", 3, program)
            report = self.json_of(*words)
            changes = {(change["by"], change["what"], change["value"]): change["ranks"]
                       for change in report["changed"]}
            timeouts = [change for change in changes if change[1] == "MEANTIME_TIMEOUT"]
            # Of a list without an end the first few, and how many more.
            self.assertGreater(len(timeouts), 10)
            self.assertLessEqual(len(timeouts), 16)
            self.assertEqual(report["changed_left_out"], 200 - len(timeouts))
            self.assertEqual(report["ranks"][2]["changed_left_out"], 200 - len(timeouts))
            self.assertEqual(report["ranks"][1]["changed_left_out"], 0)
            for change in timeouts:
                self.assertEqual(changes.pop(change), 1)
            self.assertEqual(changes, {("rank", "MEANTIME_WAIT", "event"): 1, ("rank", "MEANTIME_TRIES_POLL", "12"): 2,
                                       ("communicator", "meantime_wait", "yield"): 3,
                                       ("handler", "MPIX_Energy_handler_reg", None): 1})
            self.assertEqual(report["ranks"][0]["changed"],
                             [{"by": "communicator", "what": "meantime_wait", "value": "yield"}])
            self.assertEqual(report["wait"], "adaptive")
            line = re.search(r"\nwaiting: adaptive\nchanged while it ran: (.*)\n",
                             self.run_job("--report", *words).error).group(1)
            self.assertIn("MEANTIME_TRIES_POLL=12 (2 ranks); ", line)
            self.assertIn("MEANTIME_WAIT=event (rank 1); ", line)
            self.assertIn("; meantime_wait=yield (a communicator of all ranks); MPIX_Energy_handler_reg (rank 2); and ",
                          line)
            self.assertEqual(line.count("MEANTIME_TIMEOUT="), 3)
            self.assertTrue(line.endswith("; and 197 more"), line)
            report = self.json_of(*words, "nothing")
            self.assertEqual((report["changed"], report["ranks"][1]["changed"]), ([], []))
            self.assertNotIn("changed while", self.run_job("--report", *words, "nothing").error)

    def test_what_mpi_knows_nothing_of_is_no_sleep(self):
        path = self.path("report.json")
        self.run_job(f"--report={path}", "-n", 1, "sleep", "0.5")
        with open(path) as file:
            parts = json.load(file)["core_seconds"]
        self.assertEqual(parts["waiting_asleep"], 0)
        self.assertGreater(parts["unused"], 0.4)

    def test_rank_without_mpi_and_rank_that_dies(self):
        result = self.run_job("--report", "-n", 2, "true")
        self.assertEqual(result.status, 0)
        self.assertIn("never called MPI_Init", result.error)
        result = self.run_job("--report", "-n", 2, self.program(), "die")
        self.assertEqual(result.status, 3, result)
        self.assertRegex(result.error, "core-seconds: .*; preempted unknown\n")

    def test_the_wait_that_a_rank_is_ended_in(self):
        """Is counted, though nobody was there to charge it: by the rank, and by its call site."""
        program = self.path("rank")
        subprocess.run([MPICC, "-g", "-O1", *CFLAGS, RANK, "-o", program], check=True)
        for kind in ("processes", "threads") if THREADS else ("processes",):
            path = self.path("report.json")
            self.run_job(f"--report={path}", "--as", kind, "--timeout", 4, "-n", 2, program, "late")
            with open(path) as file:
                rank = json.load(file)["ranks"][0]
            site = next(site for site in rank["sites"] if site["call"] == "MPI_Barrier")
            self.assertEqual(site["waits"], 1)
            self.assertGreater(site["seconds"], 0.5 * rank["wall"])
            self.assertGreaterEqual(rank["waiting"], site["seconds"])
            self.assertLessEqual(rank["waiting"], rank["wall"])
            self.assertGreater(rank["spent"]["sleep"], 0.5 * site["seconds"])

    def test_cpu_time_of_ranks_that_come_to_a_bad_end(self):
        program = self.program()
        busy = f"{program} die & wait $!"  # the shell's account has its children's
        compute = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; "
        for words in (("-n", 2, program, "die"), ("-n", 2, "sh", "-c", compute + "kill -9 $$"),
                      ("--timeout", 3, "-n", 2, "sh", "-c", f"trap '' TERM; {compute} sleep 100"),
                      ("-n", 2, "sh", "-c", f"{compute} {busy}")):
            path = self.path("report.json")
            result = self.run_job(f"--report={path}", *words)
            self.assertNotEqual(result.status, 0, result)
            with open(path) as file:
                report = json.load(file)
            for rank in report["ranks"]:
                self.assertGreater(rank["cpu"], 0, (words, report))
            for worker in report["per_worker"]:  # a process rank's: the same figure
                [number] = worker["ranks"]
                self.assertAlmostEqual(worker["cpu"], report["ranks"][number]["cpu"], places=6, msg=(words, report))

    def test_table_and_files(self):
        """All that is asked for: none takes the place of another one."""
        one, other = self.path("one.json"), self.path("other.json")
        for words in (("--report", f"--report={one}", f"--report={other}", f"--report={one}"),
                      (f"--report={other}", f"--report={one}", "--report")):
            result = self.run_job(*words, "-n", 2, self.program())
            self.assertEqual((result.status, result.output), (0, "done\n"), result)
            self.assertEqual(result.error.count("core-seconds: "), 1, result)
            texts = []
            for path in (one, other):
                with open(path) as file:
                    texts.append(file.read())
                os.remove(path)
            self.assertEqual(len(json.loads(texts[0])["ranks"]), 2)
            self.assertEqual(texts[0], texts[1])
        # Of two programs of one job each may ask for a form of its own.
        result = self.run_job("--report", "true", ":", f"--report={one}", "true")
        self.assertEqual((result.status, result.error.count("core-seconds: "), os.path.exists(one)), (0, 1, True), result)
        result = self.run_job(f"--report={one}", f"--report={other}", "true")
        self.assertEqual((result.status, result.error, os.path.exists(other)), (0, "", True), result)

    def test_by_a_setting(self):
        path, program = self.path("report.json"), self.program()
        for said, table, file in (("1", True, False), ("0", False, False), (path, False, True)):
            result = self.run_job("-n", 2, program, env=dict(self.environment, MEANTIME_REPORT=said))
            self.assertEqual((result.status, "where the time of 2 ranks" in result.error, os.path.exists(path)),
                             (0, table, file), result)
        os.remove(path)
        result = self.run_job("--report", "-n", 2, program, env=dict(self.environment, MEANTIME_REPORT=path))
        self.assertEqual((result.status, os.path.exists(path)), (0, False), "an option overrules it")

    def test_file_without_a_name(self):
        result = self.run_job("--report=", "true")
        self.assertEqual(result.status, 2)
        self.assert_one_line(result, "--report= wants a file's name")

    def test_file_that_cannot_be_written(self):
        result = self.run_job("--report=/no/such/folder/report.json", "true")
        self.assertEqual(result.status, 1)
        self.assert_one_line(result, "--report: cannot write '/no/such/folder/report.json'")

    def test_a_job_that_is_refused_leaves_an_older_report(self):
        old, new = self.path("old.json", "older", mode=0o644), self.path("new.json")
        script = self.path("script", "#!/bin/sh\n")
        clean = {name: value for name, value in self.environment.items() if name != "DISPLAY"}
        few_files = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))}
        for words, options in ((("--as", "threads", script), {}), (("--report=/no/such/folder/r.json", "true"), {}),
                               (("--debugger", "gdb", "-n", 2, "true"), {"env": clean}), (("-n", 500, "true"), few_files)):
            result = self.run_job(f"--report={old}", f"--report={new}", *words, **options)
            self.assertEqual(result.status, 1, result)
            with open(old) as file:
                self.assertEqual(file.read(), "older", words)
            self.assertFalse(os.path.exists(new) and options is not few_files, words)
        with open(old, "w") as file:
            file.write("x" * 1000000)
        self.assertEqual(self.run_job(f"--report={old}", "true").status, 0)
        with open(old) as file:
            json.load(file)

    def test_file_that_cannot_be_written_whole(self):
        """Half a JSON is none: it is removed. What only has its name is not."""
        path, program = self.path("report.json"), self.program()
        # The rank's parent is the supervisor, which writes the report.
        full = ["sh", "-c", f"prlimit --fsize=1000:unlimited --pid $PPID; {program}; exit $0"]
        for status in (0, 3):
            result = self.run_job(f"--report={path}", *full, status)
            self.assertEqual(result.status, status or 1, result)
            self.assert_one_line(result, f"--report: cannot write '{path}': File too large")
            self.assertFalse(os.path.exists(path))
        other = self.path("other", "")
        os.symlink(other, path)
        self.assertEqual(self.run_job(f"--report={path}", *full, 0).status, 1)
        self.assertTrue(os.path.islink(path) and os.path.exists(other))
        result = self.run_job("--report=/dev/full", "true")
        self.assertEqual(result.status, 1)
        self.assert_one_line(result, "--report: cannot write '/dev/full': No space left on device")
        self.assertTrue(os.path.exists("/dev/full"))

    def test_file_of_a_job_that_is_killed(self):
        """Who could write it is gone: nothing is left that looks like a report."""
        path = self.path("report.json")
        for victim in ("mpiexec", "supervisor"):
            job = self.start(f"--report={path}", "sh", "-c", "echo $PPID; exec sleep 100")
            supervisor = int(job.stdout.readline())
            self.assertTrue(os.path.exists(path))
            os.kill(job.pid if victim == "mpiexec" else supervisor, signal.SIGKILL)
            job.communicate(timeout=60)
            self.wait_for(lambda: not os.path.exists(path), f"the end of the file, {victim} killed")
        self.assert_nothing_left()

    def test_file_while_nobody_reads_the_output(self):
        path = self.path("report.json")
        job = self.start("-l", "--timeout", 1, f"--report={path}", "sh", "-c", "yes")
        try:
            self.assertEqual(job.wait(timeout=60), 124)
        finally:
            job.kill()
            job.communicate()
        with open(path) as file:
            self.assertEqual(len(json.load(file)["ranks"]), 1)

    def test_file_after_a_space(self):
        result = self.run_job("--report", "no-such.json", "-n", 1, "true")
        self.assertEqual(result.status, 127)
        self.assert_one_line(result, "did you mean --report=no-such.json?")


if __name__ == "__main__":
    main()
