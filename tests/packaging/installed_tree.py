"""The installed tree as a user has it: moved after installation, in a path with a space, without root."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ["MEANTIME_BUILD"]
HERE = os.path.dirname(os.path.abspath(__file__))
TREE = """
bin/mpicc bin/mpicxx bin/mpic++ bin/mpicc_abi bin/mpicxx_abi bin/mpifort bin/mpif90 bin/mpif77 bin/mpiexec bin/mpirun
bin/meantime bin/meantime-imbalance bin/meantime-libra bin/meantime-overlap bin/meantime-wakeup bin/meantime-yieldshare
include/mpi.h include/meantime.h include/mpif.h
share/meantime/fortran/build-bindings share/meantime/fortran/fortran.h share/meantime/fortran/generated/mpi_f08.f90
share/meantime/fortran/with-profiling
lib/libmpi_abi.so lib/libmpi_abi.so.1
lib/pkgconfig/meantime.pc lib/pkgconfig/mpi-c.pc lib/pkgconfig/mpi-cxx.pc
lib/cmake/Meantime/MeantimeConfig.cmake
lib/cmake/Meantime/MeantimeConfigVersion.cmake lib/cmake/Meantime/MeantimeTargets.cmake
lib/cmake/Meantime/MeantimeTargets-release.cmake
share/doc/meantime/README.md share/doc/meantime/LICENSE share/doc/meantime/SECURITY.md
share/doc/meantime/CHANGELOG.md share/doc/meantime/CONTRIBUTING.md
share/doc/meantime/docs/README.md share/doc/meantime/docs/reference/mpiexec.md
share/doc/meantime/docs/measurements/figures/waiting.svg
share/man/man1/mpiexec.1 share/man/man1/mpirun.1 share/man/man1/meantime.1 share/man/man1/mpicc.1
share/man/man1/mpicxx.1 share/man/man1/mpic++.1 share/man/man1/mpifort.1 share/man/man1/mpif90.1
share/meantime/LICENSE share/meantime/examples/calls.c share/meantime/examples/account.h share/meantime/gdb/meantime.py
share/meantime/gdb/meantime_ranks.py
share/meantime/bench/libra/libra.cpp share/meantime/bench/common/mpi_program.h share/meantime/bench/overlap/overlap.cpp
share/meantime/bench/hpccg/hpccg.cpp
share/meantime/bench/shipped/__main__.py share/meantime/bench/comparison/peers.py
""".split()
FORTRAN_TREE = """
lib/libmeantime_gfortran.so lib/fortran/gfortran/mpi.mod lib/fortran/gfortran/mpi_f08.mod
lib/pkgconfig/meantime-fortran.pc lib/pkgconfig/mpi-fort.pc
""".split()
HAS_FORTRAN = os.path.exists(os.path.join(BUILD, "lib", "libmeantime_gfortran.so"))
# Would be found before ours, or change what the compilers are.
FOREIGN = re.compile(r"(OMPI|MPICH|MEANTIME|I_MPI)_.*|LD_LIBRARY_PATH|C(C|XX|PP|FLAGS|XXFLAGS|PATH)|CMAKE_.*|PKG_CONFIG_.*")


class InstalledTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="meantime-tree-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.chmod(cls.folder, 0o755)
        first = os.path.join(cls.folder, "first")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", first], check=True, stdout=subprocess.DEVNULL)
        cls.prefix = os.path.join(cls.folder, "moved here")
        os.rename(first, cls.prefix)

    def setUp(self):
        self.work = os.path.join(self.folder, "work of " + self.id().split(".")[-1])
        os.mkdir(self.work)
        os.chmod(self.work, 0o777)

    def run_in_work(self, *command, environment=None):
        clean = {name: value for name, value in os.environ.items() if not FOREIGN.fullmatch(name)}
        clean["PATH"] = os.path.join(self.prefix, "bin") + ":" + clean["PATH"]
        result = subprocess.run(command, cwd=self.work, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env={**clean, **(environment or {})}, timeout=200, check=False)
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}")
        return result.stdout

    def assert_says_hello(self, program):
        self.assertRegex(self.run_in_work(program), r"^rank 0 of 1: .*Meantime")
        self.assertIn("(RUNPATH)", self.run_in_work("readelf", "-d", program))
        loaded = re.search(r"libmpi_abi\.so\.1 => (.*) \(", self.run_in_work("ldd", program))[1]
        self.assertEqual(os.path.normpath(loaded), os.path.join(self.prefix, "lib", "libmpi_abi.so.1"))
        lines = self.run_in_work("mpiexec", "-n", "3", program).splitlines()
        self.assertEqual([re.match(r"rank (\d) of 3: .*Meantime", line)[1] for line in sorted(lines)], ["0", "1", "2"])

    def test_has_what_the_documents_name(self):
        found = {os.path.relpath(os.path.join(folder, name), self.prefix)
                 for folder, _, names in os.walk(self.prefix) for name in names}
        self.assertEqual([name for name in TREE + FORTRAN_TREE * HAS_FORTRAN if name not in found], [])
        self.assertEqual({name.split("/")[0] for name in found}, {"bin", "include", "lib", "libexec", "share"})

    def test_documents_that_are_named_are_there(self):
        named = []
        for text in (self.run_in_work("mpiexec", "--help"), self.run_in_work("cat", self.prefix + "/include/meantime.h")):
            named += re.findall(r"share/doc/[\w/.]*\w", text)
        self.assertGreater(len(named), 3)
        for path in named:
            self.assertTrue(os.path.exists(os.path.join(self.prefix, path)), path)

    def test_commands_are_in_the_table(self):
        with open(os.path.join(self.prefix, "share/doc/meantime/docs/guide/start.md"), encoding="utf-8") as file:
            table = file.read()
        self.assertEqual([name for name in os.listdir(self.prefix + "/bin") if f"`bin/{name}`" not in table
                          and not name.endswith("_abi")], [])

    def test_links_of_documents(self):
        dead, count = [], 0
        for folder, _, names in os.walk(os.path.join(self.prefix, "share", "doc", "meantime")):
            for name in names:
                if name.endswith(".md"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        text = re.sub(r"```.*?```|`[^`]*`", "", file.read(), flags=re.DOTALL)
                    links = [link for link in re.findall(r"\]\(([^()\s#]+)", text) if not re.match(r"\w+:", link)]
                    count += len(links)
                    dead += [f"{name}: {link}" for link in links if not os.path.exists(os.path.join(folder, link))]
        self.assertEqual(dead, [])
        self.assertGreater(count, 100)

    def test_examples_of_the_page_on_clocks(self):
        """Its commands, as they stand there."""
        with open(os.path.join(self.prefix, "share", "doc", "meantime", "docs", "reference", "clocks.md"), encoding="utf-8") as file:
            commands = re.findall(r"^    \$ (.*)$", file.read(), re.MULTILINE)
        self.assertGreater(len(commands), 5)
        if not os.path.exists(self.prefix + "/libexec/meantime/meantime-host"):
            commands = [command for command in commands if "--as threads" not in command]
        self.work = tempfile.mkdtemp(prefix="meantime-page-")  # LD_PRELOAD takes no path with a space
        self.addCleanup(shutil.rmtree, self.work)
        for command in commands:
            said = self.run_in_work("sh", "-c", command.replace("$PREFIX", f'"{self.prefix}"'))
            self.assertTrue(said or "mpicc" in command, command)

    def test_man_pages(self):
        folder = os.path.join(self.prefix, "share", "man", "man1")
        pages = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                pages[name] = file.read().replace("\\-", "-")
        for option in re.findall(r"^  (-\S+)", self.run_in_work("mpiexec", "--help"), re.MULTILINE):
            self.assertIn("\\fB" + option.rstrip(","), pages["mpiexec.1"])
        for part in ("-oversubscribe", "use --bind user:LIST", ".SS Refused", "-bind-to X"):
            self.assertIn(part, pages["mpiexec.1"])
        understood = pages["mpiexec.1"].partition(".SS Understood\n")[2].partition(".SS ")[0]
        self.assertIn(", -ppn X", understood)
        self.assertIn("\n.TP\n\\fB-map-by X\\fR\nonly its PE=N and ppr:N:RESOURCE count", understood)
        for command in ("doctor", "ps", "missing"):
            self.assertIn(f".SH meantime {command}\n", pages["meantime.1"])
        self.assertRegex(pages["mpiexec.1"], r"\.SH DESCRIPTION\n\.PP\nStarts a job")
        self.assertIn("-showme:command", pages["mpifort.1"])
        self.assertEqual(pages["mpirun.1"], ".so man1/mpiexec.1\n")
        if shutil.which("man"):
            for name in ("mpiexec", "mpirun", "meantime", "mpicc"):
                shown = self.run_in_work("man", "-M", os.path.dirname(folder), name, environment={"MAN_KEEP_FORMATTING": ""})
                self.assertIn("SYNOPSIS", shown)

    def test_knows_no_absolute_path(self):
        for folder, _, names in os.walk(self.prefix):
            for name in names:
                path = os.path.join(folder, name)
                self.assertTrue(not os.path.islink(path) or not os.readlink(path).startswith("/"), path)
                binary = path.endswith((".so", ".so.1", ".mod")) or "/bin/m" in path or "/libexec/" in path
                if not binary or re.match("mpi[cf]", name):
                    with open(path, encoding="utf-8") as file:
                        text = file.read()
                    for place in (BUILD, os.path.join(self.folder, "first")):
                        self.assertNotIn(place, text, path)

    def test_wrappers(self):
        for wrapper, source in (("mpicc", "hello.c"), ("mpicxx", "hello_cxx.cpp"), ("mpic++", "hello_cxx.cpp")):
            self.run_in_work(wrapper, "-Wall", "-Werror", "-O1", os.path.join(HERE, source), "-o", "hello")
            self.assert_says_hello("./hello")
        self.run_in_work("mpicc", "-std=c99", "-pedantic", "-Werror", "-c", os.path.join(HERE, "hello.c"))
        self.run_in_work("mpicc", "hello.o", "-o", "in two steps")
        self.assert_says_hello("./in two steps")

    @unittest.skipUnless(HAS_FORTRAN, "no Fortran compiler")
    def test_fortran_wrappers(self):
        for wrapper in ("mpifort", "mpif90", "mpif77"):
            self.run_in_work(wrapper, "-Wall", "-Werror", os.path.join(HERE, "hello_fortran.f90"), "-o", "hello")
            self.assert_says_hello("./hello")

    @unittest.skipUnless(HAS_FORTRAN, "no Fortran compiler")
    def test_fortran_programs_survive_a_move(self):
        there, elsewhere = (os.path.join(self.work, name) for name in ("there", "elsewhere"))
        shutil.copytree(self.prefix, there, symlinks=True)
        self.run_in_work(there + "/bin/mpifort", os.path.join(HERE, "hello_fortran.f90"), "-o", "moved")
        os.rename(there, elsewhere)
        lines = self.run_in_work(elsewhere + "/bin/mpiexec", "-n", "2", "./moved").splitlines()
        self.assertEqual(len(lines), 2, lines)
        if os.path.exists(elsewhere + "/libexec/meantime/meantime-host"):
            self.assertIn("ok as threads", self.run_in_work(elsewhere + "/bin/meantime", "check", "./moved"))
            lines = self.run_in_work(elsewhere + "/bin/mpiexec", "--as", "threads", "-n", "2", "./moved").splitlines()
            self.assertEqual(len(lines), 2, lines)

    @unittest.skipUnless(HAS_FORTRAN, "no Fortran compiler")
    def test_fortran_modules_of_ones_own(self):
        """For another compiler, without the right to write into the installed tree."""
        os.symlink(shutil.which("gfortran"), os.path.join(self.work, "other"))
        found = {"PATH": self.prefix + "/bin:" + self.work + ":" + os.environ["PATH"]}
        with self.assertRaisesRegex(AssertionError, "meantime fortran --fc=other"):
            self.run_in_work("mpifort", "-fc=other", os.path.join(HERE, "hello_fortran.f90"), environment=found)
        into = os.path.join(self.work, "own modules")
        said = self.run_in_work("meantime", "fortran", "--fc=other", "--into=" + into, environment=found)
        self.assertRegex(said, r"^meantime fortran: building .* for other, .*\n.* are in .*libmeantime_other\.so\n")
        self.assertIn(f"use them with: MEANTIME_FORTRAN='{into}' MEANTIME_FC='other' mpifort\n", said)
        own = {**found, "MEANTIME_FC": "other", "MEANTIME_FORTRAN": into}
        self.run_in_work("mpifort", os.path.join(HERE, "hello_fortran.f90"), "-o", "hello", environment=own)
        self.assertIn(into + "/lib/libmeantime_other.so", self.run_in_work("ldd", "hello"))
        self.assert_says_hello("./hello")

    def test_fortran_without_a_compiler(self):
        with self.assertRaisesRegex(AssertionError, "there is no Fortran compiler '/no/such'"):
            self.run_in_work("mpifort", "-fc=/no/such", "x.f90")

    @unittest.skipUnless(HAS_FORTRAN, "no Fortran compiler")
    def test_fortran_pkg_config(self):
        path = os.path.join(self.prefix, "lib", "pkgconfig")
        for name in ("meantime-fortran", "mpi-fort"):
            self.run_in_work("sh", "-c", 'eval gfortran "$1" -o hello '
                             '$(PKG_CONFIG_PATH="$2" pkg-config --cflags --libs "$3")',
                             "sh", os.path.join(HERE, "hello_fortran.f90"), path, name)
            self.assert_says_hello("./hello")

    def test_pkg_config(self):
        path = os.path.join(self.prefix, "lib", "pkgconfig")
        for name, compiler in (("meantime", "cc"), ("mpi-c", "cc"), ("mpi-cxx", "c++")):
            self.run_in_work("sh", "-c", 'eval "$4" "$1" -o hello '
                             '$(PKG_CONFIG_PATH="$2" pkg-config --cflags --libs "$3")',
                             "sh", os.path.join(HERE, "hello.c"), path, name, compiler)
            self.assert_says_hello("./hello")

    def cmake_project(self, name, *options):
        log = self.run_in_work("cmake", "-S", os.path.join(HERE, name), "-B", ".", "-DHELLO=" + HERE, *options)
        self.run_in_work("cmake", "--build", ".")
        for program in ("./hello_c", "./hello_cxx"):
            self.assert_says_hello(program)
        return log

    def test_find_meantime(self):
        log = self.cmake_project("find_meantime", "-DCMAKE_PREFIX_PATH=" + self.prefix)
        self.assertIn(f"launcher {self.prefix}/bin/mpiexec", log)

    @unittest.skipUnless(HAS_FORTRAN, "no Fortran compiler")
    def test_find_meantime_with_fortran(self):
        self.cmake_project("find_meantime", "-DCMAKE_PREFIX_PATH=" + self.prefix, "-DFORTRAN=ON",
                           "-DCMAKE_Fortran_COMPILER=gfortran")
        self.assert_says_hello("./hello_fortran")

    def test_find_mpi(self):
        """CMake's own module looks for mpiexec on PATH first, then for wrappers beside it."""
        log = self.cmake_project("find_mpi")
        self.assertIn(f"launcher {self.prefix}/bin/mpiexec", log)
        self.assertRegex(log, r"standard [45]\.\d")

    @unittest.skipUnless(HAS_FORTRAN, "no Fortran compiler")
    def test_find_mpi_with_fortran(self):
        log = self.cmake_project("find_mpi", "-DFORTRAN=ON", "-DCMAKE_Fortran_COMPILER=gfortran")
        self.assertIn("mpif.h TRUE, mpi TRUE, mpi_f08 TRUE", log)
        self.assert_says_hello("./hello_fortran")

    def test_wrapper_as_cmake_compiler(self):
        self.cmake_project("find_mpi", "-DCMAKE_C_COMPILER=mpicc", "-DCMAKE_CXX_COMPILER=mpicxx")

    def test_find_mpi_under_mpi_home(self):
        self.cmake_project("find_mpi", "-DMPI_HOME=" + self.prefix)

    @unittest.skipUnless(shutil.which("autoreconf") and shutil.which("automake"), "needs autoconf and automake")
    def test_autotools(self):
        for name in ("hello.c", "hello_cxx.cpp", "autotools/configure.ac", "autotools/Makefile.am"):
            shutil.copy(os.path.join(HERE, name), self.work)
        self.run_in_work("autoreconf", "-i")
        self.run_in_work("./configure", "CC=mpicc", "CXX=mpicxx")
        self.run_in_work("make")
        for program in ("./hello_c", "./hello_cxx"):
            self.assert_says_hello(program)

    @unittest.skipUnless(os.getuid() == 0 and shutil.which("runuser"), "only root can become somebody else")
    def test_without_root(self):
        as_nobody = ("runuser", "-u", "nobody", "--")
        source = shutil.copy(os.path.join(HERE, "hello.c"), self.work)  # HERE may be closed to others
        self.run_in_work(*as_nobody, self.prefix + "/bin/mpicc", source, "-o", "hello")
        self.assertIn("of 2", self.run_in_work(*as_nobody, self.prefix + "/bin/mpiexec", "-n", "2", "./hello"))


if __name__ == "__main__":
    unittest.main()
