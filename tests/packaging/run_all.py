"""tests/run-all runs again what its list names, and nothing else."""
import os
import subprocess
import tempfile
import unittest

RUN_ALL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run-all")


class RunAll(unittest.TestCase):
    def run_all(self, **commands):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
                for name, command in commands.items():
                    if command == "luckless":  # the first time, as nothing is there to take away
                        command = f"rmdir {name} || {{ mkdir {name}; false; }}"
                    file.write(f'add_test(asan.of.{name} sh -c [[cd "{folder}" && {command}]])\n')
            shaky = os.path.join(folder, "shaky.txt")
            with open(shaky, "w", encoding="utf-8") as file:
                file.write("# a remark\n\nof\\.shaky\\w* because of the weather\n")
            result = subprocess.run([RUN_ALL, folder, "--shaky", shaky, "--output-on-failure"], text=True, timeout=60,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            return result.returncode, result.stdout

    def test_all_pass(self):
        status, text = self.run_all(one="true", shaky="true")
        self.assertEqual(status, 0, text)
        self.assertNotIn("again", text)

    def test_who_is_listed_has_a_second_chance(self):
        status, text = self.run_all(one="true", shaky="luckless")
        self.assertEqual(status, 0, text)
        self.assertTrue(text.endswith("\nRun again:\n  asan.of.shaky passed then: because of the weather\n"
                                      "All others passed.\n"), text)

    def test_nobody_has_a_third_one(self):
        status, text = self.run_all(shaky="luckless", shaky_too="false")
        self.assertNotEqual(status, 0, text)
        self.assertIn("asan.of.shaky passed then: because", text)
        self.assertIn("asan.of.shaky_too failed twice: because", text)
        self.assertIn("Failed: asan.of.shaky_too\n", text)

    def test_who_is_not_listed_has_none(self):
        status, text = self.run_all(other="luckless")
        self.assertNotEqual(status, 0, text)
        self.assertNotIn("again", text)
        status, text = self.run_all(other="luckless", shaky="luckless")
        self.assertNotEqual(status, 0, text)
        self.assertIn("Failed: asan.of.other\n", text)


if __name__ == "__main__":
    unittest.main()
