"""The cost of a wake-up: measured, kept in the user's cache, set by hand; what goes wrong with that stops no job.
Whether a busy machine gives a figure at all is open, so no test asks for one."""

import os
import re
import subprocess

from mpiexec import BUILD, CFLAGS, SOURCE, MpiexecTest, main

MPICC = os.path.join(BUILD, "bin", "mpicc")


class WakeUp(MpiexecTest):
    def setUp(self):
        super().setUp()
        self.cache = os.path.join(self.folder.name, "cache")
        self.environment["XDG_CACHE_HOME"] = self.cache
        self.environment.pop("MEANTIME_WAKE_UP_COST", None)

    def program(self):
        program = self.path("rank")
        subprocess.run([MPICC, *CFLAGS, os.path.join(SOURCE, "tests", "launch", "rank.c"), "-o",
                        program], check=True)
        return program

    def line_of_report(self, *words, **variables):
        result = self.run_job("-v", "--report", *words, "true", env=dict(self.environment, **variables))
        self.assertEqual((result.status, result.output), (0, ""), result)
        return next(line for line in result.error.splitlines() if line.startswith("a wake-up: "))

    def test_measured_once_and_kept(self):
        line = self.line_of_report("-n", 2)
        if "measured, now in" not in line:
            self.skipTest(line)
        figure, path = re.match(r"a wake-up: (\d+\.\d us) \(measured, now in (.*)\)$", line).groups()
        self.assertTrue(path.startswith(self.cache + "/meantime/"), line)
        self.assertEqual(self.line_of_report("-n", 2), f"a wake-up: {figure} (from {path})")
        config = subprocess.run([os.path.join(BUILD, "bin", "meantime"), "config"], text=True,
                                stdout=subprocess.PIPE, env=self.environment, check=True)
        self.assertIn(f"#   auto: {figure}, from {path}\n", config.stdout)
        with open(path, "a") as file:
            file.write("odd\n")
        self.assertNotIn("from", self.line_of_report("-n", 2))

    def test_who_may_not_poll_needs_none(self):
        for count in (1, 2 * os.cpu_count()):
            self.assertIn("no rank has a CPU of its own", self.line_of_report("-n", count))
        self.assertFalse(os.path.exists(self.cache))

    def test_set_by_hand(self):
        self.assertEqual(self.line_of_report("-n", 2, MEANTIME_WAKE_UP_COST="77"),
                         "a wake-up: 77.0 us (set)")
        self.assertFalse(os.path.exists(self.cache))
        result = self.run_job("-x", "MEANTIME_WAKE_UP_COST=0", "true")
        self.assertEqual(result.status, 1)
        self.assert_one_line(result, "from 1 to 10000, or auto, not '0'")
        source = self.path("cost.c", """
            #include <meantime.h>
            #include <stdio.h>
            int main(void) {
              char text[16];
              int length = sizeof text;
              MPI_Init(0, 0);
              MPIX_Setting_get("MEANTIME_WAKE_UP_COST", &length, text);
              puts(text);
              MPIX_Setting_set("MEANTIME_WAKE_UP_COST", "55");
              length = sizeof text;
              MPIX_Setting_get("MEANTIME_WAKE_UP_COST", &length, text);
              puts(text);
              MPI_Finalize();
            }""")
        program = self.path("cost")
        subprocess.run([MPICC, *CFLAGS, source, "-o", program], check=True)
        result = self.run_job("-x", "MEANTIME_WAKE_UP_COST=44", program)
        self.assertEqual((result.status, result.output), (0, "44\n55\n"), result)

    def test_no_place_for_a_cache(self):
        program = self.program()
        for home in ("/proc/nowhere", "/dev/null", "relative", ""):
            result = self.run_job("-n", 2, program, env=dict(self.environment, XDG_CACHE_HOME=home,
                                                             HOME=home))
            self.assertEqual((result.status, result.error), (0, ""), result)


if __name__ == "__main__":
    main()
