"""Every generated file: its path in the repository and its text."""

from pathlib import Path
from typing import Dict

from . import header, standard


def render_all(root: Path) -> Dict[str, str]:
    mpi = standard.load()
    return {
        "include/mpi.h": header.render(mpi),
    }
