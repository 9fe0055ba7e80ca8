"""What the site's file locks: for mpiexec, for a program without it, and in the program."""

import json
import os
import re

from mpiexec import BUILD, THREADS, main
from settings_case import SettingsCase


class Locks(SettingsCase):
    def test_lock(self):
        self.site_file("lock wait = event\n")
        self.user_file("wait = yield\n")
        self.assertRegex(self.line_of("MEANTIME_WAIT", MEANTIME_WAIT="poll"),
                         r"event +# .*/meantime.conf:1, locked;")
        for options, variables in (((), {"MEANTIME_WAIT": "poll"}), (("--wait", "poll"), {}),
                                   (("-env", "MEANTIME_WAIT", "poll"), {})):
            result = self.wait_in_job(*options, **variables)
            self.assertEqual((result.stdout, result.returncode), ("event\n", 0), result)
            self.assertRegex(result.stderr, r"^mpiexec: MEANTIME_WAIT stays event, not poll as .* says?: "
                             r".*:1, locked\n$")
        self.assertEqual(self.wait_in_job("--wait", "event").stderr, "")
        # The user's own file, which is for many jobs, is overruled as well; told where somebody looks, once for two programs.
        self.assertEqual(self.wait_in_job("-n", "1", "true", ":").stderr, "")
        line = r"MEANTIME_WAIT stays event, not yield as \S*/.config/meantime.conf:1 says: \S*:1, locked\n"
        result = self.wait_in_job("-v", "-n", "1", "true", ":")
        self.assertEqual(len(re.findall("mpiexec: " + line, result.stderr)), 1, result)
        result = self.wait_in_job("--report", "-n", "1", "true", ":")
        self.assertEqual(len(re.findall("\nnote: " + line, result.stderr)), 1, result)
        self.assertEqual(result.stderr.count("stays"), 1, result)
        path = self.path("report.json")
        self.wait_in_job(f"--report={path}")
        with open(path) as file:
            self.assertRegex(json.load(file)["notes"][0] + "\n", line)
        self.assertRegex(self.line_of("MEANTIME_WAIT"), r"locked; .*; not yield as \S*/meantime.conf:1 says$")
        alone = self.alone(self.locked_program())
        self.assertEqual(alone.stdout, "event refused 1 communicator none\n", alone)
        self.assertRegex(alone.stderr, "^" + self.told("Meantime", 1) + "$")

    def test_a_lock_of_the_way_to_wait_is_one_of_its_knobs(self):
        """But of those that the site's file sets itself."""
        program, knob = self.locked_program(), "MEANTIME_TRIES_POLL"
        self.site_file("timeout = 100\nlock tries_yield = 3\nlock wait = event\n")
        stays = rf"{knob} stays as MEANTIME_WAIT says, not 7 as .* says?: \S*/etc/meantime.conf:3, locked\n$"
        for options, variables in (((), {knob: "7"}), (("-x", f"{knob}=7"), {}), (("-env", knob, "7"), {})):
            result = self.command("mpiexec", *options, "sh", "-c", f"echo ${knob} $MEANTIME_TIMEOUT $MEANTIME_TRIES_YIELD",
                                  **variables)
            self.assertEqual((result.stdout, result.returncode), ("100 3\n", 0), result)
            self.assertRegex(result.stderr, "^mpiexec: " + stays)
        self.assertRegex(self.line_of(knob, **{knob: "7"}), r"as MEANTIME_WAIT says +# .*:3, locked;.*; not 7 as")
        alone = self.alone(program, **{knob: "7"})
        self.assertRegex(alone.stderr, "^Meantime: " + stays[:-1] + "Meantime: MEANTIME_WAIT stays event, not poll")
        # What the site sets, but does not lock, may be changed.
        result = self.command("mpiexec", "sh", "-c", "echo $MEANTIME_TIMEOUT", MEANTIME_TIMEOUT="50")
        self.assertEqual((result.stdout, result.stderr), ("50\n", ""))
        for run in (self.command("mpiexec", program, knob), self.alone(program, knob)):
            self.assertEqual(run.returncode, 0, run)
            self.assertRegex(run.stdout, r"^(?!7 )\d+ refused 1 communicator none\n$")
            self.assertIn(f"{knob} stays as MEANTIME_WAIT says, not 7 as the program says: ", run.stderr)

    def test_a_lock_of_the_way_to_wait_is_one_of_the_energy_policies(self):
        self.site_file("lock wait = event\n")
        result = self.command("mpiexec", "--report", "true", MEANTIME_ENERGY="performance")
        self.assertRegex(result.stderr, "^mpiexec: MEANTIME_ENERGY stays none, not performance as the environment "
                                        r"says: \S*/etc/meantime.conf:1, locked\n")
        self.assertNotIn("energy policy", result.stderr)
        self.site_file("energy = none\nlock wait = event\n")
        self.assertEqual(self.command("mpiexec", "true", MEANTIME_ENERGY="performance").stderr, "")

    def test_who_says_what_a_lock_says_is_told_nothing(self):
        """Also where the lock is another setting's, so that the preset holds."""
        self.site_file("lock wait = event\n")
        for user in ("", "energy = none\n"):
            self.user_file(user)
            for variables in ({}, {"MEANTIME_ENERGY": "none"}, {"MEANTIME_ENERGY_HANDLER": "none"}):
                self.assertEqual(self.command("mpiexec", "true", **variables).stderr, "")
        self.assertEqual(self.command("mpiexec", "-env", "MEANTIME_ENERGY", "none", "true").stderr, "")
        # Numbers are what they mean.
        self.site_file("lock timeout = 100\nlock eager_pair = 4M\n")
        same = {"MEANTIME_TIMEOUT": "0100", "MEANTIME_EAGER_PAIR": "4096K"}
        self.assertEqual(self.command("mpiexec", "true", **same).stderr, "")
        for run in (self.alone(self.between_program(), "MEANTIME_TIMEOUT", "0100", **same),
                    self.command("mpiexec", self.between_program(), "MEANTIME_TIMEOUT", "0100")):
            self.assertEqual((run.returncode, run.stderr), (0, ""), run)

    def test_locked_twice(self):
        for second in ("lock wait = poll", "wait = poll", "lock wait = event"):
            self.site_file(f"lock wait = event\n{second}\n")
            for command in (("mpiexec", "true"), ("meantime", "config")):
                result = self.command(*command)
                self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1), result)
                self.assertRegex(result.stderr, r":2: MEANTIME_WAIT is locked already, by .*:1$")

    @staticmethod
    def told(who, line):
        """The program goes on, though its error handlers end it at errors."""
        return "".join(rf"{who}: {what}: \S*/etc/meantime.conf:{line}, locked\n" for what in (
            "MEANTIME_WAIT stays event, not poll as the program says", "the program's energy handler is not taken",
            "MEANTIME_WAIT stays event, not poll as a communicator's meantime_wait says"))

    def test_the_program_cannot_undo_a_lock(self):
        program = self.locked_program()
        if THREADS:
            os.symlink(os.path.join(BUILD, "libexec"), os.path.join(self.prefix, "libexec"))
        for line, says in (("lock wait = event", "event refused 1 communicator none\n"),
                           ("wait = event", "poll refused 0 communicator poll\n")):
            self.site_file(line + "\n")
            for options in ((), ("--as", "threads")) if THREADS else ((),):
                result = self.command("mpiexec", *options, "-n", "3", program)
                self.assertEqual((result.stdout, result.returncode), (says * 3, 0), result)
                # Once a job, whoever is first with what.
                told = self.told("mpiexec", 1).split("\\n")[:-1] if line.startswith("lock") else []
                self.assertEqual(len(result.stderr.splitlines()), len(told), result)
                for one in told:
                    self.assertRegex(result.stderr, one)

    def test_a_lock_of_one_rung_breaks_no_program(self):
        """That sets another one, which is never come to after it. What makes no sense is an error all the same."""
        program = self.between_program()
        self.site_file("lock tries_poll = infinity\n")
        result = self.command("mpiexec", "-n", "2", program, "MEANTIME_TIMEOUT", "100")
        self.assertEqual((result.stdout, result.returncode), ("adaptive\n" * 2, 0), result)
        self.assertRegex(result.stderr, "^mpiexec: MEANTIME_TIMEOUT=100 is never come to after MEANTIME_TRIES_POLL=infinity.*; "
                         r"MEANTIME_TIMEOUT stays infinity: MEANTIME_TRIES_POLL is locked \(\S*:1\)\n$")
        # What contradicts itself without the lock is so, too.
        self.site_file("lock timeout = 100\n")
        result = self.command("mpiexec", program, "MEANTIME_TRIES_POLL", "infinity", "MEANTIME_TRIES_YIELD", "4")
        self.assertNotEqual(result.returncode, 0, result)
        self.assertIn("MPIX_Setting_set: MPI_ERR_ARG: MEANTIME_TRIES_YIELD=4 is never come to after "
                      "MEANTIME_TRIES_POLL=infinity", result.stderr)
        self.site_file("lock tries_poll = 0\n")
        result = self.command("mpiexec", program, "MEANTIME_TIMEOUT", "0")
        self.assertEqual((result.stdout, result.returncode), ("adaptive\n", 0), result)
        self.assertRegex(result.stderr, r"MEANTIME_TIMEOUT stays infinity: MEANTIME_TRIES_POLL is locked \(\S*:1\)\n$")
        result = self.command("mpiexec", program, "MEANTIME_TRIES_YIELD", "many")
        self.assertNotEqual(result.returncode, 0, result)
        self.assertRegex(result.stderr, r"MPIX_Setting_set: MPI_ERR_ARG: MEANTIME_TRIES_YIELD must be .*; called from main \(between.c:\d+\)\n$")

    def test_what_stands_between_mpiexec_and_the_rank_undoes_no_lock(self):
        """A script, env, the program's own setenv; and the report tells what held."""
        program = self.between_program()
        ways = (("env", "MEANTIME_WAIT=poll", program), ("sh", "-c", f"MEANTIME_WAIT=poll exec {program}"), (program, "poll"))
        self.site_file("lock wait = event\n")
        for words in ways:
            result = self.command("mpiexec", "-n", "2", *words)
            self.assertEqual((result.stdout, result.returncode), ("event\n" * 2, 0), result)
            self.assertRegex(result.stderr, r"^mpiexec: MEANTIME_WAIT stays event, not poll as the environment says: \S*:1, locked\n$")
            self.assertIn("\nwaiting: event\n", self.command("mpiexec", "--report", "-n", "2", *words).stderr)
        # What mpiexec has told already is not told again.
        result = self.command("mpiexec", "-n", "2", *ways[0], MEANTIME_WAIT="yield")
        self.assertRegex(result.stderr, r"^mpiexec: MEANTIME_WAIT stays event, not yield as the environment says: \S*:1, locked\n$")
        self.site_file("")
        some = f"case $MEANTIME_RANK in 1|2|4) export MEANTIME_WAIT=poll MEANTIME_ENERGY=powersave;; esac; exec {program}"
        for words in ways:
            result = self.command("mpiexec", "--wait", "event", "--report", "-n", "2", *words)
            self.assertEqual(result.stdout, "poll\n" * 2)
            self.assertIn("\nwaiting: poll\n", result.stderr)
        path = self.path("report.json")
        result = self.command("mpiexec", "--report", f"--report={path}", "-n", "5", "sh", "-c", some)
        self.assertIn("\nwaiting: adaptive; ranks 1-2, 4: poll\n", result.stderr)
        self.assertIn("\nenergy policy: none; ranks 1-2, 4: powersave\n", result.stderr)
        with open(path) as file:
            self.assertEqual([(rank["wait"], rank["energy_policy"]) for rank in json.load(file)["ranks"]],
                             [("adaptive", "none"), ("poll", "powersave"), ("poll", "powersave"),
                              ("adaptive", "none"), ("poll", "powersave")])

    def test_what_a_lock_takes_away(self):
        """Is named; what is of no use without it is not refused as if somebody had forgotten it."""
        self.site_file("lock wait = event\n")
        frequency = {"MEANTIME_FREQUENCY": "epp"}
        of_no_use = (r"MEANTIME_FREQUENCY=epp is of no use without MEANTIME_ENERGY=countdown, which stays none: "
                     r"\S*/etc/meantime.conf:1, locked\n")
        stays = r"MEANTIME_ENERGY stays none, not countdown as the environment says: \S*/etc/meantime.conf:1, locked\n"
        for energy, lines in (({}, f"mpiexec: {of_no_use}"),
                              ({"MEANTIME_ENERGY": "countdown"}, f"mpiexec: {stays}mpiexec: {of_no_use}")):
            result = self.command("mpiexec", "true", **frequency, **energy)
            self.assertEqual(result.returncode, 0, result)
            self.assertRegex(result.stderr, f"(?s)^{lines}$")
            config = self.command("meantime", "config", **frequency, **energy)
            self.assertEqual(config.returncode, 0)
            self.assertRegex(config.stderr, of_no_use)
            alone = self.alone(self.locked_program(), **frequency, **energy)
            self.assertEqual(alone.returncode, 0)
            self.assertRegex(alone.stderr, of_no_use)
            result = self.command("mpiexec", "true", **frequency, **energy, MEANTIME_MACHINE="require")
            self.assertEqual(result.returncode, 1, result)
            self.assertRegex(result.stderr, r"locked away \(MEANTIME_MACHINE=require\)\n$")
        # With one policy locked the other one stays as the file has it.
        for own, other, wants in (("energy_handler = /no/such.so", "energy", "powersave"),
                                  ("energy = powersave", "energy_handler", "/no/such.so")):
            self.site_file(f"{other} = none\nlock {own}\n")
            config = self.command("meantime", "config", **{"MEANTIME_" + other.upper(): wants})
            self.assertEqual((config.returncode, config.stderr), (0, ""), config)
            self.assertRegex(config.stdout, rf"MEANTIME_{other.upper()} +none +# \S*:2, locked; .*; not {wants} as the environment says\n")
        result = self.command("mpiexec", "true", MEANTIME_ENERGY_HANDLER="/no/such.so")
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stderr, r"^mpiexec: MEANTIME_ENERGY_HANDLER stays none, not /no/such.so as the "
                         r"environment says: \S*:2, locked\n$")
        # Sizes that cannot be had beside a lock are refused, which names it.
        self.site_file("lock eager_pair = 16K\n")
        result = self.command("mpiexec", "true", MEANTIME_EAGER_LIMIT="32K")
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, r"^mpiexec: MEANTIME_EAGER_PAIR=16K \(\S*:1, locked\) must not be less than MEANTIME_EAGER_LIMIT=32K")
        # One of the two policies is locked as the other one is.
        self.site_file("lock energy = powersave\n")
        result = self.command("mpiexec", "true", MEANTIME_ENERGY_HANDLER="/no/such.so")
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stderr, r"^mpiexec: MEANTIME_ENERGY_HANDLER stays none, not /no/such.so as the "
                         r"environment says: \S*:1, locked\n$")


if __name__ == "__main__":
    main()
