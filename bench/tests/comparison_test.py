"""The parts of bench/compare that need no MPI: reading, summing up, judging, writing, stopping.
No timed assertions: only that nothing is left behind."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from comparison import cases, document, goals, launch, measure, peers, rows, store  # noqa: E402

PING = rows.Point.of("latency", 2, "ping-pong", bytes=8, buffers=1)
BARE_PING = rows.Point.of("mailbox", 2, "ping-pong", bytes=8)
RATE = rows.Point.of("bandwidth", 2, "bandwidth", ways="one", pairs=1, bytes=1 << 20)
CROWD = rows.Point.of("oversubscription", 64, "barrier", communicator="world", bytes=0)
ONE_CPU = rows.Point.of("latency", 2, "ping-pong", bytes=8, buffers=1, cpus=1)
FIBERS = rows.Point.of("fibers", 64, "barrier", way="loop", workers=2)
OPENMPI = measure.Who("openmpi", peers.AS_INSTALLED)
MPICH = measure.Who("mpich", peers.AS_INSTALLED)
BARE = measure.Who(measure.BARE, peers.AS_INSTALLED)


def sample(median, unit="us"):
    return rows.Sample(unit, median, median * 2, median * 10, 100)


def a_store(samples, beyond=()):
    findings = measure.Findings()
    for point, who, *values in samples:
        for value in values:
            findings.add(point, who, sample(value, "MB/s" if point == RATE else "us"))
    for point, who, seconds in beyond:
        findings.beyond[point, who] = seconds
    result = store.Store()
    result.add(findings, store.this_run(["bench/compare"], True, 3, []))
    return result


def judged(of_store, point):
    return next(goals.judge(of_store, row) for row in goals.rows(of_store) if row.point == point)


class Reading(unittest.TestCase):
    def test_rows_and_the_point_that_was_cut_off(self):
        reader = rows.Reader("latency", 2)
        for line in (
                "noise of a launcher",
                '{"program": "latency", "mpi": "Some MPI", "ranks": 2}',
                '{"start": {"name": "ping-pong", "bytes": 8, "buffers": 1}}',
                '{"row": {"name": "ping-pong", "bytes": 8, "buffers": 1, "unit": "us", "median": 0.5, '
                '"mean": 0.6, "min": 0.4, "p99": 1, "max": 7, "samples": 9}}',
                '{"skip": {"name": "ping-pong", "bytes": 9, "why": "no memory"}}',
                '{"start": {"name": "ping-pong", "bytes": 64, "buffers": 1}}',
                '{"row": {"name": "ping'):
            reader.line(line)
        self.assertEqual(reader.samples, {PING: rows.Sample("us", 0.5, 1, 7, 9)})
        self.assertEqual(list(reader.skipped.values()), ["no memory"])
        self.assertEqual(reader.current.key("bytes"), 64)
        self.assertEqual(reader.library, "Some MPI")

    def test_summary_of_times_and_of_rates(self):
        times = rows.Summary.of([sample(3), sample(1), sample(2)])
        self.assertEqual((times.median, times.low, times.high, times.worst, times.runs), (2, 1, 3, 30, 3))
        rates = rows.Summary.of([sample(3, "MB/s"), sample(1, "MB/s")])
        self.assertTrue(rates.higher_is_better)
        self.assertEqual(rates.worst, 2)


class Judging(unittest.TestCase):
    def test_ratios_to_the_bare_prototype_and_the_best_peer(self):
        found = judged(a_store([(PING, goals.OURS, 1.1), (PING, OPENMPI, 2), (PING, MPICH, 4),
                                (BARE_PING, BARE, 1)]), PING)
        self.assertEqual((found.peer_who, found.peer_ratio, found.bare_ratio), (OPENMPI, 0.55, 1.1))
        self.assertTrue(found.met and found.complete)

    def test_a_missed_goal(self):
        self.assertIs(judged(a_store([(PING, goals.OURS, 1.9), (PING, OPENMPI, 2)]), PING).met, False)

    def test_of_a_rate_more_is_better(self):
        found = judged(a_store([(RATE, goals.OURS, 2000), (RATE, OPENMPI, 1000), (RATE, MPICH, 1500)]), RATE)
        self.assertEqual((found.peer_who, found.peer_ratio, found.met), (MPICH, 0.75, True))

    def test_a_peer_that_was_stopped_is_beaten_and_named(self):
        found = judged(a_store([(CROWD, goals.OURS, 100)], [(CROWD, MPICH, 8.0)]), CROWD)
        self.assertTrue(found.met)
        self.assertFalse(found.complete)  # the bare prototype is missing
        self.assertIn("> 8 s", found.peer_why)

    def test_without_anything_to_compare_with_no_goal_is_met(self):
        self.assertIsNone(judged(a_store([(PING, goals.OURS, 1)]), PING).met)
        self.assertIsNone(judged(a_store([(PING, OPENMPI, 1)]), PING).met)


class ThreadRanks(unittest.TestCase):
    def judged_as_threads(self, of_store, point):
        return next(goals.judge(of_store, row) for row in goals.rows(of_store)
                    if row.point == point and row.who == goals.THREADS)

    def test_beside_bare_fibers_process_ranks_and_the_best_peer(self):
        of_store = a_store([(CROWD, goals.OURS, 200), (CROWD, goals.THREADS, 2), (CROWD, OPENMPI, 400),
                            (FIBERS, BARE, 1)])
        found = self.judged_as_threads(of_store, CROWD)
        self.assertEqual((found.bare_ratio, found.base_ratio, found.peer_ratio), (2, 0.01, 0.005))
        self.assertIs(found.met, False)
        self.assertEqual(judged(of_store, CROWD).ours.median, 200)  # the row of process ranks is not theirs

    def test_one_cpu_is_a_point_of_its_own_and_has_a_goal_in_microseconds(self):
        of_store = a_store([(PING, goals.OURS, 0.2), (PING, goals.THREADS, 0.3), (ONE_CPU, goals.OURS, 1.5),
                            (ONE_CPU, goals.THREADS, 0.08)])
        found = self.judged_as_threads(of_store, ONE_CPU)
        self.assertEqual((found.met, found.row.goal), (True, "≤ 0.1 µs"))
        self.assertIs(self.judged_as_threads(of_store, PING).met, False)  # more than process ranks take
        self.assertEqual(judged(of_store, ONE_CPU).row.goal, "–")

    def test_no_rows_without_thread_ranks(self):
        self.assertNotIn(goals.THREADS_GROUP, {row.group for row in goals.rows(a_store([(CROWD, goals.OURS, 1)]))})

    def test_who_runs_what(self):
        ours = peers.Implementation("meantime", "Meantime", "", "", "mpiexec", (
            peers.Setting(peers.AS_INSTALLED), peers.Setting(peers.AS_THREADS, ("--as", "threads"))))
        other = peers.Implementation("openmpi", "Open MPI 4.1", "", "", "mpiexec", peers.openmpi_settings())
        runner = measure.Runner([ours, other], None, None)
        every = cases.cases(cases.QUICK, cases.SLICES)
        by_program = {(case.program, case.ranks, case.one_cpu): runner.contestants(case) for case in every}
        names = lambda *key: [(who.key, who.setting) for who, _ in by_program[key]]  # noqa: E731
        threads = ("meantime", peers.AS_THREADS)
        self.assertNotIn(threads, names("matching", 2, False))
        self.assertIn(threads, names("oversubscription", 256, False))
        self.assertNotIn("openmpi", {key for key, _ in names("oversubscription", 256, False)})
        self.assertIn(threads, names("latency", 2, True))
        self.assertIn(("openmpi", "yield"), names("latency", 2, True))  # more ranks than CPUs
        self.assertNotIn(("openmpi", "polling, bound"), names("latency", 2, True))
        self.assertEqual(other.command(2, ["a"], cpus=1),
                         ["mpiexec", "--oversubscribe", "--bind-to", "none", "-n", "2", "a"])


class Writing(unittest.TestCase):
    def test_only_what_is_between_the_markers_changes(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "performance.md")
            path.write_text(f"before\n{document.BEGIN}\nold\n{document.END}\nafter\n")
            document.write(a_store([(PING, goals.OURS, 1), (PING, OPENMPI, 2)]), path, [("a.svg", "a plot")])
            text = path.read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
        self.assertNotIn("old", text)
        for expected in ("8 B, one buffer", "0.50", "a.svg", "bench/compare", store.Store().machine):
            self.assertIn(expected, text)

    def test_a_slice_replaces_its_points_and_keeps_the_others(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "results.json")
            a_store([(PING, goals.OURS, 1), (CROWD, goals.OURS, 50)]).save(path)
            again = store.Store.load(path)
            findings = measure.Findings()
            findings.add(PING, goals.OURS, sample(3))
            again.add(findings, store.this_run(["bench/compare", "--only", "latency"], True, 3, []))
            again.save(path)
            final = store.Store.load(path)
        self.assertEqual(final.results[PING, goals.OURS][0].median, 3)
        self.assertEqual(final.results[CROWD, goals.OURS][0].median, 50)
        self.assertEqual(len(final.used_runs()), 2)


def lives(pid):
    try:
        return ") Z " not in pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


class Help(unittest.TestCase):
    def test_it_needs_no_environment(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, MEANTIME_BENCH_ENVIRONMENT=os.path.join(folder, "none"))
            done = subprocess.run([str(ROOT / "bench" / "compare"), "--help"], env=environment, capture_output=True, text=True, check=True)
            self.assertIn("usage: bench/compare", done.stdout)
            self.assertEqual(os.listdir(folder), [])


class Launching(unittest.TestCase):
    def test_output_status_and_lines(self):
        lines = []
        outcome = launch.run(["sh", "-c", "echo one; echo two; echo bad >&2; exit 3"], 20, on_line=lines.append)
        self.assertEqual((outcome.status, lines, outcome.errors, outcome.timed_out),
                         (3, ["one", "two"], "bad\n", False))

    def test_a_run_that_is_stopped_leaves_nothing(self):
        # A child in a session of its own that ignores what it is told, as a launcher's proxies may be.
        script = ("import os, signal, subprocess, sys, time\n"
                  "child = subprocess.Popen([sys.executable, '-c', 'import signal, time; "
                  "signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)'],"
                  " start_new_session=True)\n"
                  "print(child.pid, flush=True)\n"
                  "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                  "time.sleep(600)\n")
        outcome = launch.run([sys.executable, "-c", script], 1.5)
        self.assertTrue(outcome.timed_out)
        child = max(map(int, outcome.output.split()))
        for _ in range(100):
            if not lives(child):
                break
            time.sleep(0.05)
        else:
            os.kill(child, signal.SIGKILL)
            self.fail("a child outlived the run")


class Scripts(unittest.TestCase):
    def test_the_scripts_compile(self):
        scripts = [ROOT / "bench/limits/run", ROOT / "examples/run-demo",
                   *sorted((ROOT / "bench/comparison").glob("*.py"))]
        for script in scripts:
            compile(script.read_text(), str(script), "exec")
        subprocess.run(["sh", "-n", ROOT / "bench/compare"], check=True)

    def test_the_answer_of_ucx_perftest(self):
        text = "iterations,50.0_percentile_lat,avg_lat\n1000,6.299,961.161\n"
        self.assertEqual(measure.ucx_figure(text, 1), 6.299)
        self.assertIsNone(measure.ucx_figure("nothing\n", 1))


if __name__ == "__main__":
    unittest.main()
