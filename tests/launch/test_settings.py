"""Settings: files, environment, options, the program; what is refused."""

import os
import subprocess

from mpiexec import BUILD, CFLAGS, SOURCE, THREADS, main
from settings_case import MPICC, SettingsCase


class Settings(SettingsCase):
    def test_order_of_sources(self):
        self.assertRegex(self.line_of("MEANTIME_WAIT"), r"^MEANTIME_WAIT +adaptive +# built in;")
        self.assertEqual(self.wait_in_job().stdout, "\n")
        self.site_file("# the centre's\nwait = event  # all of them\n")
        self.assertRegex(self.line_of("MEANTIME_WAIT"), r"event +# .*/etc/meantime.conf:2;")
        self.assertEqual(self.wait_in_job().stdout, "event\n")
        self.user_file("MEANTIME_WAIT=yield\n")
        self.assertRegex(self.line_of("MEANTIME_WAIT"), r"yield +# .*/.config/meantime.conf:1;")
        self.assertEqual(self.wait_in_job().stdout, "yield\n")
        self.assertRegex(self.line_of("MEANTIME_WAIT", MEANTIME_WAIT="poll"), r"poll +# environment;")
        self.assertEqual(self.wait_in_job(MEANTIME_WAIT="poll").stdout, "poll\n")
        self.assertEqual(self.wait_in_job("--wait", "ade", MEANTIME_WAIT="poll").stdout, "ade\n")
        self.assertEqual(self.wait_in_job("-genvnone", "-x", "PATH", MEANTIME_WAIT="poll").stdout,
                         "yield\n")

    def test_a_program_of_its_own_way(self):
        """What one program of a job is told by -env is stronger than what mpiexec is told for all of them."""
        tell = ["sh", "-c", "echo $MEANTIME_WAIT"]
        for everybody in (["--wait", "poll"], ["-x", "MEANTIME_WAIT=poll"]):
            result = self.command("mpiexec", "-l", *everybody, *tell, ":", "-env", "MEANTIME_WAIT", "event", *tell)
            self.assertEqual(sorted(result.stdout.splitlines()), ["[0] poll", "[1] event"], result)

    def test_user_file_elsewhere(self):
        folder = os.path.join(self.folder.name, "xdg")
        os.mkdir(folder)
        self.user_file("wait = yield\n")
        with open(os.path.join(folder, "meantime.conf"), "w") as file:
            file.write("tries_poll = infinity\n")
        self.assertRegex(self.line_of("MEANTIME_TRIES_POLL", XDG_CONFIG_HOME=folder), r"infinity +# ")
        self.assertRegex(self.line_of("MEANTIME_WAIT", XDG_CONFIG_HOME=folder), r"adaptive +# built")

    def test_unknown_variables(self):
        line = ("nothing in Meantime reads MEANTIME_COLOUR_OF_THE_SKY, MEANTIME_TRIESPOLL (meant "
                "MEANTIME_TRIES_POLL?), MEANTIME_WIAT (meant MEANTIME_WAIT?); `meantime config` lists all "
                "settings\n")
        unknown = {"MEANTIME_WIAT": "poll", "MEANTIME_COLOUR_OF_THE_SKY": "blue"}
        result = self.command("mpiexec", "-n", "2", "-x", "MEANTIME_TRIESPOLL=1", "true", ":", "true", **unknown)
        self.assertEqual((result.returncode, result.stderr), (0, "mpiexec: " + line), result)
        # The wrappers' is somebody's.
        self.assertEqual(self.command("mpiexec", "true", MEANTIME_FORTRAN="/opt/fortran").stderr, "")
        unknown["MEANTIME_TRIESPOLL"] = "1"
        self.assertEqual(self.command("meantime", "config", **unknown).stderr, "meantime: " + line)
        self.assertEqual(self.alone(**unknown).stderr, "Meantime: " + line)
        self.assertIn("MEANTIME_wait (meant MEANTIME_WAIT?)", self.command("mpiexec", "true", MEANTIME_wait="poll").stderr)
        # What other tools and Meantime's own ranks have there is none of these.
        result = self.command("mpiexec", os.path.join(self.prefix, "bin", "mpiexec"), "true", MEANTIME_ROOT="/opt", MEANTIME_CC="cc",
                              MEANTIME_SINGLETON="1")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)

    def test_contradictions(self):
        def refused(part, options=(), **variables):
            for command in (("mpiexec", *options, "true"), ("meantime", "config")):
                result = self.command(*command, **variables)
                self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1), result)
                self.assertIn(part, result.stderr)
            alone = self.alone(**variables)
            self.assertEqual(alone.returncode, 1, alone)
            self.assertIn(part, alone.stderr)

        def allowed(**variables):
            result = self.command("mpiexec", "true", **variables)
            self.assertEqual((result.returncode, result.stderr), (0, ""), result)

        refused("MEANTIME_TRIES_YIELD=4 is never come to after MEANTIME_TRIES_POLL=infinity",
                MEANTIME_TRIES_POLL="infinity", MEANTIME_TRIES_YIELD="4")
        refused("MEANTIME_TIMEOUT=100 is never come to after MEANTIME_TRIES_YIELD=infinity",
                MEANTIME_TRIES_YIELD="infinity", MEANTIME_TIMEOUT="100")
        # As the paper writes it.
        refused("MEANTIME_TRIES_YIELD=4 is never come to after MEANTIME_TRIES_POLL=INFINITY",
                MEANTIME_TRIES_POLL="INFINITY", MEANTIME_TRIES_YIELD="4")
        allowed(MEANTIME_TRIES_POLL="Infinity", MEANTIME_TIMEOUT="INFINITY")
        # The same where it is the way to wait that has such a rung.
        refused("MEANTIME_TRIES_YIELD=4 is never come to after MEANTIME_WAIT=poll:",
                MEANTIME_WAIT="poll", MEANTIME_TRIES_YIELD="4")
        refused("MEANTIME_TIMEOUT=100 is never come to after MEANTIME_WAIT=poll:",
                MEANTIME_WAIT="poll", MEANTIME_TIMEOUT="100")
        refused("MEANTIME_TIMEOUT=100 is never come to after MEANTIME_WAIT=yield:",
                MEANTIME_WAIT="yield", MEANTIME_TIMEOUT="100")
        allowed(MEANTIME_WAIT="poll", MEANTIME_TRIES_POLL="9", MEANTIME_TRIES_YIELD="4", MEANTIME_TIMEOUT="100")
        allowed(MEANTIME_WAIT="yield", MEANTIME_TRIES_YIELD="4", MEANTIME_TIMEOUT="100")
        allowed(MEANTIME_WAIT="poll", MEANTIME_TRIES_YIELD="0", MEANTIME_TIMEOUT="infinity")
        # mpiexec's option is stronger than what the environment says of the knobs; the file is not.
        result = self.command("mpiexec", "--wait", "poll", "true", MEANTIME_TRIES_YIELD="4")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        # So is what it is told to put into the ranks' environment, and that of one program is no other's.
        for options in (("-x", "MEANTIME_WAIT=poll", "true"), ("-env", "MEANTIME_WAIT", "poll", "true", ":", "true"),
                        ("-env", "MEANTIME_TRIES_POLL", "INFINITY", "true", ":", "true")):
            result = self.command("mpiexec", *options, MEANTIME_TIMEOUT="100")
            self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        self.user_file("wait = poll\n")
        refused("MEANTIME_TRIES_YIELD=4 is never come to after MEANTIME_WAIT=poll (", MEANTIME_TRIES_YIELD="4")
        self.user_file("tries_yield = 4\n")
        allowed(MEANTIME_WAIT="poll")
        self.user_file("")
        refused("MEANTIME_EAGER_PAIR=1K must not be less than MEANTIME_EAGER_LIMIT, which is 8192 bytes unless",
                MEANTIME_EAGER_PAIR="1K")
        refused("MEANTIME_EAGER_RANK=8191 must not be less than MEANTIME_EAGER_LIMIT, which is 8192",
                MEANTIME_EAGER_RANK="8191")
        allowed(MEANTIME_EAGER_PAIR="8K")
        refused("MEANTIME_EAGER_PAIR=1K must not be less than MEANTIME_EAGER_LIMIT=2K",
                MEANTIME_EAGER_PAIR="1K", MEANTIME_EAGER_LIMIT="2K")
        refused("MEANTIME_EAGER_RANK=1M must not be less than MEANTIME_EAGER_PAIR=2M",
                MEANTIME_EAGER_RANK="1M", MEANTIME_EAGER_PAIR="2M")
        refused("MEANTIME_COUNTDOWN=100 is of no use without MEANTIME_ENERGY=countdown", MEANTIME_COUNTDOWN="100")
        refused("MEANTIME_FREQUENCY=epp is of no use without MEANTIME_ENERGY=countdown",
                MEANTIME_FREQUENCY="epp", MEANTIME_ENERGY="powersave")
        refused("are both set", MEANTIME_ENERGY="powersave", MEANTIME_ENERGY_HANDLER="/lib/x.so")
        allowed(MEANTIME_ENERGY="powersave", MEANTIME_ENERGY_HANDLER="none")
        refused("are all 0", MEANTIME_TRIES_POLL="0", MEANTIME_TRIES_YIELD="0", MEANTIME_TIMEOUT="0")
        refused("are all 0", MEANTIME_TRIES_POLL="0", MEANTIME_TIMEOUT="0")  # adaptive does not yield
        allowed(MEANTIME_TRIES_POLL="0", MEANTIME_TIMEOUT="0", MEANTIME_WAIT="yield")
        allowed(MEANTIME_TRIES_POLL="infinity", MEANTIME_TRIES_YIELD="0")
        allowed(MEANTIME_TRIES_YIELD="infinity", MEANTIME_TRIES_POLL="8")
        allowed(MEANTIME_EAGER_PAIR="1K", MEANTIME_EAGER_LIMIT="1K")
        # A file says what holds for many jobs; one of them may want something else, or not need it.
        self.user_file("tries_yield = 4\ncountdown = 100\n")
        allowed(MEANTIME_TRIES_POLL="infinity")
        self.user_file("tries_yield = 4\ntries_poll = infinity\n")
        refused("meantime.conf:1) is never come to after MEANTIME_TRIES_POLL=infinity")

    def test_the_whole_is_no_less_than_its_part(self):
        """What a rank may have under way in all is at least what it may have to one other, unless somebody says less."""
        program = self.path("credit")
        subprocess.run([MPICC, *CFLAGS, os.path.join(SOURCE, "tests", "launch", "credit.c"), "-o", program], check=True)
        for settings, says in (({}, "16777216 67108864"), ({"MEANTIME_EAGER_PAIR": "100M"}, "104857600 104857600"),
                               ({"MEANTIME_EAGER_PAIR": "3M"}, "3145728 67108864"),
                               ({"MEANTIME_EAGER_RANK": "12M"}, "12582912 12582912"),
                               ({"MEANTIME_EAGER_PAIR": "100M", "MEANTIME_EAGER_RANK": "1G"}, "104857600 1073741824")):
            result = self.command("mpiexec", "-n", "2", program, **settings)
            self.assertEqual((result.stdout, result.returncode), (says + "\n", 0), result)

    def test_empty_variables_are_not_set(self):
        """All of them, as an empty variable is often the only way to take one back."""
        names = [line.split()[0] for line in self.command("meantime", "config").stdout.splitlines()
                 if line.startswith("MEANTIME_")]
        self.assertGreater(len(names), 15)
        empty = dict.fromkeys(names, "")
        config = self.command("meantime", "config", **empty)
        self.assertEqual((config.returncode, config.stderr), (0, ""), config)
        lines = [line for line in config.stdout.splitlines() if line.startswith("MEANTIME_")]
        self.assertEqual(len(lines), len(names))
        for line in lines:
            self.assertRegex(line, r"# built in;.*; empty in the environment, which is as not set$")
        self.assertNotIn("empty", self.command("meantime", "config").stdout)
        self.user_file("wait = event\n")
        self.assertRegex(self.line_of("MEANTIME_WAIT", MEANTIME_WAIT=""), r" event +# .*meantime.conf:1; .*; empty in ")
        self.assertEqual(self.wait_in_job(MEANTIME_WAIT="").stdout, "event\n")
        for result in (self.command("mpiexec", "true", **empty), self.alone(**empty)):
            self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        # Where a value is asked for, an empty one is none.
        for result in (self.command("mpiexec", "--wait", "", "true"), self.command("mpiexec", "--wait=", "true")):
            self.assertEqual((result.returncode, len(result.stderr.splitlines())), (2, 1), result)

    def test_wait_by_program(self):
        script = ("sh", "-c", "echo $MEANTIME_APPNUM $MEANTIME_WAIT")
        result = self.command("mpiexec", *script, ":", "--wait", "event", *script, ":", *script, ":",
                              "--wait", "poll", *script)
        self.assertEqual(sorted(result.stdout.splitlines()), ["0", "1 event", "2 event", "3 poll"], result)
        if THREADS:
            result = self.run_job("--as", "threads", "--wait", "event", self.program(), ":", "--wait", "poll",
                                  self.program())
            # Each program has a process of its own. (This one wants to find "event".)
            self.assertEqual((result.status, (result.output + result.error).count("MEANTIME_WAIT is 'poll'")), (1, 1), result)

    def test_machine_settings_need_mpiexec(self):
        for name, value in (("MEANTIME_FREQUENCY", "epp"), ("MEANTIME_CPU_DMA_LATENCY", "10")):
            more = {"MEANTIME_ENERGY": "countdown"} if name == "MEANTIME_FREQUENCY" else {}
            more["MEANTIME_WAIT"] = "event"  # as the program expects
            result = self.alone(**{name: value}, **more)
            self.assertEqual((result.returncode, result.stderr),
                             (0, f"Meantime: {name} needs mpiexec, which did not start this program: it does "
                              "nothing\n"), result)
            result = self.alone(**{name: value}, **more, MEANTIME_MACHINE="require")
            self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1), result)
            self.assertIn(f"{name} needs mpiexec", result.stderr)
        self.assertEqual(self.alone(MEANTIME_FREQUENCY="none").stderr, "")

    def test_config_of_one(self):
        self.user_file("wait = yield\n")
        for name in ("wait", "WAIT", "MEANTIME_WAIT"):
            result = self.command("meantime", "config", name)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertRegex(result.stdout, r"^MEANTIME_WAIT +yield +# \S*/.config/meantime.conf:1; how a rank waits\n"
                             r"#   yield: .*\n#   MEANTIME_TRIES_POLL .*\n$")
        result = self.command("meantime", "config", "timeout", MEANTIME_TIMEOUT="x")
        self.assertEqual((result.returncode, len(result.stdout.splitlines()), len(result.stderr.splitlines())), (1, 1, 1), result)
        # As all of them are, so is one: a contradiction with another one, a file that is not read.
        result = self.command("meantime", "config", "wait", MEANTIME_WAIT="poll", MEANTIME_TRIES_YIELD="4")
        self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1), result)
        self.assertIn("is never come to after MEANTIME_WAIT=poll", result.stderr)
        result = self.command("meantime", "config", "wait", XDG_CONFIG_HOME="/" + "x" * 300)
        self.assertRegex(result.stderr, "^meantime: /x+/meantime.conf: File name too long; it is not read\n$")
        for name, part in (("wiat", "(meant MEANTIME_WAIT?)"), ("rank", "is no setting")):
            result = self.command("meantime", "config", name)
            self.assertEqual((result.returncode, result.stdout, len(result.stderr.splitlines())), (2, "", 1), result)
            self.assertIn(part, result.stderr)

    def test_config_names_its_files(self):
        site, user = os.path.join(self.prefix, "etc", "meantime.conf"), os.path.join(self.home, ".config", "meantime.conf")
        self.assertIn(f"\n# files: none; not there: {site}, {user}\n", self.command("meantime", "config").stdout)
        self.site_file("")
        self.assertIn(f"\n# files: {site}; not there: {user}\n", self.command("meantime", "config").stdout)
        self.user_file("")
        self.assertIn(f"\n# files: {site}, {user}\n", self.command("meantime", "config").stdout)

    def test_config_says_units_and_knobs(self):
        self.assertRegex(self.line_of("MEANTIME_COUNTDOWN"), r"^MEANTIME_COUNTDOWN +500 us +# built in;")
        self.assertRegex(self.line_of("MEANTIME_FRAGMENT"), r" 128K bytes +# ")
        self.assertRegex(self.line_of("MEANTIME_TRIES_POLL", MEANTIME_TRIES_POLL="9"), r" 9 looks +# environment")
        output = self.command("meantime", "config", MEANTIME_WAIT="yield").stdout
        self.assertIn("#   MEANTIME_TRIES_POLL 8, MEANTIME_TRIES_YIELD infinity, MEANTIME_TIMEOUT infinity\n",
                      output)
        places = {line.index("  # ") for line in output.splitlines()
                  if line.startswith("MEANTIME_") and len(line.split("  # ")[0].split(None, 1)[1].strip()) <= 24}
        self.assertEqual(len(places), 1, output)

    def test_nonsense_is_refused_in_one_line(self):
        for variables, part in (({"MEANTIME_WAIT": "evnt"}, "adaptive, poll, yield, event, predicted, "
                                 "ade or overprovisioned, not 'evnt'"),
                                ({"MEANTIME_TRIES_POLL": "-1"}, "from 0 on, or infinity, not '-1'"),
                                ({"MEANTIME_TRIES_YIELD": "many"}, "MEANTIME_TRIES_YIELD must be"),
                                ({"MEANTIME_TIMEOUT": "5ms"}, "a number of microseconds from 0 on, or infinity, not '5ms'; without a unit: 5000\n"),
                                ({"MEANTIME_TIMEOUT": "10 µs"}, "; without a unit: 10\n"),
                                ({"MEANTIME_CPU_DMA_LATENCY": "9000s"}, ", not '9000s'\n"),
                                ({"MEANTIME_EAGER_PAIR": "2 MB"}, "a number of bytes (8192, 8K, 4M, 1G) from"),
                                ({"MEANTIME_EAGER_LIMIT": "1G"}, "from 0 to 262144"),
                                ({"MEANTIME_CMA": "yes"}, "0 or 1")):
            result = self.command("mpiexec", "true", **variables)
            self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1), result)
            self.assertIn(part, result.stderr)
            result = self.command("meantime", "config", **variables)
            self.assertEqual(result.returncode, 1)
            self.assertIn(part, result.stderr)
        result = self.command("mpiexec", "--wait", "sleep", "true")
        self.assertEqual((result.returncode, len(result.stderr.splitlines())), (2, 1), result)

    def test_nonsense_is_shown_in_one_short_line(self):
        """However long it is, and if it would be several lines; whole characters."""
        for value, shown in (("x" * 100_000, "x" * 60 + "…"), ("x" * 60, "x" * 60), ("ä€" * 20_000, "ä€" * 30 + "…"),
                             ("a\nb\rc\x1b[1m", "a?b?c?[1m"), ("a\u0080b\u009b1mä", "a?b?1mä")):
            for command in (("mpiexec", "true"), ("meantime", "config")):
                for name in ("MEANTIME_WAIT", "MEANTIME_TRIES_POLL"):
                    result = self.command(*command, **{name: value})
                    self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1), result)
                    self.assertTrue(result.stderr.endswith(f", not '{shown}'\n"), result.stderr[:500])
                    self.assertNotRegex(result.stdout, r"[\x00-\x09\x0b-\x1f\x80-\x9f]|\nb", result)
                    self.assertLess(len(result.stdout), 10_000)
            for option in ("--wait", "--timeout", "-n", "--bind", "--on-deadlock", "--as", "--stdin", "--place"):
                result = self.command("mpiexec", option, value, "true")
                self.assertEqual((result.returncode, len(result.stderr.splitlines())), (2, 1), result)
                self.assertTrue(result.stderr.endswith(f", not '{shown}'\n"), result.stderr[:500])
            result = self.command("mpiexec", "--" + value, "true")
            self.assertEqual((result.returncode, len(result.stderr.splitlines())), (2, 1), result)
            self.assertIn("unknown option", result.stderr)
            self.assertLess(len(result.stderr), 200)
        path = "/" + "x" * 100_000
        for words in (("--hostfile", path, "true"), (f"--report={path}", "true"), (path,), ("-wdir", path, "true")):
            result = self.command("mpiexec", *words)
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(len(result.stderr.splitlines()), 1)
            self.assertLess(len(result.stderr), 1200)
        self.user_file("wait = " + "x" * 100_000)
        result = self.command("mpiexec", "true")
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.endswith(f", not '{'x' * 60}…'\n"), result.stderr[:500])

    def test_nonsense_in_files(self):
        for text, part in (("wait\n", "meantime.conf:1: a line is NAME = VALUE"),
                           ("\nwiat = poll", "meantime.conf:2: there is no setting 'wiat'"),
                           ("timeout = soon", "meantime.conf:1: MEANTIME_TIMEOUT must be"),
                           ("lock = event", "meantime.conf:1: 'lock = event' locks nothing: a lock is 'lock NAME = VALUE'"),
                           ("lock wait = poll", "only the site's file may lock")):
            self.user_file(text)
            for command in (("mpiexec", "true"), ("meantime", "config")):
                result = self.command(*command)
                self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1), result)
                self.assertIn(part, result.stderr)

    def test_a_byte_order_mark_is_not_seen(self):
        self.user_file("\ufeffwait = event\n")
        self.assertIn("event", self.command("meantime", "config", "wait").stdout)

    def test_files_that_are_none(self):
        path = os.path.join(self.home, ".config", "meantime.conf")
        for make, part in ((os.mkfifo, "it is not a regular file"), (os.mkdir, "it is not a regular file"),
                           (lambda path: os.symlink("/dev/zero", path), "it is not a regular file"),
                           (lambda path: os.symlink(path, path), "Too many levels of symbolic links"),
                           (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_RDWR), 1 << 30), "it is too long")):
            make(path)
            for command in (("mpiexec", "true"), ("meantime", "config")):
                result = self.command(*command)
                self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1), result)
                self.assertIn(f"{path}: {part}", result.stderr)
            os.rmdir(path) if os.path.isdir(path) else os.remove(path)
        os.symlink("/no/such/file", path)
        result = self.command("mpiexec", "true")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        # A place that cannot be asked for it.
        result = self.command("mpiexec", "true", XDG_CONFIG_HOME="/" + "x" * 300)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, "^mpiexec: /x+/meantime.conf: File name too long; it is not read\n$")

    def test_files_that_may_not_be_read(self):
        """Are left out, which a line says; not where nobody could know that there is one."""
        program, path = self.program(), os.path.join(self.home, ".config", "meantime.conf")
        self.user_file("wait = poll\n")
        os.chmod(self.folder.name, 0o755)
        os.chmod(path, 0)
        nobody = {"user": 65534, "group": 65534, "extra_groups": ()} if os.geteuid() == 0 else {}

        def run(*words, **variables):
            return subprocess.run([os.path.join(self.prefix, "bin", words[0]), *words[1:]], text=True, timeout=60,
                                  capture_output=True, env=dict(self.environment, **variables), **nobody)
        if run("mpiexec", "true").returncode != 0:
            self.skipTest("this tree is root's alone")
        says = f"{path}: Permission denied; it is not read\n"
        result = run("mpiexec", "-n", "2", "sh", "-c", "echo $MEANTIME_WAIT")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "\n\n", "mpiexec: " + says))
        result = run("meantime", "config")
        self.assertEqual((result.returncode, result.stderr), (0, "meantime: " + says))
        result = run(program, LD_LIBRARY_PATH=os.path.join(self.prefix, "lib"))
        self.assertEqual(result.stderr, "Meantime: " + says, result)
        os.chmod(os.path.dirname(path), 0)
        for words in (("mpiexec", "true"), ("meantime", "config"), (program,)):
            self.assertEqual(run(*words).stderr, "")
        os.chmod(os.path.dirname(path), 0o755)

    def test_what_only_a_file_asks_for_is_told_where_somebody_looks(self):
        self.user_file("energy = countdown\nfrequency = epp\n")
        line = "frequencies stay as they are: the ranks are not bound to cores of their own"
        self.assertEqual(self.command("mpiexec", "true").stderr, "")
        self.assertEqual(self.alone().stderr, "")
        self.assertIn("mpiexec: " + line, self.command("mpiexec", "-v", "true").stderr)
        self.assertIn("\nnote: " + line, self.command("mpiexec", "--report", "true").stderr)
        self.assertIn("mpiexec: " + line, self.command("mpiexec", "true", MEANTIME_ENERGY="countdown").stderr)
        result = self.command("mpiexec", "true", MEANTIME_MACHINE="require")
        self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1), result)
        self.user_file("energy = countdown\n")
        self.assertEqual(self.command("mpiexec", "true").stderr, "")

    def test_no_way_to_wait(self):
        program = self.program()
        result = self.command("mpiexec", "-n", "2", program, MEANTIME_TRIES_POLL="0",
                              MEANTIME_TRIES_YIELD="0", MEANTIME_TIMEOUT="0")
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("are all 0", result.stderr)

    def test_a_deadlock_is_found_in_spite_of_timers(self):
        program = self.path("rank")
        subprocess.run([MPICC, *CFLAGS, os.path.join(SOURCE, "tests", "launch", "rank.c"), "-o",
                        program], check=True)
        for words in (("-x", "MEANTIME_TIMEOUT=100"), ("-x", "MEANTIME_TIMEOUT=0"),
                      ("--wait", "predicted"), ("-x", "MEANTIME_ENERGY=performance")):
            result = self.run_job(*words, "-n", 2, program, "hang")
            self.assertEqual(result.status, 125, result)
            self.assertIn("deadlock: every rank waits in MPI", result.error)

    def test_in_the_program(self):
        program = self.program()
        for options in ((), ("--as", "threads")) if THREADS else ((),):
            result = subprocess.run([os.path.join(BUILD, "bin", "mpiexec"), *options, "--wait", "event",
                                     "-n", "3", program], env=self.environment, timeout=60,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual((result.returncode, result.stdout), (0, " No Errors\n"), result)

    def test_without_mpiexec(self):
        program = self.program()
        self.user_file("wait = event\n")
        result = subprocess.run([program], env=self.environment, timeout=60, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((result.returncode, result.stdout), (0, " No Errors\n"), result)
        self.user_file("wait = evnt\n")
        result = subprocess.run([program], env=self.environment, timeout=60, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(result.returncode, 1, result)
        self.assertIn(".config/meantime.conf:1: MEANTIME_WAIT must be", result.stdout)


if __name__ == "__main__":
    main()
