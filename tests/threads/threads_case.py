"""What tests of thread ranks have in common: programs that they build, and mpiexec."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from rank_lines import rank_lines  # noqa: E402,F401  (beside this folder)

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MEANTIME_BUILD", os.path.join(SOURCE, "build"))
HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.join(BUILD, "bin")


def command(*words, **options):
    options.setdefault("timeout", 100)
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          errors="replace", stdin=options.pop("stdin", subprocess.DEVNULL), **options)


def deny_list():
    """The text of the list. The tool has it compiled in: one that was built before the list was
    last changed (by a merge, while tests run) would be blamed for a name that it cannot know."""
    path = os.path.join(SOURCE, "src/launch/thread_ranks/thread_deny_list.h")
    if os.path.getmtime(path) > os.path.getmtime(os.path.join(BIN, "meantime")):
        raise AssertionError(f"{path} is newer than the build: build first")
    with open(path) as file:
        return file.read()


class ThreadsCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(BUILD, "libexec/meantime/meantime-host")):
            raise unittest.SkipTest("this build has no thread ranks")
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.folder = holder.name
        cls.temporary = os.path.join(cls.folder, "tmp")
        os.mkdir(cls.temporary)
        cls.environment = dict(os.environ, TMPDIR=cls.temporary)
        for name in list(cls.environment):
            if name.startswith("MEANTIME_") or name == "LD_LIBRARY_PATH":
                del cls.environment[name]

    def build(self, source, *flags, name, compiler="mpicc"):
        """Compiles a file of this folder, or a text in C, or none, to a program; returns its path."""
        target = os.path.join(self.folder, name)
        if "\n" in source:
            path = target + ".c"
            with open(path, "w") as file:
                file.write(source)
        else:
            path = os.path.join(HERE, source)
        if compiler.startswith("mpi"):
            compiler = os.path.join(BIN, compiler)
        done = command(compiler, "-O2", path, *flags, "-o", target)
        self.assertEqual(done.returncode, 0, done.stderr)
        return target

    def build_library(self, source, *flags, name, compiler="cc"):
        return self.build(source, "-shared", "-fPIC", *flags, name=f"lib{name}.so", compiler=compiler)

    def with_libraries(self, *names):
        return [f"-L{self.folder}", "-Wl,--no-as-needed", *(f"-l{name}" for name in names),
                f"-Wl,-rpath,{self.folder}"]

    def build_fortran(self, source, *flags, name):
        if shutil.which("gfortran") is None:
            self.skipTest("no gfortran")
        return self.build(source, "-J", self.folder, *flags, "-L", os.path.join(BUILD, "lib"),
                          "-lmpi_abi", name=name, compiler="gfortran")

    def run_ranks(self, ranks, *words, kind="threads", options=(), **more):
        more.setdefault("env", self.environment)
        result = command(os.path.join(BIN, "mpiexec"), "--as", kind, *options, "-n", ranks, *words,
                         cwd=self.temporary, **more)
        self.text = f"status {result.returncode}\n{result.stdout}\n{result.stderr}"
        return result

    def assert_right(self, result):
        self.assertEqual(result.returncode, 0, self.text)
        self.assertRegex(result.stdout, r"(?m)^ No Errors$", self.text)
        self.assertEqual(re.findall(r".*wrong.*", result.stderr), [], self.text)
