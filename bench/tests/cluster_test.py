"""bench/cluster and bench/collaborative: how programs are started, and the tables. Nothing is measured."""
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench" / "cluster"), str(ROOT / "bench" / "collaborative")]
import cases  # noqa: E402
import cluster_page  # noqa: E402
import started  # noqa: E402
import tables  # noqa: E402
from comparison import peers  # noqa: E402

OURS = peers.Implementation("meantime", "Meantime", "mpicc", "mpicxx", "/prefix/bin/mpiexec", (peers.Setting("as installed"),))


def kept_of(part, runs):
    """`runs`: of each round {name: {figure: value}}."""
    rounds = [{"found": [[name, [[figure, {"unit": "us", "median": value, "p99": None, "max": None, "samples": 1}]
                                 for figure, value in figures.items()]] for name, figures in one.items()],
               "loads": [0.1], "disturbed": 0} for one in runs]
    return {part: {"rounds": rounds, "started": ["one"], "command": "measure", "date": "today", "commit": "0", "machine": "this"}}


class Starting(unittest.TestCase):
    def test_ours(self):
        one = started.by_meantime("", OURS, 2, 4, ("--delay", "1ms"), ["program"], ("--as", "threads"))
        self.assertEqual(one.command, ["/prefix/bin/meantime", "cluster", "2", "--delay", "1ms", "--", "/prefix/bin/mpiexec", "--as",
                                       "threads", "-n", "4", "program"])

    def test_peers_have_as_many_ranks_on_each_node(self):
        for key, words in (("openmpi", "--host 10.0.0.1:2,10.0.0.2:2"), ("mpich", "-hosts 10.0.0.1:2,10.0.0.2:2")):
            peer = peers.Implementation(key, key, "", "", "/usr/bin/launcher", (peers.Setting("as installed"),))
            self.assertIn(words, " ".join(started.by_peer(peer, OURS, 2, 4, (), ["program"]).command))

    def test_node_shell_outside_of_a_cluster(self):
        result = subprocess.run([started.SHELL, "10.0.0.1", "true"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("this is for commands of meantime cluster", result.stderr)


class Tables(unittest.TestCase):
    def test_ratio_of_rounds(self):
        self.assertEqual(tables.to_off([2.0], [1.0]), "2.000")
        self.assertEqual(tables.to_off([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), "1.000 ± 0.000")
        self.assertEqual(tables.to_off([0.9, 1.1], [1.0, 1.0]), "1.000 ± 1.271")  # 12.71 × 0.1414 / sqrt 2

    def test_times_by_call(self):
        def one(time, wait, reduce):
            return {("step",): time, ("in", "MPI_Waitall"): wait, ("in", "MPI_Allreduce"): reduce, ("in", "MPI_Bcast"): 1e-9,
                    ("helped",): 3, ("carried",): 4}
        of = {f"threads, V = 2, helper {helper}": one(*times)
              for helper, times in zip(cases.HELPERS, ((9000, 4, 1), (8000, 3, 1), (7000, 1, 2)))}
        text = "\n".join(tables.section(kept_of("mhd", [{**of, "Peer 1, V = 2": {("step",): 9500}}]), "mhd"))
        for line in ("| threads, V = 2, helper off | 9 |  |", "| threads, V = 2, helper on | 7 | 0.778 |", "| Peer 1, V = 2 | 9.5 |  |",
                     "| waiting in MPI | 5 | 4 | 3 | 1.67 |", "| `MPI_Waitall` | 4 | 3 | 1 | 4.00 |",
                     "| messages, by helpers | 3 | 3 | 3 |  |"):
            self.assertIn(line, text)
        self.assertNotIn("MPI_Bcast", text)

    def test_npb_must_say_that_it_is_right(self):
        says = " Time in seconds =    1.50\n Verification    =  SUCCESSFUL\n"
        self.assertEqual(cases.figures_of(says)["run",].median, 1.5e6)
        self.assertEqual(cases.figures_of(says.replace("SUCCESSFUL", "UNSUCCESSFUL")), {})

    def test_overlap(self):
        def one(*times):
            return {(what, ("bytes", 1 << 20)): time for what, time in zip(("T_comp", "T_comm", "T_full"), times)}
        lines = list(cluster_page.overlap_lines(kept_of("overlap", [{"a": one(300, 200, 310), "b": one(300, 200, 400)}]), "overlap"))
        self.assertEqual([line[-2:] for line in lines], [["1.03", "yes"], ["1.33", "**no**"]])


if __name__ == "__main__":
    unittest.main()
