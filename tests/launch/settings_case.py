"""What the tests of settings have in common."""

import os
import shutil
import subprocess

from mpiexec import BUILD, CFLAGS, SOURCE, MpiexecTest

MPICC = os.path.join(BUILD, "bin", "mpicc")
SETTINGS = os.path.join(SOURCE, "tests", "launch", "settings.c")


class SettingsCase(MpiexecTest):
    """Each test has a home of its own, and an installation whose site file it may write."""

    def setUp(self):
        super().setUp()
        self.prefix = os.path.join(self.folder.name, "prefix")
        self.home = os.path.join(self.folder.name, "home")
        for folder in ("bin", "lib", "etc"):
            os.makedirs(os.path.join(self.prefix, folder))
        os.makedirs(os.path.join(self.home, ".config"))
        for file in ("bin/mpiexec", "bin/meantime", "lib/libmpi_abi.so.1"):
            shutil.copy(os.path.join(BUILD, file), os.path.join(self.prefix, file))
        self.environment["HOME"] = self.home
        for name in list(self.environment):
            if name.startswith(("MEANTIME_WAIT", "MEANTIME_TRIES", "MEANTIME_TIMEOUT", "XDG_")):
                del self.environment[name]

    def site_file(self, text):
        with open(os.path.join(self.prefix, "etc", "meantime.conf"), "w") as file:
            file.write(text)

    def user_file(self, text):
        with open(os.path.join(self.home, ".config", "meantime.conf"), "w") as file:
            file.write(text)

    def command(self, name, *words, **variables):
        return subprocess.run([os.path.join(self.prefix, "bin", name), *words], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              env=dict(self.environment, **variables))

    def line_of(self, name, **variables):
        result = self.command("meantime", "config", **variables)
        return next(line for line in result.stdout.splitlines() if line.startswith(name + " "))

    def wait_in_job(self, *options, **variables):
        return self.command("mpiexec", *options, "sh", "-c", "echo $MEANTIME_WAIT", **variables)

    def alone(self, program=None, *words, **variables):
        """An MPI program without mpiexec, which finds the site's file where it finds the library."""
        return subprocess.run([program or self.program(), *words], timeout=60, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=dict(
                                  self.environment, **variables,
                                  LD_LIBRARY_PATH=os.path.join(self.prefix, "lib")))

    def program(self):
        program = self.path("settings")
        if not os.path.exists(program):
            subprocess.run([MPICC, *CFLAGS, SETTINGS, "-o", program], check=True)
        return program

    def locked_program(self):
        program = self.path("locked")
        subprocess.run([MPICC, *CFLAGS, os.path.join(SOURCE, "tests", "launch", "locked.c"), "-o",
                        program], check=True)
        return program

    def between_program(self):
        program = self.path("between")
        subprocess.run([MPICC, "-g", *CFLAGS, os.path.join(SOURCE, "tests", "launch", "between.c"), "-o", program], check=True)
        return program
