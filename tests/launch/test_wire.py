"""The test wire (MEANTIME_TEST_WIRE): every large message takes its three steps. Only that none is
quicker is asked, which other load does not change."""

import os
import subprocess

from mpiexec import BUILD, CFLAGS, SOURCE, THREADS, MpiexecTest, main

PROGRAM = os.path.join(SOURCE, "tests", "launch", "wire.c")
LATENCY_MS = 1


class Wire(MpiexecTest):
    def test_no_large_message_is_quicker(self):
        program = self.path("wire")
        subprocess.run([os.path.join(BUILD, "bin", "mpicc"), "-O1", *CFLAGS, PROGRAM, "-o", program], check=True)
        self.environment.update(MEANTIME_WAIT="yield", MEANTIME_TEST_WIRE=f"{1000 * LATENCY_MS}:10000")
        for cpus in (1, 2):
            mask = sorted(os.sched_getaffinity(0))[:cpus]
            for kind in (("processes",), ("threads", "--balance", "none"))[:1 + THREADS]:
                for ranks in (2, 4):
                    with self.subTest(kind=kind, cpus=cpus, ranks=ranks):
                        job = self.start("--as", *kind, "-n", ranks, program, LATENCY_MS, 1 << 20,
                                         preexec_fn=lambda mask=mask: os.sched_setaffinity(0, mask))
                        output, error = job.communicate(timeout=200)
                        self.assertEqual((job.returncode, output, error), (0, b"0 0\n", b""))


if __name__ == "__main__":
    main()
