"""Every generated file: its path in the repository and its text."""

from pathlib import Path
from typing import Dict

from . import (fortran_bindings, fortran_modules, fortran_standard, header, implementations, shells, standard,
               tables)
from .chapters import HEADINGS


def render_all(root: Path) -> Dict[str, str]:
    mpi = standard.load()
    written = implementations.written(root)
    files = {
        "include/mpi.h": header.render(mpi),
        "src/api/generated/calls.h": tables.calls_header(mpi),
        "src/protocol/generated/call_ids.h": tables.call_ids(mpi),
        "src/protocol/generated/call_names.inc": tables.call_names(mpi),
        "src/core/generated/error_classes.inc": tables.error_classes(),
        "src/core/generated/handle_names.inc": tables.handle_names(),
        "src/launch/generated/missing_calls.h": tables.missing_calls(mpi, written),
    }
    for chapter, calls in standard.by_chapter(mpi.calls).items():
        path = f"src/api/generated/entry_points_{chapter}.cpp"
        files[path] = shells.render_chapter(chapter, HEADINGS[chapter], calls, written)
    files.update(render_fortran(mpi))
    return files


def render_fortran(mpi: standard.Standard) -> Dict[str, str]:
    calls = fortran_standard.load()
    c_calls = {call.name: call for call in mpi.calls}
    files = {
        "include/mpif.h": fortran_modules.mpif(calls),
        "src/fortran/generated/mpi_types.f90": fortran_modules.types(),
        "src/fortran/generated/mpi.f90": fortran_modules.module_mpi(calls),
        "src/fortran/generated/mpi_f08.f90": fortran_modules.module_f08(calls, fortran_standard.load_callbacks()),
    }
    for chapter, heading in HEADINGS.items():
        text = fortran_bindings.render_chapter(chapter, heading, [c for c in calls if c.chapter == chapter], c_calls)
        if text is not None:
            files[f"src/fortran/generated/calls_{chapter}.c"] = text
    return files
