"""The calls and callbacks as Fortran sees them, read from PyPI's pympistandard.

Beside standard.py the only module that touches pympistandard.
"""

from dataclasses import dataclass
from typing import List, Optional

from .chapters import chapter_of


@dataclass
class Argument:
    name: str
    kind: str  # the Forum's kind
    direction: str
    shape: str  # "" or "(*)" and the like
    type: str  # what stands before "::"

    @property
    def is_array(self) -> bool:
        return bool(self.shape)


@dataclass
class Procedure:
    """One form of a call in one of the interfaces."""

    name: str  # MPI_Send or MPI_Send_c
    generic: str  # the name that a program calls
    arguments: List[Argument]
    result: Optional[str]  # of a function
    large: bool

    @property
    def has_choice_buffer(self) -> bool:
        return any(a.kind == "BUFFER" for a in self.arguments)

    @property
    def specific(self) -> str:
        """mpi_f08's specific name (MPI 5.0, 19.1.5)."""
        return self.name + ("_f08ts" if self.has_choice_buffer else "_f08")


@dataclass
class FortranCall:
    name: str  # MPI_Send
    chapter: str
    f90: Procedure
    f08: List[Procedure]  # none, the ordinary form, or that and the large-count form
    deprecated_form: bool  # in mpif.h and the module mpi only


@dataclass
class Callback:
    name: str
    arguments: List[Argument]


def _arguments(rendered, has_intent: bool) -> List[Argument]:
    result = []
    for p in rendered.parameters:
        raw = p._parseset
        text = str(p)
        name = raw["name"].lower()
        shape = text[len(raw["name"]):]
        type_text = p.descriptor if has_intent else p.type
        result.append(Argument(name, raw["kind"], raw["param_direction"], shape.lower(), type_text))
    return result


def load() -> List[FortranCall]:
    import pympistandard

    pympistandard.use_api_version(1, force_bundled=True)
    in_f08 = {p.name for p in pympistandard.all_f08_procedures()}
    calls = []
    for procedure in pympistandard.all_f90_procedures():
        name = procedure._parseset["name"]
        # Some f90 names differ in nothing but case; the C name is the one to go by.
        f90 = Procedure(name, name, _arguments(procedure.express.f90, False), procedure.express.f90.return_type, False)
        f08 = []
        if procedure.name in in_f08:
            small = procedure.express.f08
            f08.append(Procedure(name, name, _arguments(small, True), small.return_type, False))
            if procedure.has_embiggenment():
                large = procedure.express.embiggen.f08
                # Where the arguments do not tell the forms apart the program calls the large one by its own name.
                f08.append(Procedure(name + "_c", large.name, _arguments(large, True), large.return_type, True))
        calls.append(FortranCall(name, chapter_of(name), f90, f08, procedure.name not in in_f08))
    return sorted(calls, key=lambda call: call.name.lower())


def load_callbacks() -> List[Callback]:
    import pympistandard

    pympistandard.use_api_version(1, force_bundled=True)
    found = []
    for callback in pympistandard.CALLBACKS.values():
        if callback._parseset["attributes"]["f08_expressible"]:
            name = callback._parseset["name"]
            found.append(Callback(name, _arguments(callback.express.f08, True)))
            if callback.has_embiggenment():
                found.append(Callback(name + "_c", _arguments(callback.express.embiggen.f08, True)))
    return found
