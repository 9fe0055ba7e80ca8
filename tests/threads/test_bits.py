#!/usr/bin/env python3
"""Reductions by thread ranks give the same bits as by process ranks: bits.c prints them."""

import unittest

from threads_case import ThreadsCase

KINDS, LENGTHS = 6, 6  # of numbers and operations; in bits.c


class Bits(ThreadsCase):
    def lines(self, program, ranks, kind, *options):
        result = self.run_ranks(ranks, program, kind=kind, options=options)
        self.assertEqual((result.returncode, result.stderr), (0, ""), self.text)
        lines = sorted(result.stdout.splitlines())
        self.assertEqual(len(lines), KINDS * LENGTHS * ranks)
        return lines

    def test_reductions(self):
        program = self.build("bits.c", "-Wall", "-Wextra", "-Werror", name="bits")
        for ranks in (2, 3, 7, 16):
            expected = self.lines(program, ranks, "processes")
            for options in ((), ("--place", "round-robin"), ("--ranks-per-process", "3")):
                with self.subTest(ranks=ranks, options=options):
                    self.assertEqual(self.lines(program, ranks, "threads", *options), expected)


if __name__ == "__main__":
    unittest.main()
