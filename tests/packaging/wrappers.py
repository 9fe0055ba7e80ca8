"""mpicc and mpicxx word by word, with a compiler that only writes down how it was called."""
import os
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ["MEANTIME_BUILD"]
FLAGS_FIRST = "-I{0}/include -L{0}/lib -Wl,-rpath -Wl,{0}/lib -Wl,--enable-new-dtags"


class Wrapper(unittest.TestCase):
    """A prefix of two files in a folder with a space, and a recording compiler."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="mean time ")
        self.addCleanup(shutil.rmtree, self.folder)
        self.prefix = os.path.join(self.folder, "a prefix")
        os.makedirs(os.path.join(self.prefix, "bin"))
        for name in ("mpicc", "mpicxx", "mpifort"):
            shutil.copy(os.path.join(BUILD, "bin", name), os.path.join(self.prefix, "bin"))
        self.record = os.path.join(self.folder, "record")
        self.compiler = os.path.join(tempfile.mkdtemp(prefix="meantime-"), "recorder")
        self.addCleanup(shutil.rmtree, os.path.dirname(self.compiler))
        with open(self.compiler, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nprintf \'%s\\0\' "$@" >"$RECORD"\nexit 7\n')
        os.chmod(self.compiler, 0o755)

    def call(self, *arguments, wrapper="mpicc", environment=None, cwd=None):
        clean = {name: value for name, value in os.environ.items() if not name.endswith(("_CC", "_CXX", "_FC"))}
        return subprocess.run([os.path.join(self.prefix, "bin", wrapper), *arguments], text=True, cwd=cwd,
                              capture_output=True, env={**clean, "RECORD": self.record, **(environment or {})})

    def compiled_with(self, *arguments, **more):
        """What the compiler was given; its exit status must come back."""
        environment = {"MEANTIME_CC": self.compiler, "MEANTIME_CXX": self.compiler, **more.pop("environment", {})}
        self.assertEqual(self.call(*arguments, environment=environment, **more).returncode, 7)
        with open(self.record, encoding="utf-8") as file:
            return file.read().split("\0")[:-1]

    def fortran_of(self, compiler):
        """As if `meantime fortran` had built modules for it."""
        modules = os.path.join(self.prefix, "lib", "fortran", os.path.basename(compiler))
        os.makedirs(modules)
        with open(os.path.join(modules, "mpi_f08.mod"), "w", encoding="utf-8"):
            pass
        return modules

    def test_fortran(self):
        modules = self.fortran_of(self.compiler)
        own = {"MEANTIME_FC": self.compiler}
        linked = ["-I" + self.prefix + "/include", "-I" + modules, *self.link_flags, "x.f90",
                  "-lmeantime_recorder", "-lmpi_abi"]
        self.assertEqual(self.compiled_with("x.f90", wrapper="mpifort", environment=own), linked)
        self.assertEqual(self.compiled_with("-fc=" + self.compiler, "-c", "x.f90", wrapper="mpifort"),
                         [*linked[:2], "-c", "x.f90"])
        with open(os.path.join(modules, "flags"), "w", encoding="utf-8") as file:
            file.write("-a-flag\n")
        self.assertEqual(self.compiled_with("-c", "x.f90", wrapper="mpifort", environment=own),
                         [*linked[:2], "-a-flag", "-c", "x.f90"])
        self.assertEqual(self.call("-showme:libs", wrapper="mpifort", environment=own).stdout,
                         "meantime_recorder mpi_abi\n")

    def test_fortran_compiler_without_modules(self):
        result = self.call("x.f90", wrapper="mpifort", environment={"MEANTIME_FC": self.compiler})
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))
        self.assertIn("/bin/meantime fortran --fc=recorder' builds them", result.stderr)
        result = self.call("x.f90", wrapper="mpifort", environment={"MEANTIME_FC": "/no/such"})
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))
        self.assertIn("there is no Fortran compiler '/no/such'", result.stderr)
        self.assertEqual(self.call("--version", wrapper="mpifort",
                                   environment={"MEANTIME_FC": self.compiler}).returncode, 7)

    @property
    def link_flags(self):
        lib = self.prefix + "/lib"
        return ["-L" + lib, "-Wl,-rpath", "-Wl," + lib, "-Wl,--enable-new-dtags"]

    def linked(self, *arguments):
        return ["-I" + self.prefix + "/include", *self.link_flags, *arguments, "-lmpi_abi"]

    def only_compiled(self, *arguments):
        return ["-I" + self.prefix + "/include", *arguments]

    def test_arguments_pass_untouched(self):
        odd = ['-DTEXT="a b"', "-DNAME='x'", "-D EMPTY=", "*", "$HOME", "a\\b", "", "it's", "tab\there", "-DA=`b`"]
        self.assertEqual(self.compiled_with(*odd, "a b.c"), self.linked(*odd, "a b.c"))
        self.assertEqual(self.compiled_with("-c", *odd, "a b.c"), self.only_compiled("-c", *odd, "a b.c"))

    def test_no_link_flags_unless_linking(self):
        for option in ("-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r"):
            self.assertEqual(self.compiled_with(option, "x.c"), self.only_compiled(option, "x.c"))
        for question in ("-v", "--version", "-dumpmachine", "-print-search-dirs", "-###"):
            self.assertEqual(self.compiled_with(question), self.only_compiled(question))
        for linking in (["x.c"], ["-MD", "x.c"], ["-shared", "x.o"], ["-x", "c", "-"], ["@response"], ["-lx"]):
            self.assertEqual(self.compiled_with(*linking), self.linked(*linking))

    def test_choice_of_compiler(self):
        other = {"OMPI_CC": "/no/such", "MPICH_CC": "/no/such"}
        self.assertEqual(self.compiled_with("x.c", environment=other), self.linked("x.c"))
        self.assertEqual(self.compiled_with("x.c", "-cc=" + self.compiler, environment={"MEANTIME_CC": "/no/such"}),
                         self.linked("x.c"))
        for name in ("OMPI_CC", "MPICH_CC"):
            self.assertEqual(self.call("x.c", environment={name: self.compiler}).returncode, 7)
        for name in ("MEANTIME_CXX", "OMPI_CXX", "MPICH_CXX"):
            self.assertEqual(self.call("x.cc", wrapper="mpicxx", environment={name: self.compiler}).returncode, 7)
        with_options = self.compiled_with("x.c", environment={"MEANTIME_CC": self.compiler + " -m64 -DX=1"})
        self.assertEqual(with_options, ["-m64", "-DX=1", *self.linked("x.c")])
        shown = self.call("-showme:command", environment={"MEANTIME_CC": "ccache gcc"}).stdout
        self.assertEqual(shown, "ccache gcc\n")

    def test_a_compiler_that_is_not_there(self):
        for words, environment in ((("-cc=/no/such", "x.c"), {}), (("x.c",), {"MEANTIME_CC": "/no/such -m64"})):
            result = self.call(*words, environment=environment)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stderr, "mpicc: there is no compiler '/no/such' (MEANTIME_CC or -cc= chooses one)\n")

    def test_calling_itself_is_an_error(self):
        loop = os.path.join(os.path.dirname(self.compiler), "loop")
        os.symlink(os.path.join(self.prefix, "bin", "mpicc"), loop)
        result = self.call("x.c", environment={"MPICH_CC": loop})
        self.assertEqual(result.returncode, 1)
        self.assertIn("called by itself", result.stderr)

    def test_static_is_refused_when_linking(self):
        for option in ("-static", "-static-pie"):
            result = self.call(option, "x.c")
            self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))
            self.assertEqual(self.compiled_with(option, "-c", "x.c"), self.only_compiled(option, "-c", "x.c"))

    def test_found_through_a_link_and_from_anywhere(self):
        link = os.path.join(os.path.dirname(self.compiler), "mpi-of-mine")
        os.symlink(os.path.join(self.prefix, "bin", "mpicxx"), link)
        shown = subprocess.run([link, "-showme:incdirs"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(shown, f'"{self.prefix}/include"\n')
        for command in (["./mpicc"], ["sh", "mpicc"], ["../bin/mpicc"]):
            shown = subprocess.run([*command, "-showme:libdirs"], capture_output=True, text=True, check=True,
                                   cwd=os.path.join(self.prefix, "bin")).stdout
            self.assertEqual(shown, f'"{self.prefix}/lib"\n')

    def test_show_can_be_given_to_a_shell(self):
        odd = ["a b.c", '-DQ="x"', "$HOME", "`id`", "back\\slash"]
        shown = self.call("-show", *odd, environment={"MEANTIME_CC": self.compiler}).stdout
        subprocess.run(shown, shell=True, check=False, env={**os.environ, "RECORD": self.record})
        with open(self.record, encoding="utf-8") as file:
            self.assertEqual(file.read().split("\0")[:-1], self.linked(*odd))

    def test_questions(self):
        plain = os.path.join(os.path.dirname(self.compiler), "prefix")
        os.rename(self.prefix, plain)
        os.symlink(plain, self.prefix)
        flags = FLAGS_FIRST.format(plain)
        compile_flags, link_flags = flags.split(" ", 1)
        link_flags += " -lmpi_abi"
        for question, answer in {
                "-show": f"cc {compile_flags} {link_flags}",
                "--showme": f"cc {compile_flags} {link_flags}",
                "-showme:compile": compile_flags,
                "-showme:link": link_flags,
                "--showme:link": link_flags,
                "-show-compile-info": compile_flags,
                "-show-link-info": link_flags,
                "-compile_info": f"cc {compile_flags}",
                "-compile-info": f"cc {compile_flags}",
                "-link_info": f"cc {compile_flags} {link_flags}",
                "-link-info": f"cc {compile_flags} {link_flags}",
                "-showme:command": "cc",
                "-showme:incdirs": plain + "/include",
                "-showme:libdirs": plain + "/lib",
                "-showme:libs": "mpi_abi",
        }.items():
            self.assertEqual(self.call(question).stdout, answer + "\n", question)
        self.assertEqual(self.call("-show", "-c", "x.c").stdout, f"cc {compile_flags} -c x.c\n")
        self.assertIn("Meantime", self.call("-showme:version").stdout)
        self.assertIn("-cc=", self.call("-showme:help").stdout)
        self.assertNotEqual(self.call("-showme:nonsense").returncode, 0)
        self.assertNotEqual(self.call().returncode, 0)
        self.assertTrue(self.call("-show", wrapper="mpicxx").stdout.startswith("c++ "))


if __name__ == "__main__":
    unittest.main()
