"""packaging/uninstall takes away what was installed, and nothing else."""
import os
import subprocess
import tempfile
import unittest

BUILD = os.environ["MEANTIME_BUILD"]
UNINSTALL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging", "uninstall")
LIST = "share/meantime/install_manifest.txt"


def run(*command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=200, check=False,
                          **options)


def files_of(prefix):
    return sorted(os.path.relpath(os.path.join(folder, name), prefix)
                  for folder, folders, names in os.walk(prefix) for name in folders + names)


class Uninstall(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="meantime-uninstall-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.prefix = os.path.join(self.folder, "a prefix")

    def install(self, **options):
        for command in (("cmake", "--install", BUILD, "--prefix", self.prefix), (UNINSTALL, "--record", BUILD, self.prefix)):
            result = run(*command, **options)
            self.assertEqual(result.returncode, 0, result.stdout)

    def test_nothing_is_left(self):
        self.install()
        moved = os.path.join(self.folder, "moved")
        os.rename(self.prefix, moved)
        result = run(UNINSTALL, moved)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn(f"files removed from {moved}", result.stdout)
        self.assertEqual(files_of(moved), [])

    def test_what_is_not_ours_is_left(self):
        os.makedirs(self.prefix + "/bin")
        os.makedirs(self.prefix + "/share/meantime")
        others = ["bin/other", "share/meantime/notes"]
        for name in others:
            with open(os.path.join(self.prefix, name), "w", encoding="utf-8") as file:
                file.write("keep me\n")
        self.install()
        os.remove(self.prefix + "/bin/mpicc")  # gone already
        result = run(UNINSTALL, self.prefix)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(files_of(self.prefix), sorted(others + ["bin", "share", "share/meantime"]))
        again = run(UNINSTALL, self.prefix)
        self.assertEqual(again.returncode, 1)
        self.assertIn("was Meantime installed there", again.stdout)

    def test_a_relative_prefix(self):
        self.prefix = "some where"
        self.install(cwd=self.folder)
        result = run(UNINSTALL, self.prefix, cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(files_of(os.path.join(self.folder, self.prefix)), [])

    def test_what_an_earlier_installation_had_more(self):
        self.install()
        path = os.path.join(self.prefix, LIST)
        for name in ("lib/fortran/gfortran/older.mod", "lib/libolder.so"):
            os.makedirs(os.path.dirname(os.path.join(self.prefix, name)), exist_ok=True)
            for file, text in ((os.path.join(self.prefix, name), ""), (path, name + "\nlib/gone\n")):
                with open(file, "a", encoding="utf-8") as file:
                    file.write(text)
        self.install()
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(lines, sorted(set(lines)))
        self.assertIn("lib/libolder.so", lines)
        self.assertNotIn("lib/gone", lines)
        result = run(UNINSTALL, self.prefix)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(files_of(self.prefix), [])

    def test_a_folder_that_is_not_there(self):
        result = run(UNINSTALL, self.prefix)
        self.assertEqual((result.returncode, result.stdout), (1, f"uninstall: {self.prefix} is no directory\n"))

    def test_an_empty_list(self):
        self.install()
        with open(os.path.join(self.prefix, LIST), "w", encoding="utf-8"):
            pass
        result = run(UNINSTALL, self.prefix)
        self.assertEqual((result.returncode, result.stdout.count("\n")), (1, 1), result.stdout)
        self.assertIn("is empty", result.stdout)

    def test_below_a_folder_that_stands_for_the_root(self):
        stage = {**os.environ, "DESTDIR": os.path.join(self.folder, "stage")}
        self.install(env=stage)
        self.assertFalse(os.path.exists(self.prefix))
        result = run(UNINSTALL, self.prefix, env=stage)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(files_of(stage["DESTDIR"] + self.prefix), [])

    def test_a_list_that_leads_elsewhere(self):
        os.makedirs(self.prefix + "/share/meantime")
        victim = os.path.join(self.folder, "victim")
        before = os.path.join(self.prefix, "before")
        for path in ("../victim", victim, "bin/../../victim"):
            for name, text in ((victim, ""), (before, ""), (os.path.join(self.prefix, LIST), f"before\n{path}\n")):
                with open(name, "w", encoding="utf-8") as file:
                    file.write(text)
            result = run(UNINSTALL, self.prefix)
            self.assertEqual(result.returncode, 1)
            self.assertIn("is not below", result.stdout)
            self.assertTrue(os.path.exists(victim) and os.path.exists(before))


if __name__ == "__main__":
    unittest.main()
