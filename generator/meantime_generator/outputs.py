"""Every generated file: its path in the repository and its text."""

from pathlib import Path
from typing import Dict

from . import header, implementations, shells, standard, tables
from .chapters import HEADINGS


def render_all(root: Path) -> Dict[str, str]:
    mpi = standard.load()
    written = implementations.written(root)
    files = {
        "include/mpi.h": header.render(mpi),
        "src/api/generated/calls.h": tables.calls_header(mpi),
        "src/core/generated/call_ids.h": tables.call_ids(mpi),
        "src/core/generated/call_names.inc": tables.call_names(mpi),
        "src/core/generated/error_classes.inc": tables.error_classes(),
        "src/core/generated/handle_names.inc": tables.handle_names(),
        "src/launch/generated/missing_calls.h": tables.missing_calls(mpi, written),
    }
    for chapter, calls in standard.by_chapter(mpi.calls).items():
        path = f"src/api/generated/entry_points_{chapter}.cpp"
        files[path] = shells.render_chapter(chapter, HEADINGS[chapter], calls, written)
    return files
