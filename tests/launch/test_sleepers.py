"""Several threads of a rank sleep: a message wakes the one that it is for, and no other."""

import json
import os
import subprocess

from mpiexec import BUILD, CFLAGS, SOURCE, MpiexecTest, main

MPICC = os.path.join(BUILD, "bin", "mpicc")
PROGRAM = os.path.join(SOURCE, "tests", "launch", "sleepers.c")
MESSAGES = 400  # as in the program


class Sleepers(MpiexecTest):
    def test_each_message_wakes_one(self):
        program = self.path("sleepers")
        subprocess.run([MPICC, *CFLAGS, PROGRAM, "-o", program], check=True)
        for beside in ("nothing", "partitioned", "collective"):
            with self.subTest(beside=beside):
                path = self.path("report.json")
                result = self.run_job("-n", 2, "--wait", "event", f"--report={path}", program, beside)
                self.assertEqual((result.status, result.output), (0, ""), result)
                with open(path) as file:
                    rank = json.load(file)["ranks"][0]
                # Who wakes all four for each message sleeps four times as often as there are messages.
                self.assertLess(rank["sleeps"], 1.5 * MESSAGES + 50, rank)
                self.assertLess(rank["rung_in_vain"], MESSAGES / 10, rank)


if __name__ == "__main__":
    main()
