"""bench/model: the machine, what it has of the runtime's sources, and the tables of its document. Nothing is measured."""
import json
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench" / "model"), str(ROOT / "bench")]
import collectives  # noqa: E402
import loggp  # noqa: E402
import page  # noqa: E402
import resources  # noqa: E402

NETWORK = loggp.Network(latency=4, send=1, receive=2, gap=3, per_byte=0.01)
SENT_AND_TAKEN = 1 + 4 + 2


def a_job(nodes, ranks_a_node, network=NETWORK):
    return collectives.Job(nodes, ranks_a_node, network, meeting=0.5, read=0.001, joined=0.1, joined_byte=0.001)


def constant(path, name):
    """Of a C++ source, in bytes or whatever it is."""
    text = re.search(rf"\b{name} = ([\d *<]+)u?;", (ROOT / "src" / path).read_text(encoding="utf-8"))[1]
    value = 1
    for factor in text.split("*"):
        value *= int(factor)
    return value


class Machine(unittest.TestCase):
    def test_a_message(self):
        one = [loggp.Send(1, 100)], [loggp.Receive(0)]
        self.assertEqual(loggp.simulate(one, NETWORK), [1, SENT_AND_TAKEN + 1])

    def test_messages_are_apart_by_the_gap(self):
        several = [loggp.Send(1, 0)] * 3, [loggp.Receive(0)] * 3
        self.assertEqual(loggp.simulate(several, NETWORK)[1], 2 * 3 + SENT_AND_TAKEN)

    def test_an_offered_message_is_fetched_when_it_is_received(self):
        late = [loggp.Send(1, 100_000)], [loggp.Compute(500), loggp.Receive(0)]
        self.assertEqual(loggp.simulate(late, NETWORK)[1], 500 + 2 + 2 * 4 + 1000 + 1)

    def test_programs_that_share_a_cpu(self):
        both = [loggp.Compute(10)], [loggp.Compute(10)]
        self.assertEqual(loggp.simulate(both, loggp.Network(0, 0, 0, cpus=1)), [10, 20])

    def test_who_waits_for_ever_is_told(self):
        with self.assertRaises(ValueError):
            loggp.simulate(([loggp.Receive(1)], []), NETWORK)


class Collectives(unittest.TestCase):
    def test_rounds_of_a_barrier(self):
        for nodes, rounds in ((2, 1), (3, 2), (8, 3), (9, 4)):
            self.assertAlmostEqual(collectives.barrier_time(a_job(nodes, 1)), rounds * (SENT_AND_TAKEN + 0.01))
        self.assertAlmostEqual(collectives.barrier_time(a_job(2, 4)), SENT_AND_TAKEN + 0.01 + 2 * 4 * 0.5)

    def test_everybody_gets_a_broadcast(self):
        for nodes in (1, 2, 3, 7, 8, 100):
            self.assertGreaterEqual(collectives.bcast_time(a_job(nodes, 2), 8), (nodes.bit_length() - 1) * SENT_AND_TAKEN)

    def test_which_way(self):
        self.assertTrue(collectives.allreduce_by_nodes(a_job(256, 128), 8))
        self.assertFalse(collectives.allreduce_by_nodes(a_job(257, 128), 8))
        self.assertTrue(collectives.alltoall_by_nodes(a_job(8, 128), 8))
        self.assertFalse(collectives.alltoall_by_nodes(a_job(9, 128), 8))
        self.assertTrue(collectives.is_split(a_job(8, 1), collectives.MIB))
        self.assertFalse(collectives.is_split(a_job(2, 128), collectives.MIB))

    def test_what_is_computed_is_about_what_is_played(self):
        for job, size in ((a_job(40, 1), 8), (a_job(40, 1), 4096), (a_job(200, 1), 100_000)):
            self.assertAlmostEqual(collectives.star_at_first(job, size) / collectives.played(job, collectives.star, job.ranks, size), 1, delta=0.35)
            self.assertAlmostEqual(collectives.exchange_of_one(job, 8) / collectives.played(job, collectives.ranks_exchange, job.ranks, 8), 1,
                                   delta=0.35)

    def test_bounds_are_those_of_the_runtime(self):
        """Those that the document names, too."""
        for name, path, of in (("values_by_nodes", "coll/thresholds.h", collectives.MOST_VALUES),
                               ("most_to_all", "coll/by_nodes/reduce.cpp", collectives.MOST_TO_ALL),
                               ("bcast_base", "coll/thresholds.h", collectives.BCAST_BASE),
                               ("value_at_once", "coll/thresholds.h", collectives.VALUE_AT_ONCE),
                               ("ranks_to_exchange", "coll/thresholds.h", collectives.RANKS_TO_EXCHANGE),
                               ("alltoall_by_nodes", "coll/thresholds.h", collectives.ALLTOALL_BLOCK),
                               ("alltoall_of_node", "coll/thresholds.h", collectives.ALLTOALL_OF_NODE),
                               ("share_by_message", "coll/thresholds.h", collectives.SHARE_BY_MESSAGE),
                               ("remote_eager", "match/limits.h", NETWORK.offered),
                               ("most_ranks", "node/layout.h", 65_535),
                               ("context_step", "core/comm/communicator.h", 4)):
            self.assertEqual(constant(path, name), of, name)


class Resources(unittest.TestCase):
    def test_partners(self):
        self.assertEqual(resources.partners(0, 8), {1, 2, 4, 6, 7})
        self.assertEqual(resources.partners(0, 1), set())

    def test_connections(self):
        self.assertEqual(resources.after_finalize(resources.World(1), 0), set())
        self.assertEqual(resources.after_barrier(resources.World(3), 1), set())
        self.assertEqual(resources.after_barrier(resources.World(3), 128), {0, 256})
        self.assertEqual(resources.after_exchange(resources.World(3)), 256)


class Page(unittest.TestCase):
    def test_its_tables_are_the_models(self):
        kept = json.loads((ROOT / "bench/model/measured.json").read_text(encoding="utf-8"))
        text = page.PATH.read_text(encoding="utf-8")
        self.assertEqual(page.filled(text, kept), text)


if __name__ == "__main__":
    unittest.main()
