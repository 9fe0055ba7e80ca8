"""The installed benchmarks as a user has them: what they print, refuse and write. No test looks at a time."""
import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

BIN = os.path.join(os.environ["MEANTIME_BUILD"], "bin")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("MEANTIME_")}
ORACLE = os.environ.get("MEANTIME_ORACLE")
CPUS = len(os.sched_getaffinity(0))


class Shipped(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="meantime-bench-")
        self.addCleanup(shutil.rmtree, self.folder)

    def run_here(self, *words, status=0):
        result = subprocess.run([os.path.join(BIN, words[0]), *map(str, words[1:])], cwd=self.folder, text=True,
                                capture_output=True, timeout=300, env=ENVIRONMENT, check=False)
        self.assertEqual(result.returncode, status, f"{words}\n{result.stdout}{result.stderr}")
        return result.stdout if status == 0 else result.stderr

    def on_terminal(self, columns, *words):
        ours, its = os.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
        with subprocess.Popen([os.path.join(BIN, words[0]), *words[1:]], cwd=self.folder, stdout=its, env=ENVIRONMENT):
            os.close(its)
            seen = b""
            with contextlib.suppress(OSError):  # the last one has closed it
                while piece := os.read(ours, 4096):
                    seen += piece
            os.close(ours)
        return seen.decode().replace("\r\n", "\n")

    def test_reader_that_has_gone(self):
        """meantime bench | head"""
        for words in ((), ("libra", "--help")):
            ends = os.pipe()
            os.close(ends[0])
            with os.fdopen(ends[1], "w") as output:
                result = subprocess.run([os.path.join(BIN, "meantime"), "bench", *words], stdout=output, stderr=subprocess.PIPE,
                                        text=True, env=ENVIRONMENT, timeout=60, check=False)
            self.assertEqual(result.stderr, "", words)
            self.assertIn(result.returncode, (141,) if not words else (0, 141))  # argparse may not care

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def read(self, *names):
        with open(self.path(*names), encoding="utf-8") as file:
            return file.read()

    def json_lines(self, *words):
        return [json.loads(line) for line in self.run_here(*words).splitlines() if line.startswith("{")]

    def rows(self, *words):
        return [line["row"] for line in self.json_lines(*words) if "row" in line]


