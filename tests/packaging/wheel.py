"""The Python wheel (packaging/wheel) in an environment of its own, without a network."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["MEANTIME_BUILD"]
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
FOREIGN = re.compile(r"(OMPI|MPICH|MEANTIME|I_MPI|PIP)_.*|LD_LIBRARY_PATH|PYTHONPATH|VIRTUAL_ENV|C(C|XX|FLAGS|PATH)")


class Environment:
    """A virtual environment with the wheel in it. `run` sees its bin first and nothing of another MPI."""

    def __init__(self, folder):
        self.prefix = os.path.join(folder, "environment")
        self.variables = {name: value for name, value in os.environ.items() if not FOREIGN.fullmatch(name)}
        self.variables["PATH"] = os.path.join(self.prefix, "bin") + ":" + self.variables["PATH"]
        self.variables["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
        subprocess.run([sys.executable, "-m", "venv", self.prefix], check=True)
        subprocess.run([os.path.join(SOURCE, "packaging", "wheel"), BUILD, folder], check=True,
                       stdout=subprocess.DEVNULL)
        self.wheel, = glob.glob(os.path.join(folder, "*.whl"))
        self.run("pip", "install", "-q", "--no-index", "--no-deps", self.wheel)

    def run(self, *command, seconds=200, **options):
        """Its output; what fails raises, with the output in its text."""
        result = subprocess.run(command, env=self.variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                stdin=subprocess.DEVNULL, timeout=seconds, check=False, **options)
        if result.returncode != 0:
            raise AssertionError(f"{command}: status {result.returncode}\n{result.stdout}")
        return result.stdout


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="meantime-wheel-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.environment = Environment(cls.folder)

    def test_compiles_and_runs(self):
        kinds = ["processes"]
        if os.path.exists(os.path.join(self.environment.prefix, "libexec", "meantime", "meantime-host")):
            kinds.append("threads")
        for compiler, source in (("mpicc", "hello.c"), ("mpicxx", "hello_cxx.cpp"), ("mpic++", "hello_cxx.cpp")):
            program = os.path.join(self.folder, compiler)
            self.environment.run(compiler, os.path.join(HERE, source), "-o", program)
            for launcher in ("mpiexec", "mpirun"):
                for kind in kinds:
                    lines = self.environment.run(launcher, "--as", kind, "-n", "3", program).splitlines()
                    self.assertEqual([re.match(r"rank (\d) of 3: .*Meantime", line)[1] for line in sorted(lines)],
                                     ["0", "1", "2"])
            loaded = re.search(r"libmpi_abi\.so\.1 => (.*) \(", self.environment.run("ldd", program))[1]
            self.assertEqual(os.path.realpath(loaded),
                             os.path.realpath(os.path.join(self.environment.prefix, "lib", "libmpi_abi.so.1")))

    def test_says_what_it_is(self):
        self.assertIn("Name: meantime-mpi", self.environment.run("pip", "show", "meantime-mpi"))
        self.assertNotRegex(self.environment.run("meantime", "doctor"), r"(?m)^(missing|bad) ")

    def test_is_taken_off_without_a_trace(self):
        other = Environment(tempfile.mkdtemp(dir=self.folder))
        other.run("pip", "uninstall", "-q", "-y", "meantime-mpi")
        left = [name for name in glob.glob(other.prefix + "/**", recursive=True)
                if re.search("mpi|meantime", os.path.relpath(name, other.prefix))
                and not os.path.isdir(name) and "site-packages/pip/" not in name and "setuptools" not in name]
        self.assertEqual(left, [])

    def test_same_build_same_wheel(self):
        with tempfile.TemporaryDirectory() as again:
            subprocess.run([os.path.join(SOURCE, "packaging", "wheel"), BUILD, again], check=True,
                           stdout=subprocess.DEVNULL)
            one, = glob.glob(os.path.join(again, "*.whl"))
            with open(one, "rb") as first, open(self.environment.wheel, "rb") as second:
                self.assertEqual(first.read(), second.read())


if __name__ == "__main__":
    unittest.main()
