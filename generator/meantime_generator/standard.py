"""The calls and callbacks of MPI 5.0 as plain objects, read from PyPI's pympistandard.

A *form* is one C prototype of a call: the ordinary one, or the large-count one with the suffix _c.
Only this module and fortran_standard.py touch pympistandard; it also corrects what its C rendering gets wrong.
"""

import re
from dataclasses import dataclass, field
from typing import Dict, List, Optional

from .abi_values import DEPRECATED
from .chapters import READING_ORDER, chapter_of

# pympistandard renders these C declarations wrongly or clumsily: (call, parameter) -> declaration.
DECLARATION_CORRECTIONS = {
    ("MPI_Info_create_env", "argv"): "char *argv[]",  # the standard's 10.2; rendered as char argv[]
    ("MPI_Pack_external", "datarep"): "const char *datarep",
    ("MPI_Pack_external_size", "datarep"): "const char *datarep",
    ("MPI_Unpack_external", "datarep"): "const char *datarep",
}

# Parameter names that hide functions of the C library (index(3)) or are its macros (assert).
RENAMED_PARAMETERS = {"index": "indx", "assert": "assertion"}


@dataclass
class Parameter:
    name: str
    kind: str  # the Forum's kind: RANK, TAG, POLYXFER_NUM_ELEM_NNI, ...
    direction: str  # in, out, inout
    is_array: bool
    declaration: str  # C declaration including the name
    type: str  # C type without name and array brackets
    constant: bool
    length: Optional[str]  # of an array: the parameter that holds it, if there is one


@dataclass
class Form:
    name: str  # MPI_Send or MPI_Send_c
    parameters: List[Parameter]
    return_type: str

    @property
    def declaration(self) -> str:
        inside = ", ".join(p.declaration for p in self.parameters) or "void"
        space = "" if self.return_type.endswith("*") else " "
        return f"{self.return_type}{space}{self.name}({inside})"


    def parameter(self, name: str) -> Optional[Parameter]:
        return next((p for p in self.parameters if p.name == name), None)


@dataclass
class Call:
    name: str  # MPI_Send
    small: Form
    large: Optional[Form]
    chapter: str
    deprecated: Optional[str] = None  # the version that deprecated it

    @property
    def short(self) -> str:
        return self.name[len("MPI_"):]

    @property
    def forms(self) -> List[Form]:
        return [self.small] + ([self.large] if self.large else [])


@dataclass
class Standard:
    calls: List[Call] = field(default_factory=list)  # exported by the library
    fortran_conversions: List[Call] = field(default_factory=list)  # inline in the header
    callbacks: List[Form] = field(default_factory=list)


def _tidy(declaration: str) -> str:
    declaration = declaration.replace("\\ldots", "...")
    return re.sub(r"\s*(\*+)\s*(\w)", r" \1\2", declaration).strip()


def _parameter(procedure: str, rendered) -> Parameter:
    raw = rendered._parseset
    name = RENAMED_PARAMETERS.get(raw["name"], raw["name"])
    declaration = _tidy(str(rendered))
    declaration = re.sub(rf"\b{raw['name']}(\[|$)", rf"{name}\1", declaration)
    declaration = DECLARATION_CORRECTIONS.get((procedure, raw["name"]), declaration)
    if raw["kind"] == "VARARGS":
        return Parameter("...", "VARARGS", "in", False, "...", "...", False, None)
    type_text = re.sub(rf"\b{name}(\[.*)?$", "", declaration).strip()
    return Parameter(
        name=name,
        kind=raw["kind"],
        direction=raw["param_direction"],
        is_array="[" in declaration,
        declaration=declaration,
        type=type_text,
        constant=bool(raw["constant"]),
        length=raw["length"] if isinstance(raw["length"], str) else None,
    )


def _form(rendered) -> Form:
    base = rendered._parseset["name"]
    return Form(
        name=rendered.name,
        parameters=[_parameter(base, p) for p in rendered.parameters],
        return_type=_tidy(rendered.return_type),
    )


def load() -> Standard:
    """Reads the standard; raises ImportError if pympistandard is not there."""
    import pympistandard

    pympistandard.use_api_version(1, force_bundled=True)
    result = Standard()
    for procedure in pympistandard.all_iso_c_procedures():
        small = _form(procedure.express.iso_c)
        large = _form(procedure.express.embiggen.iso_c) if procedure.has_embiggenment() else None
        call = Call(small.name, small, large, chapter_of(small.name), DEPRECATED.get(small.name))
        is_conversion = re.search(r"_(c2f|f2c|c2f08|f2f08|f082c|f082f)$", call.name)
        (result.fortran_conversions if is_conversion else result.calls).append(call)
    for callback in pympistandard.CALLBACKS.values():
        result.callbacks.append(_form(callback.express.iso_c))
        if callback.has_embiggenment():
            result.callbacks.append(_form(callback.express.embiggen.iso_c))
    result.calls.sort(key=lambda call: call.name.lower())
    result.fortran_conversions.sort(key=lambda call: call.name.lower())
    result.callbacks.sort(key=lambda form: form.name.lower())
    return result


def by_chapter(calls: List[Call]) -> Dict[str, List[Call]]:
    """The calls grouped, chapters in the order of reading."""
    grouped: Dict[str, List[Call]] = {chapter: [] for chapter in READING_ORDER}
    for call in calls:
        grouped[call.chapter].append(call)
    return {chapter: found for chapter, found in grouped.items() if found}