class Libra(Shipped):
    def libra(self, *words, ranks=2):
        return ("mpiexec", "-n", ranks, os.path.join(BIN, "meantime-libra"), *words)

    def test_every_mode_and_size(self):
        for mode in ("poll", "yield", "event", "adaptive"):
            with self.subTest(mode):
                lines = self.json_lines(*self.libra("--json", "--mode", mode, "--bytes", "1,8,64K", "--delays", "0,100",
                                                    "--iterations", 5))
                self.assertEqual(lines[0]["mode"], mode)
                found = [line["row"] for line in lines if "row" in line]
                self.assertEqual([(row["bytes"], row["delay_us"]) for row in found],
                                 [(size, delay) for delay in (0, 100) for size in (1, 8, 1 << 16)])
                for row in found:
                    self.assertEqual(row["samples"], 5)
                    self.assertLessEqual(row["min"], row["median"])
                    self.assertGreaterEqual(row["waiting_cpu_share"], 0)
                    self.assertTrue(0 < row["waiting_median"] <= row["waiting_p99"])

    def test_latencies_file(self):
        for kind, factors in (("constant", (1, 1)), ("jitter", (0.7, 1.3)), ("bimodal", (0.5, 1.5))):
            self.run_here(*self.libra("--bytes", "8", "--delays", "0,100", "--delay", kind, "--iterations", 30,
                                      "--latencies", self.path("latencies"), ranks=4))
            head, *lines = [line.split("\t") for line in self.read("latencies").splitlines()]
            self.assertEqual(head, ["bytes", "delay_us", "pair", "iteration", "late_us", "round_trip_us", "measured_turn_us"])
            self.assertEqual([line[:4] for line in lines],
                             [["8", delay, str(pair), str(i)] for delay in ("0", "100") for pair in (0, 1)
                              for i in range(30)])
            late = [float(line[4]) for line in lines if line[1] == "100"]
            for value in late:
                self.assertTrue(100 * factors[0] <= value <= 100 * factors[1], value)
            self.assertEqual(len(set(late)), {"constant": 1, "jitter": 30, "bimodal": 2}[kind])
            self.assertTrue(all(float(line[5]) > 0 for line in lines))
            self.assertTrue(all(float(line[6]) > 0 for line in lines))

    def test_knobs_are_the_measured_sides(self):
        program = self.path("knobs")
        with open(program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexec meantime-libra --mode event --bytes 8 --delays 0 --iterations 5\n")
        os.chmod(program, 0o755)
        report = self.path("report.json")
        self.run_here("mpiexec", "-x", "MEANTIME_TRIES_POLL=7", "-x", f"PATH={BIN}:{os.environ['PATH']}", f"--report={report}",
                      "-n", 2, program)
        with open(report, encoding="utf-8") as file:
            ways = [rank["wait"] for rank in json.load(file)["ranks"]]
        self.assertIn("7", str(ways[1]))
        self.assertNotIn("7", str(ways[0]))

    def test_as_many_iterations_as_in_the_paper(self):
        found = self.rows(*self.libra("--json", "--bytes", "8", "--delays", "0"))
        self.assertEqual(found[0]["samples"], 100_000)
        found = self.rows(*self.libra("--json", "--bytes", "8M", "--delays", "0"))
        self.assertEqual(found[0]["samples"], 100)
        found = self.rows(*self.libra("--json", "--bytes", "8", "--delays", "100", "--seconds", "0.02"))
        self.assertIn(found[0]["samples"], range(100, 201))

    def test_seconds_end_what_takes_longer(self):
        for place in ("one", "free"):
            for seconds, delay, done in (("0.000001", "0", 100), ("0.000001", "50", 100), ("1000", "0", 2000)):
                found = self.rows(*self.libra("--json", "--place", place, "--mode", "event", "--sending-mode", "event",
                                              "--bytes", "8", "--delays", delay, "--iterations", 2000,
                                              "--seconds", seconds, "--latencies", self.path("latencies"), ranks=4))
                self.assertEqual(found[0]["samples"], 2 * done)
                self.assertEqual(len(self.read("latencies").splitlines()), 1 + 2 * done)

    def test_both_on_one_cpu(self):
        lines = self.json_lines(*self.libra("--json", "--mode", "event", "--sending-mode", "event", "--place", "one",
                                            "--bytes", "8", "--delays", "50", "--iterations", 20))
        self.assertEqual(lines[0]["place"], "one")

    def test_energy_is_read_or_not_claimed(self):
        command = self.libra("--json", "--bytes", "8", "--delays", "0", "--iterations", 10, "--powercap")
        header, *rest = self.json_lines(*command, self.path("none"))
        self.assertIn("none read", header["energy"])
        self.assertNotIn("waiting_joules", rest[-1]["row"])
        self.assertIn("none read", header["machine_energy"])
        self.assertNotIn("machine_joules", rest[-1]["row"])

    def zones(self, folder, *names):
        """Powercap's, as they look where there are these."""
        for number, name in enumerate(names):
            zone = self.path(folder, f"intel-rapl:{number}")
            os.makedirs(zone)
            for file, text in (("name", name), ("energy_uj", "5"), ("max_energy_range_uj", str(1 << 40))):
                self.write_zone(folder, number, file, text)

    def write_zone(self, folder, number, file, text):
        new = self.path("new")
        with open(new, "w", encoding="utf-8") as out:
            out.write(f"{text}\n")
        os.rename(new, self.path(folder, f"intel-rapl:{number}", file))

    def packages(self):
        packages = {0}
        for cpu in os.sched_getaffinity(0):
            with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", encoding="utf-8") as file:
                packages.add(max(0, int(file.read())))
        return [f"package-{package}" for package in sorted(packages)]

    def test_energy_of_the_package_and_of_the_machine(self):
        """Of the machine: what its board is fed with, else its packages and their memory."""
        packages = self.packages()
        for folder, zones, machine in (("server", [*packages, "dram", "core"], " + ".join([*packages, "dram"])),
                                       ("laptop", [*packages, "psys"], "psys")):
            self.zones(folder, *zones)
            command = self.libra("--json", "--bytes", "8", "--delays", "0", "--iterations", 10, "--powercap", self.path(folder))
            header, *rest = self.json_lines(*command)
            self.assertRegex(header["energy"], r"^package-\d+ \(all of the package\)$")
            self.assertEqual(header["machine_energy"], machine)
            self.assertEqual((rest[-1]["row"]["waiting_joules"], rest[-1]["row"]["machine_joules"]), (0, 0))

    def test_energy_is_counted(self):
        packages = self.packages()
        self.zones("powercap", *packages, "dram")
        # Long enough that the counters go on meanwhile; each joule once, however many read it.
        command = self.libra("--json", "--bytes", "8", "--delays", "10000", "--iterations", 100, "--powercap", self.path("powercap"))
        libra = subprocess.Popen([os.path.join(BIN, command[0]), *map(str, command[1:])], text=True, env=ENVIRONMENT,
                                 stdout=subprocess.PIPE)
        given = 5
        while libra.poll() is None:
            given += 3_000_000
            for number in range(len(packages) + 1):
                self.write_zone("powercap", number, "energy_uj", given)
            time.sleep(0.01)
        row = [json.loads(line)["row"] for line in libra.communicate()[0].splitlines() if '"row"' in line][-1]
        for name, zones in (("waiting_joules", 1), ("machine_joules", len(packages) + 1)):
            self.assertTrue(0 < 100 * row[name] <= zones * given * 1e-6, row)
        self.assertGreater(row["machine_joules"], row["waiting_joules"])

    def test_refuses(self):
        for words, said in ((("--mode", "wildly"), "MEANTIME_WAIT"), (("--delay", "late"), "constant, jitter or bimodal"),
                            (("--place", "three"), "--place is"), (("--bytes", "x"), "not a size"),
                            (("--delays", "5x"), "--delays wants numbers"), (("--delays", ""), "--delays wants a list"),
                            (("--bytes", "0"), "--bytes wants sizes from 1 to 1G, not '0'"), (("--bytes", "-8"), "'-8' is not a size"),
                            (("--bytes", ""), "--bytes wants a list"), (("--bytes", "1.5"), "'1.5' is not a size"),
                            (("--sending-mode", "event"), "--sending-mode is of no use without --mode"),
                            (("--iterations", "100000001"), "--iterations wants at most 100000000, not '100000001'"),
                            (("--iterations", "0"), "--iterations wants a whole number from 1 on, not '0'"),
                            (("--iterations", "-5"), "--iterations wants"), (("--iterations", "0.5"), "--iterations wants"),
                            (("--iterations", "many"), "--iterations wants"), (("--iterations", "nan"), "--iterations wants"),
                            (("--seconds", "0"), "--seconds wants seconds, more than 0, not '0'"),
                            (("--seconds", "-1"), "--seconds wants"), (("--seconds", "nan"), "--seconds wants"),
                            (("--nonsense",), "unknown option")):
            result = subprocess.run([os.path.join(BIN, "mpiexec"), *map(str, self.libra(*words)[1:])], text=True,
                                    capture_output=True, timeout=60, env=ENVIRONMENT, check=False)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(said, result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("pairs of ranks", self.run_here(*self.libra(ranks=3), status=2))
        self.assertIn("--mode", self.run_here("meantime-libra", "--mode", "poll", status=2))
        self.assertIn("round trips", self.run_here("meantime-libra", "--help"))


class Overlap(Shipped):
    def overlap(self, *words, ranks=2):
        return ("mpiexec", "-n", ranks, os.path.join(BIN, "meantime-overlap"), *words)

    def test_phases(self):
        lines = self.json_lines(*self.overlap("--json", "--bytes", "1K,64K", "--compute-us", 20, "--turns", 2, "--batches", 3,
                                              "--waitall"))
        names = [(line["row"]["name"], line["row"]["bytes"]) for line in lines if "row" in line]
        self.assertEqual(names, [(name, size) for size in (1024, 65536) for name in ("T_comp", "T_comm", "T_full")])
        waits = [line["list"]["values"] for line in lines if "list" in line]
        self.assertEqual([len(values) for values in waits], [101, 101])
        for values in waits:
            self.assertEqual(values, sorted(values))
        found = self.rows(*self.overlap("--json", "--bytes", "1K", "--phases", "comm", "--turns", 2))
        self.assertEqual([row["name"] for row in found], ["T_comm"])

    def test_refuses(self):
        for words, said in ((("--phases", "sleep"), "no phase 'sleep'"), (("--turns", 0), "at least 1"),
                            (("--nonsense",), "unknown option")):
            self.assertIn(said, self.run_here(*self.overlap(*words, ranks=1), status=2))
        self.assertIn("stencil", self.run_here("meantime-overlap", "--help"))


class Wakeup(Shipped):
    def test_every_mechanism(self):
        lines = self.json_lines("meantime-wakeup", "--json", "--turns", 5, "--late", "10,100")
        found = [line["row"] for line in lines if "row" in line]
        skipped = [line["skip"] for line in lines if "skip" in line]
        self.assertEqual({row["place"] for row in found}, {"same", "two"} if CPUS > 1 else {"same"})
        self.assertEqual(len(found) + len(skipped), 2 * 2 * 11)
        for row in found:
            self.assertEqual(row["samples"], 5)
            self.assertLessEqual(row["min"], row["median"])
            self.assertLessEqual(row["median"], row["max"])

    def test_meantime_bench_knows_them(self):
        listed = self.run_here("meantime-wakeup", "--help").partition("--ways LIST")[2].partition("(default")[0]
        options = " ".join(self.run_here("meantime", "bench", "wakeup", "--help").split())
        self.assertIn("mechanisms: " + " ".join(listed.split()) + " (default: all)", options)

    def test_refuses(self):
        for words, said in ((("--ways", "shout"), "no way 'shout'"), (("--places", "three"), "--places are"),
                            (("--turns", 0), "--turns"), (("--teller", "talk"), "--teller"), (("--nonsense",), "unknown option")):
            self.assertIn(said, self.run_here("meantime-wakeup", *words, status=2))


class Yieldshare(Shipped):
    def test_counts_both(self):
        lines = self.json_lines("meantime-yieldshare", "--json", "--seconds", 0.05)
        self.assertEqual(lines[0]["program"], "yieldshare")
        found = [line["row"] for line in lines if "row" in line]
        self.assertEqual([(row["pair"], row["which"], row["call"]) for row in found], [
            ("getppid+getppid", 1, "getppid"), ("getppid+getppid", 2, "getppid"), ("getppid+yield", 1, "getppid"),
            ("getppid+yield", 2, "yield"), ("yield+yield", 1, "yield"), ("yield+yield", 2, "yield")])
        for first, second in zip(found[::2], found[1::2]):
            self.assertAlmostEqual(first["median"] + second["median"], 1, places=4)

    def scheduler(self, **files):
        root = tempfile.mkdtemp(dir=self.folder)
        for name, text in files.items():
            path = os.path.join(root, *name.split("__"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        header = self.json_lines("meantime-yieldshare", "--json", "--seconds", 0.001, "--root", root)[0]
        return header["scheduler"], header["found_by"]

    def test_names_the_scheduler(self):
        self.assertEqual(self.scheduler(proc__self__sched="se.vruntime : 1\nse.slice : 2\n"),
                         ("EEVDF", "se.slice in /proc/self/sched"))
        self.assertEqual(self.scheduler(sys__kernel__debug__sched__features="GENTLE PLACE_LAG\n")[0], "EEVDF")
        self.assertEqual(self.scheduler(sys__kernel__sched_ext__state="enabled\n", sys__kernel__sched_ext__root__ops="rusty\n",
                                        proc__self__sched="se.slice : 2\n")[0], "sched_ext rusty")
        name, found_by = self.scheduler(sys__kernel__sched_ext__state="disabled\n")
        major, minor = (int(part) for part in os.uname().release.split(".")[:2])
        self.assertEqual(name, "EEVDF" if (major, minor) >= (6, 6) else "CFS")
        self.assertIn("version", found_by)

    def test_refuses(self):
        self.assertIn("no pair", self.run_here("meantime-yieldshare", "--pairs", "yield+nap", status=2))


class MeantimeBench(Shipped):
    def test_overview_and_mistakes(self):
        overview = self.run_here("meantime", "bench")
        for name in re.findall(r"^  (\w+) ", overview, re.M):
            self.assertIn("--output", self.run_here("meantime", "bench", name, "--help"))
        self.assertIn("no benchmark 'nothing'", self.run_here("meantime", "bench", "nothing", status=2))
        self.assertIn("unrecognized", self.run_here("meantime", "bench", "libra", "--nothing", status=2))
        self.assertIn("no results", self.run_here("meantime", "bench", "libra", "--show", status=1))

    def assert_written(self, folder):
        found = json.loads(self.read(folder, "results.json"))
        self.assertTrue(found["rows"])
        self.assertIn(found["machine"], self.read(folder, "results.md"))
        return found

    def test_libra(self):
        # Two that poll on one CPU take a tick for each turn, and more where others want that CPU: not here.
        for parts, modes in (("grid", "poll,event,adaptive"), ("late,bare,one", "event")):
            self.run_here("meantime", "bench", "libra", "--quick", "--repetitions", 1, "--no-peers", "--modes", modes,
                          "--parts", parts, "--bytes", "8,4K", "--delays", "0,50", "--seconds", "0.005", "--output", parts)
            found = self.assert_written(parts)
            expected = set(parts.split(",")) if CPUS > 1 else {"bare", "one"} & set(parts.split(","))
            self.assertEqual({row["part"] for row in found["rows"]}, expected)
            self.assertEqual({row["who"] for row in found["rows"] if row["part"] != "bare"},
                             {f"Meantime {mode}" for mode in modes.split(",")})
            before = self.read(parts, "results.md")
            if "poll" in modes and CPUS > 1:
                for what in ("p99.9", "maximum"):
                    self.assertRegex(before, rf"\n\| no delay: {what} of adaptive against poll \| ≤ 1 × \| [^(|]+ × \(")
            self.run_here("meantime", "bench", "libra", "--show", "--output", parts)
            self.assertEqual(self.read(parts, "results.md"), before)

    def test_progress_and_partial_results(self):
        # Interrupted in the second of many repetitions: the first has been written down.
        command = [os.path.join(BIN, "meantime"), "bench", "wakeup", "--quick", "--repetitions", "100000", "--late", "1000",
                   "--ways", "futex"]
        no_figures = subprocess.run(["python3", "-c", "import matplotlib"], env=ENVIRONMENT, stderr=subprocess.DEVNULL, check=False).returncode != 0
        for number in (signal.SIGINT, signal.SIGTERM):
            bench = subprocess.Popen(command, cwd=self.folder, text=True, env=ENVIRONMENT, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE,  # SIGINT is ignored in a script's background
                                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            said = bench.stderr.readline()
            if said.startswith("Load "):  # other tests run beside this one
                said = bench.stderr.readline()
            if no_figures:  # is said before minutes are spent
                self.assertIn("matplotlib is missing", said)
                said = bench.stderr.readline()
            self.assertEqual(said, "run 1 of 100000: 1000 µs\n")
            self.assertEqual(bench.stderr.readline(), "run 2 of 100000: 1000 µs\n")
            bench.send_signal(number)
            said = bench.communicate(timeout=300)[1]
            self.assertEqual(bench.returncode, 130, said)
            self.assertIn("what was measured so far", said)
            found = json.loads(self.read("meantime-wakeup", "results.json"))
            self.assertIn(0, {row["repetition"] for row in found["rows"]})
            self.assertTrue(any("interrupted" in note for note in found["notes"]), found["notes"])
            self.run_here("meantime", "bench", "wakeup", "--show")

    def test_wakeup(self):
        self.run_here("meantime", "bench", "wakeup", "--quick", "--repetitions", 2, "--late", "1000", "--ways", "futex,pipe")
        found = self.assert_written("meantime-wakeup")
        self.assertEqual(len(found["rows"]), 2 * 2 * (2 if CPUS > 1 else 1))

    @unittest.skipIf(CPUS < 2, "two jobs at once need two CPUs")
    def test_makespan(self):
        words = ("bench", "makespan", "--repetitions", "1", "--modes", "event", "--us", "200", "--seconds", "0.2", "--no-peers")
        terminal, other_end = os.openpty()
        with os.fdopen(other_end, "wb") as output:
            result = subprocess.run([os.path.join(BIN, "meantime"), *words], cwd=self.folder, text=True, stdout=output,
                                    stderr=subprocess.PIPE, timeout=300, env=ENVIRONMENT, check=False)
            self.assertEqual(result.returncode, 0, result)
        said = ""
        with os.fdopen(terminal, "rb", buffering=0) as output, contextlib.suppress(OSError):  # EIO at its end
            while part := output.read(4096):
                said += part.decode()
        self.assertIn("run 1 of 1: Meantime --wait event, waits of 400 µs, two jobs at once\n", result.stderr)
        self.assertLessEqual((said + result.stderr).count("No figures"), 1)
        lines = [line for line in said.splitlines() if line.startswith(("---", "Meantime "))]
        self.assertEqual((len(lines), len(set(map(len, lines)))), (3, 1), said)  # columns, and no Markdown
        self.assertNotRegex(said, r"\||(?m:^#)")
        rows = self.assert_written("meantime-makespan")["rows"]
        self.assertEqual([(row["who"], row["how"]) for row in rows],
                         [(who, how) for who in ("Meantime --wait event", "Meantime as installed")
                          for how in ("one after the other", "at once")])
        for row in rows:
            self.assertTrue(0 < row["cpu_seconds"] <= 1.1 * row["cpus"] * row["seconds"], row)
        text = self.read("meantime-makespan", "results.md")
        self.assertIn("## Two jobs, ranks that wait for 400 µs in each step", text)
        self.assertIn("in proportion would be every CPU computing all the time", text)
        before = self.read("meantime-makespan", "results.md")
        self.run_here("meantime", "bench", "makespan", "--show")
        self.assertEqual(self.read("meantime-makespan", "results.md"), before)

    @unittest.skipIf(CPUS < 2, "ranks that wait for others need two CPUs")
    def test_steal(self):
        self.run_here("meantime", "bench", "steal", "--repetitions", 1, "--guests", "primes", "--us", 200, "--seconds", "0.3")
        rows = self.assert_written("meantime-steal")["rows"]
        ours = [row for row in rows if row.get("mpi", "Meantime").startswith("Meantime")]
        self.assertEqual([(row["program"], row.get("way"), row["guest"]) for row in ours],
                         [(program, way, guest) for program in ("half wait 400 µs", "none waits for long")
                          for way, guest in (("none", "none"), ("program", "primes"), ("function", "primes"))]
                         + [("wake-up", None, "none"), ("wake-up", None, "primes")])
        self.assertTrue(all(0 < row["units"] for row in rows if "units" in row), rows)
        self.assertIn("in proportion to none", self.read("meantime-steal", "results.md"))

    def test_yieldshare(self):
        self.run_here("meantime", "bench", "yieldshare", "--repetitions", 2, "--seconds", "0.05")
        self.assertEqual(len(self.assert_written("meantime-yieldshare")["rows"]), 12)
        for part in ("Scheduler: ", "third bar (Yield*) is of a kernel that its authors patched"):
            self.assertIn(part, self.read("meantime-yieldshare", "results.md"))
        for columns in 80, 200:
            lines = self.on_terminal(columns, "meantime", "bench", "yieldshare", "--show").splitlines()
            table = lines[next(place for place, line in enumerate(lines) if line.startswith("--")):-3]
            self.assertLessEqual(max(map(len, table)), 1.2 * columns, lines)  # numbers may be long
            self.assertEqual(sum(bool(re.search(r"\d \(\d", line)) for line in lines), 0 if columns == 80 else 6, lines)

    def test_overlap(self):
        kinds = ["processes"]
        if os.path.exists(os.path.join(BIN, "..", "libexec", "meantime", "meantime-host")):
            kinds.append("threads")
        self.run_here("meantime", "bench", "overlap", "--quick", "--repetitions", 1, "--per-core", "1,2", "--kinds",
                      ",".join(kinds), "--bytes", "1K,64K", "--compute-us", 50, "--turns", 2)
        found = self.assert_written("meantime-overlap")
        self.assertEqual({row["kind"] for row in found["rows"]}, set(kinds))
        sides = {row["one_side"] for row in found["rows"] if "one_side" in row}
        self.assertEqual(len(sides), 4 if "threads" in kinds and CPUS % 2 == 0 else 0)
        if sides:
            self.assertIn("| receiver, posted after | 1 | V = 2 |", self.read("meantime-overlap", "results.md"))
        self.assertIn("no results of libra", self.run_here("meantime", "bench", "libra", "--show", "--output",
                                                           "meantime-overlap", status=1))

    def test_clocks(self):
        kinds = ["processes"]
        if os.path.exists(os.path.join(BIN, "..", "libexec", "meantime", "meantime-host")):
            kinds.append("threads")
        self.run_here("meantime", "bench", "clocks", "--quick", "--repetitions", 1, "--size", 6, "--ranks", 2, "--kinds",
                      ",".join(kinds))
        found = self.assert_written("meantime-clocks")
        cases = {(row["case"], row["side"]) for row in found["rows"] if row["part"] == "switch"}
        self.assertLessEqual({(case, side) for case in ("nothing", "none", "Rtime", "Ptime", "page-faults")
                              for side in ("suspend", "resume")}, cases)
        rows = [row for row in found["rows"] if row["part"] == "hpccg"]
        self.assertEqual(len(rows), len(kinds) * 2 * 2 * 4)  # alone and together, two clocks, four parts
        self.assertIn("| ddot MFLOP/s |", self.read("meantime-clocks", "results.md"))

    def test_a_mode_that_there_is_not(self):
        said = self.run_here("meantime", "bench", "libra", "--no-peers", "--modes", "poll,wildly", status=1)
        # (Before it there may be a line about matplotlib.)
        self.assertRegex(said, "(?m)^meantime bench libra: --modes: MEANTIME_WAIT must be .*, not 'wildly'$")

    def test_options_that_make_no_sense(self):
        """Refused before anything is measured, with what was wrong."""
        for words, wrong in ((("libra", "--seconds", "0"), "a number above 0"), (("libra", "--seconds", "x"), "a number above 0"),
                             (("libra", "--bytes", "8,x"), "sizes from 1 on"), (("libra", "--bytes", "0"), "sizes from 1 on"),
                             (("libra", "--delays", "-1"), "numbers from 0 on"),
                             (("libra", "--parts", "grid,all"), "there is no 'all', only grid, late, bare, one"),
                             (("wakeup", "--late", "5,soon"), "numbers from 0 on"),
                             (("wakeup", "--ways", "futex,foo"), "there is no 'foo', only poll, yield, futex, "),
                             (("yieldshare", "--seconds", "-5"), "a number above 0"),
                             (("makespan", "--us", "0"), "whole numbers from 1 on"),
                             (("overlap", "--per-core", "0"), "whole numbers from 1 on"),
                             (("overlap", "--kinds", "fibers"), "there is no 'fibers', only threads, processes"),
                             (("overlap", "--wire", "fast"), "LATENCY_US:MB_PER_S[:interface] or none"),
                             (("wakeup", "--output", "/dev/null"), "/dev/null is not a folder")):
            said = self.run_here("meantime", "bench", *words, status=2)
            self.assertIn(wrong, said)
            self.assertNotIn("Traceback", said)
        said = self.run_here("meantime", "bench", "wakeup", "--output", "/proc/nowhere", status=1)
        self.assertRegex(said, "^meantime bench wakeup: --output: /proc/nowhere cannot be made: .*\n$")
        said = self.run_here("meantime", "bench", "wakeup", "--show", "--output", "nothing", status=1)
        self.assertEqual(said, "meantime bench wakeup: no results to show: there is no nothing/results.json; `meantime bench "
                         "wakeup` measures, --output says where the results are\n")
        self.assertFalse(os.path.exists(self.path("nothing")))


class OtherMpis(Shipped):
    """Plain MPI: the sources with any wrapper, the programs with any library of the standard ABI."""

    def test_the_sources_with_other_wrappers(self):
        sources = os.path.join(BIN, "..", "share", "meantime", "bench")
        found = [name for name in ("openmpi", "mpich") if shutil.which(f"mpicxx.{name}")]
        if not found:
            self.skipTest("no other MPI here")
        for name in found:
            for program in ("libra", "overlap", "hpccg"):
                self.run_here(shutil.which(f"mpicxx.{name}"), "-std=c++17", "-O2", "-DOMPI_SKIP_MPICXX",
                              "-DMPICH_SKIP_MPICXX", os.path.join(sources, program, f"{program}.cpp"), "-o", program)

    def test_the_programs_with_the_oracle(self):
        library = ORACLE and os.path.join(ORACLE, "lib", "libmpi_abi.so.1")
        if not library or not os.path.exists(library):
            self.skipTest("no MPICH with the standard ABI here (packaging/oracle makes it)")
        environment = {**ENVIRONMENT, "LD_LIBRARY_PATH": os.path.dirname(library)}
        for program, words in (("libra", ("--mode", "yield", "--bytes", "8", "--delays", "0,50", "--iterations", "5")),
                               ("overlap", ("--bytes", "1K", "--compute-us", "20", "--turns", "2")),
                               ("hpccg", ("--size", "6"))):
            result = subprocess.run([os.path.join(ORACLE, "bin", "mpiexec"), "-n", "2",
                                     os.path.join(BIN, f"meantime-{program}"), "--json", *words], text=True,
                                    capture_output=True, timeout=300, env=environment, check=False)
            self.assertEqual(result.returncode, 0, result.stderr)
            lines = [json.loads(line) for line in result.stdout.splitlines()]
            self.assertIn("MPICH", lines[0]["mpi"])
            self.assertEqual(sum("row" in line for line in lines), {"libra": 2, "overlap": 3, "hpccg": 8}[program])


if __name__ == "__main__":
    sys.exit(unittest.main())
