"""What Open MPI and MPICH leave of jobs that are killed: it is theirs, but a machine is not to fill up with it by our tests."""

import contextlib
import glob
import os

PATTERNS = ("/dev/shm/vader_segment.*", "/dev/shm/sm_segment.*", "/dev/shm/mpich_sh*", "/tmp/hydra_hwloc_xmlfile_*")


@contextlib.contextmanager
def taken_away():
    """What was not there before; whoever calls this runs alone (RUN_SERIAL)."""
    before = _files()
    try:
        yield
    finally:
        for path in _files() - before:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _files():
    return {path for pattern in PATTERNS for path in glob.glob(pattern)}
