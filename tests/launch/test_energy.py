"""The energy framework: handlers of the program, of a library, ready ones; what is not loaded."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from mpiexec import BUILD, CFLAGS, SOURCE, THREADS, MpiexecTest, main

MPICC = os.path.join(BUILD, "bin", "mpicc")
MEANTIME = os.path.join(BUILD, "bin", "meantime")
MPICXX = os.path.join(BUILD, "bin", "mpicxx")
SOURCES = os.path.join(SOURCE, "tests", "launch")
KINDS = ("processes", "threads") if THREADS else ("processes",)


class Energy(MpiexecTest):
    def program(self):
        program = self.path("energy")
        subprocess.run([MPICC, "-g", *CFLAGS, os.path.join(SOURCES, "energy.c"), "-o", program],
                       check=True)
        return program

    def library(self, name="policy.so", source=None):
        folder = os.path.join(self.folder.name, "policies")
        os.makedirs(folder, mode=0o755, exist_ok=True)
        library = os.path.join(folder, name)
        subprocess.run([MPICC, "-shared", "-fPIC", source or os.path.join(SOURCES, "energy_library.c"),
                        "-o", library], check=True)
        os.chmod(library, 0o755)
        return library

    def test_handler_of_the_program(self):
        program = self.program()
        for kind in KINDS:
            for wait in ("adaptive", "poll", "event", "predicted"):
                words = [program, "asked"] if kind == "processes" else [program]
                result = self.run_job("--as", kind, "--wait", wait, "-n", 3, *words)
                self.assertEqual((result.status, result.output), (0, " No Errors\n"), result)
                self.assertNotIn("answered", result.error)

    def test_a_short_persistent_send_goes_by_shared_memory(self):
        result = self.run_job("-n", 2, self.program(), "persistent")
        self.assertEqual((result.status, result.output), (0, " No Errors\n"), result)

    def test_handler_of_the_paper_knows_the_channel(self):
        """Shared memory, or from buffer to buffer; first as far as it can be said, in the end as it was."""
        program = self.path("late_messages")
        subprocess.run([MPICC, "-g", *CFLAGS, *(os.path.join(SOURCES, name) for name in
                                                ("late_messages.c", "energy_hooks.c")), "-o", program], check=True)
        ways = [("processes", (), "shared memory", "direct copy"),
                ("processes", ("-x", "MEANTIME_CMA=0"), "shared memory", "shared memory")]
        if "threads" in self.kinds_with_a_core_each():
            # Through a cell all the same if its receive is not there yet, or its mailbox is somebody else's just then.
            ways.append(("threads", (), "(direct copy|several)", "direct copy"))
        for kind, words, small, large in ways:
            for wait in ("adaptive", "event"):
                with self.subTest(kind=kind, words=words, wait=wait):
                    result = self.run_job("--as", kind, "--wait", wait, *words, "-n", 2, program, timeout=60)
                    self.assertEqual(result.status, 0, result)
                    self.assertRegex("\n".join(sorted(result.output.splitlines())),
                                     f"^rank 0: large {large}\nrank 1: large {large}, small {small}$")

    def test_default_leaves_the_prediction_on(self):
        program = self.path("energy_default")
        subprocess.run([MPICC, "-g", *CFLAGS, os.path.join(SOURCES, "energy_default.c"), "-o", program], check=True)
        for wait in ("predicted", "ade"):
            for answer in ("none", "default", "sleep", "poll"):
                with self.subTest(wait=wait, answer=answer):
                    report = self.path("report.json")
                    result = self.run_job("--wait", wait, f"--report={report}", "-n", 2, program, answer, timeout=60)
                    self.assertEqual((result.status, result.output), (0, " No Errors\n"), result)
                    with open(report, encoding="utf-8") as file:
                        sites = json.load(file)["ranks"][1]["sites"]
                    predictions = sum(site["predictions"] for site in sites if site["call"] == "MPI_Recv")
                    self.assertEqual(predictions > 0, answer in ("none", "default"), sites)

    def test_nonsense_and_slowness_are_told_once_a_rank(self):
        program = self.program()
        for kind in self.kinds_with_a_core_each():
            for what, part in (("nonsense", "the energy handler answered 77, which is none of"),
                               ("slow", " ms for an answer, for the 3rd time in a row (said once)"),
                               ("slow leave", " ms at the end of a wait, for the 3rd time in a row (said once)"),
                               ("slow twice", " ms for an answer, for the 2nd time so long (said once)"),
                               ("slow once", None),
                               ("nonsense again", "the energy handler answered 77, which is none of")):
                result = self.run_job("--as", kind, "-n", 2, program, *what.split())
                self.assertEqual((result.status, result.output), (0, " No Errors\n"), result)
                if part is None:
                    self.assertNotRegex(result.error, r"took \d{3}")
                    continue
                lines = [line for line in result.error.splitlines() if "rank 1: " in line and part in line]
                self.assertEqual(len(lines), 1, result)

    @unittest.skipIf(CFLAGS, "the sanitizers' runtimes unwind their own way")
    def test_handlers_that_throw(self):
        program = self.path("energy_throws")
        subprocess.run([MPICXX, "-g", os.path.join(SOURCES, "energy_throws.cpp"), "-o", program],
                       check=True)
        for kind in self.kinds_with_a_core_each():
            result = self.run_job("--as", kind, "-n", 2, program, timeout=60)
            self.assertEqual((result.status, result.output), (0, " No Errors\n"), result)

    def kinds_with_a_core_each(self):
        """A thread rank that shares its worker helps, and need not be asked."""
        workers = int(self.run_job("sh", "-c", "echo $MEANTIME_WORKERS").output)
        return KINDS if workers > 1 else ("processes",)

    def test_handlers_come_and_go_while_threads_wait(self):
        program = self.path("energy_threads")
        subprocess.run([MPICC, "-g", *CFLAGS, os.path.join(SOURCES, "energy_threads.c"), "-pthread", "-o",
                        program], check=True)
        for wait in ("adaptive", "event", "predicted"):
            result = self.run_job("--wait", wait, "-n", 2, program, timeout=60)
            self.assertEqual((result.status, result.output), (0, " No Errors\n"), result)
            self.assertNotIn("answered", result.error)

    def test_ready_policies(self):
        program = self.program()
        for policy in ("performance", "balanced", "powersave"):
            for kind in KINDS:
                result = self.run_job("--as", kind, "-x", f"MEANTIME_ENERGY={policy}", "-n", 3, program,
                                      "plain")
                self.assertEqual((result.status, result.output, result.error), (0, " No Errors\n", ""),
                                 result)
        result = self.run_job("-x", "MEANTIME_ENERGY=fast", "-n", 2, program)
        self.assertEqual(result.status, 1)
        self.assert_one_line(result, "none, performance, balanced, powersave or countdown")

    def test_library(self):
        program, library = self.program(), self.library()
        for kind in KINDS:
            report = self.path("report.json")
            result = self.run_job("--as", kind, f"--report={report}", "-x",
                                  f"MEANTIME_ENERGY_HANDLER={library}", "-n", 2, program, "plain",
                                  300)
            self.assertEqual((result.status, result.output), (0, " No Errors\n"), result)
            if kind == "processes":
                self.assertIn("the library was asked\n", result.error)
            with open(report) as file:
                self.assertEqual(json.load(file)["energy"]["handler"], library)

    def test_library_that_takes_its_time_to_load(self):
        """The run-time linker's lock is held by a rank that sleeps: its worker does without."""
        program = self.program()
        source = self.path("slow.c", "#include <meantime.h>\n#include <unistd.h>\n"
                           "__attribute__((constructor)) static void slow(void) { usleep(100000); }\n"
                           "int meantime_energy_enter(const MPIX_Energy_info* info, void* argument) {\n"
                           "  return (void)info, (void)argument, MPIX_ENERGY_SLEEP;\n}\n")
        library = self.library("slow.so", source)
        for kind in KINDS:
            for wait in ("adaptive", "yield"):
                for ranks in (1, 2):
                    result = self.run_job("--as", kind, "--wait", wait, "-x", f"MEANTIME_ENERGY_HANDLER={library}",
                                          "-n", ranks, program, "plain", timeout=60)
                    self.assertEqual((result.status, result.output), (0, " No Errors\n"), result)

    @unittest.skipUnless(shutil.which("gdb"), "no gdb")
    def test_debugger_beside_a_library(self):
        program, library = self.path("rank"), self.library()
        subprocess.run([MPICC, "-g", *CFLAGS, os.path.join(SOURCES, "rank.c"), "-o", program], check=True)
        for kind in KINDS:
            job = self.start("--as", kind, "-x", f"MEANTIME_ENERGY_HANDLER={library}", "-n", 3, program, "late")
            try:
                def waiting():
                    text = subprocess.run([MEANTIME, "ps", "--each"], capture_output=True, text=True, timeout=60,
                                          env=self.environment).stdout
                    return text.partition(f"job {job.pid}:")[2].split("\njob ")[0].count("MPI_Barrier") == 2

                self.wait_for(waiting, "two ranks to wait")
                result = subprocess.run([MEANTIME, "stack", str(job.pid), "--rank", "2"], capture_output=True,
                                        text=True, timeout=60, env=self.environment)
                if result.returncode == 0:  # not where nobody may be traced
                    self.assertRegex(result.stdout, r"(?s)rank 2 .*waits in MPI_Barrier.*#\d+ .* in main", result)
                else:
                    self.assertIn("ptrace_scope", result.stderr, result)
            finally:
                job.terminate()
                job.communicate(timeout=60)

    def test_library_of_a_file_that_a_job_does_without(self):
        program, library = self.program(), self.library()
        self.path("meantime.conf", f"energy_handler = {library}\n")
        environment = dict(self.environment, XDG_CONFIG_HOME=self.folder.name)
        for kind in KINDS:
            for policy, handler in (("none", library), ("none", "none"), ("balanced", "none")):
                report = self.path("report.json")
                said = ("-x", "MEANTIME_ENERGY_HANDLER=none") if handler == "none" else ()
                result = self.run_job("--as", kind, f"--report={report}", "-x", f"MEANTIME_ENERGY={policy}", *said,
                                      "-n", 2, program, "plain", env=environment)
                self.assertEqual((result.status, result.output), (0, " No Errors\n"), result)
                with open(report) as file:
                    self.assertEqual(json.load(file)["energy"].get("handler") or "none", handler)

    def test_library_and_a_program_with_more_rights(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make such a program")
        program, library, nobody = self.program(), self.library(), 65534
        os.chmod(self.folder.name, 0o755)
        os.chown(program, nobody, nobody)
        os.chmod(program, 0o4755)
        result = self.run_job("-n", 1, program, "plain")
        if result.status != 0:
            self.skipTest("this tree is root's alone")
        result = self.run_job("-x", f"MEANTIME_ENERGY_HANDLER={library}", "-n", 1, program, "plain")
        if result.status == 0:
            self.skipTest("the file system ignores set-user-ID")
        self.assertEqual((result.status, result.output), (1, ""), result)
        self.assert_one_line(result, "this program runs with more rights than its user")

    def test_settings_of_a_program_with_more_rights(self):
        """Alone, by somebody else: lines of a file that he may not read would be told as no settings."""
        if os.geteuid() != 0:
            self.skipTest("only root can make such a program")
        program = self.program()
        os.makedirs(self.path("config"))
        os.symlink(self.path("secret", "secret:line\n", 0o600), self.path("config/meantime.conf"))
        for folder in (self.folder.name, self.path("config")):
            os.chmod(folder, 0o755)
        os.chmod(program, 0o4755)
        result = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", program, "plain"], timeout=60,
                                env=dict(self.environment, XDG_CONFIG_HOME=self.path("config"), MEANTIME_WAIT="no such"),
                                capture_output=True, text=True)
        self.assertNotIn("secret", result.stderr)
        self.assertEqual((result.returncode, result.stdout), (0, " No Errors\n"), result)

    def test_libraries_that_are_not_loaded(self):
        program, library = self.program(), self.library()

        def refused(path, part, *before, **variables):
            result = self.run_job("-x", f"MEANTIME_ENERGY_HANDLER={path}",
                                  *[word for name, value in variables.items()
                                    for word in ("-x", f"{name}={value}")], "-n", 1, *before, program,
                                  "plain")
            self.assertEqual((result.status, result.output), (1, ""), result)
            self.assert_one_line(result, part)
            # mpiexec says it before any rank is there, if a script does not stand between.
            self.assertEqual("rank 0" in result.error, bool(before) or part == has_no_function)

        has_no_function = "it has no function meantime_energy_enter"
        shell = ("sh", "-c", '"$0" "$@"; exit $?')
        refused("policy.so", "its path must be absolute")
        refused(self.path("no-such.so"), "No such file")
        refused(os.path.dirname(library), "it is no regular file")
        refused(library, "are both set", MEANTIME_ENERGY="powersave")
        os.chmod(library, 0o775)
        refused(library, "its file may be written by others")
        os.chmod(library, 0o755)
        os.chmod(os.path.dirname(library), 0o777)
        refused(library, "its folder may be written by others")
        os.chmod(os.path.dirname(library), 0o755)
        # Whoever may rename a folder above it may put another one there.
        above = os.path.dirname(os.path.dirname(library))
        os.chmod(above, 0o777)
        refused(library, f"'{above}' on the way to it may be written by others")
        elsewhere = tempfile.mkdtemp(dir=self.temporary)
        os.symlink(library, os.path.join(elsewhere, "link.so"))
        os.symlink(elsewhere, os.path.join(above, "open"))
        os.chmod(above, 0o755)
        os.chmod(elsewhere, 0o777)
        refused(os.path.join(above, "open", "..", os.path.basename(elsewhere), "link.so"),
                f"'{elsewhere}' on the way to it may be written by others")
        os.chmod(elsewhere, 0o1777)
        for path in (library, os.path.join(above, "open", "link.so"), os.path.join(elsewhere, "..", "..", "policies", "policy.so")):
            result = self.run_job("-x", f"MEANTIME_ENERGY_HANDLER={path}", "-n", 1, program, "plain")
            self.assertEqual((result.status, result.output), (0, " No Errors\n"), result)
        if os.geteuid() == 0:
            os.chown(os.path.join(elsewhere, "link.so"), 12345, -1, follow_symlinks=False)
            refused(os.path.join(elsewhere, "link.so"), "link.so' on the way to it belongs to somebody else")
        shutil.rmtree(elsewhere)
        if os.geteuid() == 0:
            os.chown(above, 12345, -1)
            refused(library, f"'{above}' on the way to it belongs to somebody else")
            os.chown(above, 0, -1)
            os.chown(library, 12345, -1)
            refused(library, "its file belongs to somebody else")
        empty = self.path("empty.c", "int nothing;\n")
        refused(self.library("empty.so", empty), has_no_function)
        refused(self.path("text.so", "no library\n"), "it is no library for this machine")
        # Its headers are there; the loader would map what is not.
        with open(library, "rb") as file:
            whole = file.read()
        for bytes in (4096, 8192):
            cut_off = self.path("cut_off.so", whole[:bytes])
            refused(cut_off, f"it is cut off: {bytes} bytes of at least ")
            refused(cut_off, f"it is cut off: {bytes} bytes of at least ", *shell)


if __name__ == "__main__":
    main()
