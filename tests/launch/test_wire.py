"""The test wire (MEANTIME_TEST_WIRE): every large message takes its three steps. Only that none is
quicker is asked, which other load does not change; and who answers for a receiver that computes."""

import os
import subprocess

from mpiexec import BUILD, CFLAGS, SOURCE, THREADS, MpiexecTest, main

PROGRAM = os.path.join(SOURCE, "tests", "launch", "wire.c")
LATENCY_MS = 1
KINDS = (("processes",), ("threads", "--balance", "none"))[:1 + THREADS]


class Wire(MpiexecTest):
    def build(self):
        program = self.path("wire")
        subprocess.run([os.path.join(BUILD, "bin", "mpicc"), "-O1", *CFLAGS, PROGRAM, "-o", program], check=True)
        return program

    def test_no_large_message_is_quicker(self):
        program = self.build()
        for way in ("", ":interface"):
            self.environment.update(MEANTIME_WAIT="yield", MEANTIME_TEST_WIRE=f"{1000 * LATENCY_MS}:10000{way}")
            for cpus in (1, 2):
                mask = sorted(os.sched_getaffinity(0))[:cpus]
                for kind in KINDS:
                    for ranks in (2, 4):
                        with self.subTest(way=way, kind=kind, cpus=cpus, ranks=ranks):
                            job = self.start("--as", *kind, "-n", ranks, program, LATENCY_MS, 1 << 20,
                                             preexec_fn=lambda mask=mask: os.sched_setaffinity(0, mask))
                            output, error = job.communicate(timeout=200)
                            self.assertEqual((job.returncode, output, error), (0, b"0 0\n", b""))

    def test_who_answers_for_a_receiver_that_is_away(self):
        program = self.build()
        for way, over in (("", b"after\n"), (":interface", b"before\n")):
            self.environment.update(MEANTIME_WAIT="yield", MEANTIME_TEST_WIRE=f"1000:10000{way}")
            for kind in KINDS:
                with self.subTest(way=way, kind=kind):
                    job = self.start("--as", *kind, "-n", 2, program, 500, 1 << 20, "away")
                    output, error = job.communicate(timeout=200)
                    if way and output == b"after\n":
                        self.slow.append("the answer")
                    else:
                        self.assertEqual((job.returncode, output, error), (0, over, b""))


if __name__ == "__main__":
    main()
