"""The meantime command."""

import os
import subprocess

from mpiexec import BUILD, FAKE_RANK, MpiexecTest, main

COMMAND = os.path.join(BUILD, "bin", "meantime")


class Command(MpiexecTest):
    def meantime(self, *words, **options):
        return subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=20, env=self.environment, **options)

    def test_version(self):
        result = self.meantime("version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^Meantime \d+\.\d+\.\d+ ")
        self.assertIn(BUILD, result.stdout)

    def test_doctor(self):
        result = self.meantime("doctor")
        for subject in ("library", "mpicc", "shared memory", "cross-memory attach", "lifeline", "CPUs",
                        "limits", "other launchers"):
            self.assertIn(subject, result.stdout)
        self.assertEqual(result.returncode, 1 if "BAD" in result.stdout else 0)

    def test_doctor_needs_no_dev_shm(self):
        result = self.meantime("doctor")
        self.assertRegex(result.stdout, r"ok +shared memory")
        self.assertRegex(result.stdout, r"ok +lifeline")

    def test_missing(self):
        self.assertEqual(self.meantime("missing", "./no-such-program").returncode, 2)
        result = self.meantime("missing", FAKE_RANK)
        self.assertEqual(result.returncode, 2)
        self.assertIn("not a program linked to libmpi_abi.so.1", result.stderr)

    def test_wrong_words(self):
        for words in ((), ("bench",), ("missing",), ("--nonsense",)):
            self.assertEqual(self.meantime(*words).returncode, 2, words)

    def test_help(self):
        result = self.meantime("--help")
        self.assertEqual(result.returncode, 0)
        for word in ("version", "doctor", "missing"):
            self.assertIn(word, result.stdout)


if __name__ == "__main__":
    main()
