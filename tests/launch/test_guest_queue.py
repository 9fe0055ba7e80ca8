"""A queue of commands as guest work (--guest queue:FOLDER): each is run once to its end, whoever is killed when."""

import os
import random
import shutil
import signal
import subprocess
import time
import unittest

from mpiexec import BUILD, CFLAGS, MpiexecTest, main
from test_guests import MPICC, PROGRAM, file_text

QUEUE = os.path.join(BUILD, "libexec", "meantime", "meantime-queue")


class GuestQueue(MpiexecTest):
    def setUp(self):
        super().setUp()
        self.queue = self.path("queue")
        os.mkdir(self.queue, 0o755)
        self.program = self.path("waits")
        subprocess.run([MPICC, "-O1", *CFLAGS, PROGRAM, "-o", self.program], check=True)

    def entry(self, name, text, mode=0o644):
        path = os.path.join(self.queue, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)

    def waits(self, milliseconds):
        return self.run_job("--guest", f"queue:{self.queue}", "-n", 2, self.program, milliseconds)

    def names(self, part=""):
        """Its files."""
        folder = os.path.join(self.queue, part)
        return {name for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name))}

    def text(self, *parts):
        return file_text(os.path.join(self.queue, *parts))

    def test_commands_run_to_their_ends(self):
        self.entry("a", "echo here; echo there >&2\n")
        self.entry("b", "echo wrong; exit 3\n")
        self.entry("c", "#!/bin/sh\necho \"$0\"\n", 0o755)
        self.entry("d", "kill -9 $$\n")
        self.entry(".hidden", "exit 1\n")
        os.symlink("/bin/true", os.path.join(self.queue, "link"))
        job = self.waits(1500)
        self.assertEqual(job.status, 0, job)
        self.assertEqual(self.names() - {"link"}, {".hidden"})
        self.assertEqual(self.names("done"), {"a", "a.log", "a.status", "c", "c.log", "c.status"})
        self.assertEqual(self.names("failed"), {"b", "b.log", "b.status", "d", "d.log", "d.status"})
        self.assertEqual((self.text("done", "a.log"), self.text("done", "a.status")), ("here\nthere\n", "0\n"))
        self.assertEqual((self.text("failed", "b.log"), self.text("failed", "b.status")), ("wrong\n", "3\n"))
        self.assertEqual(self.text("done", "c.log"), os.path.join(os.path.realpath(self.queue), "c") + "\n")
        self.assertEqual(self.text("failed", "d.status"), "137\n")
        self.assertRegex(job.error, r"(?s)2 guests had .*queue:")

    def test_what_is_cut_off_is_run_again(self):
        self.entry("long", f"[ -e {self.queue}/done/mark ] && exit 0\ntouch {self.queue}/done/mark; sleep 60\n")
        self.assertEqual(self.waits(700).status, 0)
        self.assertEqual(self.names(), {"long", ".long.log"})
        self.assertEqual(self.waits(700).status, 0)
        self.assertEqual((self.names(), self.text("done", "long.status")), (set(), "0\n"))

    def test_two_of_one_name(self):
        for text in ("one", "other"):
            self.entry("same", f"echo {text}\n")
            self.assertEqual(self.waits(700).status, 0)
        self.assertEqual((self.text("done", "same.log"), self.text("done", "same~2.log")), ("one\n", "other\n"))

    def test_what_is_left_alone(self):
        self.entry("writable", "true\n", 0o666)
        self.entry("x.log", "true\n")
        writer = open(os.path.join(self.queue, "unfinished"), "w")  # pylint: disable=consider-using-with
        self.assertEqual(self.waits(700).status, 0)
        self.assertEqual(self.names(), {"writable", "x.log", "unfinished"})
        writer.close()
        self.assertEqual(self.waits(500).status, 0)
        self.assertEqual(self.names(), {"writable", "x.log"})

    def test_it_comes_later(self):
        job = self.start("--guest", f"queue:{self.queue}", "-n", 2, self.program, 60000)
        self.wait_for(lambda: os.path.isdir(os.path.join(self.queue, "failed")), "the guests", 20)
        self.entry("new", "true\n")
        self.wait_for(lambda: os.path.exists(os.path.join(self.queue, "done", "new.status")), "the new one", 20)
        job.terminate()
        job.communicate(timeout=60)

    @unittest.skipUnless(shutil.which("flock"), "no flock")
    def test_nothing_is_lost_or_run_twice_at_once(self):
        """Whoever is killed, worker or command. One that was killed before it told its end may be run to its end again."""
        entries, kills = 60, 0
        for number in range(entries):
            self.entry(f"{number:02}", f"exec 8>>{self.folder.name}/lock-{number}; flock -n 8 || echo {number} >> {self.folder.name}/twice\n"
                                       f"sleep 0.0{number % 5}; echo {number} >> {self.folder.name}/ends\n")
        workers = [None] * 4
        until = time.monotonic() + 60
        while self.names() and time.monotonic() < until:
            for place, worker in enumerate(workers):
                if worker is None or worker.poll() is not None:
                    workers[place] = subprocess.Popen([QUEUE, self.queue], stdout=subprocess.DEVNULL, start_new_session=True)
            time.sleep(random.uniform(0, 0.05))
            victim = random.choice(workers)
            (os.killpg if random.random() < 0.5 else os.kill)(victim.pid, signal.SIGKILL)
            victim.wait()
            kills += 1
        for worker in workers:
            worker.terminate()
            worker.wait(timeout=20)
        self.assertEqual(self.names(), set())
        self.assertFalse(os.path.exists(self.path("twice")))
        ends = self.text("..", "ends").split()
        self.assertEqual({int(end) for end in ends}, set(range(entries)))
        self.assertLessEqual(len(ends), entries + kills)
        done = self.names("done") | self.names("failed")
        self.assertLessEqual({f"{number:02}" for number in range(entries)}, done)

    def test_refused(self):
        os.chmod(self.queue, 0o777)
        for folder, line in ((self.queue, "others may write into it"), (self.path("nothing"), "No such file"),
                             (self.program, "it is no folder")):
            job = self.run_job("--guest", f"queue:{folder}", "-n", 2, self.program, 10)
            self.assertEqual(job.status, 1, job)
            self.assertIn(line, job.error)


if __name__ == "__main__":
    main()
