"""The parts of bench/heuristics that need no MPI: each heuristic of the header is tried, its constants are where they are said to
be, and results become a page."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "heuristics"))
import cases  # noqa: E402
import constants  # noqa: E402
import document  # noqa: E402


def a_run(turn, case, without, time):
    return {"round": turn, "case": case, "without": without, "time": time, "cpu": 1.0}


def measured(slower, other):
    """Three rounds of a ping-pong: with everything it takes 1, without the route `slower`, without sampling `other`."""
    case = "ping-pong 64K.p2"
    return {"rounds": 3, "only": "", "date": "today", "machine": "a machine", "cpus": 2, "minutes": 1, "load": 0.0,
            "results": [run for turn in range(3) for run in (
                a_run(turn, case, "everything", 1.0), a_run(turn, case, "route", slower), a_run(turn, case, "sampling", other),
                a_run(turn, case, "everything", 1.01))]}


class Heuristics(unittest.TestCase):
    def test_each_is_tried_and_has_two_meanings(self):
        for variant in cases.variants():
            self.assertTrue(any(variant.tries(case) for case in cases.CASES), variant.name)
            self.assertTrue(variant.with_it and variant.without, variant.name)
            self.assertTrue(variant.environment or variant.words, variant.name)

    def test_each_case_is_of_use(self):
        for case in cases.CASES:
            self.assertTrue(any(variant.tries(case) for variant in cases.variants()), case.key)
        self.assertEqual(len({case.key for case in cases.CASES}), len(cases.CASES))

    def test_bits_are_in_the_order_of_the_header(self):
        bits = [int(variant.environment[0][1], 0) for variant in cases.heuristics()]
        self.assertEqual(bits, [1 << bit for bit in range(len(bits))])

    def test_constants_are_found(self):
        self.assertLess(set(constants.CONSTANTS), {variant.name for variant in cases.variants()})
        self.assertEqual(constants.in_words(constants.value("short_tick_ns", "scheduling/monitor.cpp"), "ns"), "1 ms")
        self.assertEqual(constants.in_words(64 * 1024, "bytes"), "64 KiB")
        self.assertGreater(len(list(constants.table())), 50)

    def test_page(self):
        page = document.text(measured(1.5, 1.001))
        self.assertIn("| helps | ping-pong 64K, 2 processes: 1.49 (1.49–1.49) |", page)
        self.assertRegex(page, r"\| `sampling` \|.*\| no difference \|  \|  \| 1 \|")
        self.assertRegex(document.text(measured(0.5, 1)), r"\| `route` \|.*\| harms \|")


if __name__ == "__main__":
    unittest.main()
