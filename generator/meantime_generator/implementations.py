"""How implementations (meantime::api::X) look: which ones there are and what their parameters are.

The widened form is what the implementation and the shell's checks work with: the large-count form
if the two forms share an implementation, with count arrays as views.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Set

from . import call_rules as rules
from .standard import Call, Form, Parameter, Standard

# kind -> (C++ class, the check of Entry that resolves it)
HANDLE_CLASSES = {
    "COMMUNICATOR": ("Communicator", "communicator"),
    "DATATYPE": ("Datatype", "type"),
    "OPERATION": ("Op", "op"),
    "GROUP": ("Group", "group"),
    "INFO": ("Info", "info"),
    "ERRHANDLER": ("Errhandler", "errhandler"),
    "SESSION": ("Session", "session"),
    "WINDOW": ("Window", "window"),
    "FILE": ("File", "file"),
    "REQUEST": ("Request", "request"),
}

# The same 64-bit integer on every platform of ours (src/core/object/counts.h asserts it).
WIDE_INTEGERS = {"MPI_Count", "MPI_Aint", "MPI_Offset"}


@dataclass
class Implementation:
    """One hand-written function and the C forms that lead to it."""

    call: Call
    name: str  # Send, or Type_get_contents_c
    forms: List[Form]  # one or two

    @property
    def widened(self) -> Form:
        return self.forms[-1]

    @property
    def is_tool_call(self) -> bool:
        return self.name.startswith("T_")

    @property
    def is_bare(self) -> bool:
        return self.call.name in rules.BARE or self.call.name.endswith(rules.BARE_SUFFIXES)

    @property
    def takes_form_flag(self) -> bool:
        return self.call.name in rules.KNOWS_ITS_FORM


def implementations_of(call: Call) -> List[Implementation]:
    if call.large and call.name in rules.SEPARATE_LARGE_FORM:
        return [Implementation(call, form.name[len("MPI_"):], [form]) for form in call.forms]
    return [Implementation(call, call.short, call.forms)]


def all_implementations(standard: Standard) -> List[Implementation]:
    return [i for call in standard.calls for i in implementations_of(call)]


def is_poly(parameter: Parameter) -> bool:
    return parameter.kind.startswith("POLY") and parameter.kind != "POLYFUNCTION"


def is_view(implementation: Implementation, parameter: Parameter) -> bool:
    """An IN array of counts or displacements that is int in one form and wide in the other."""
    return (is_poly(parameter) and parameter.is_array and parameter.direction == "in"
            and len(implementation.forms) == 2)


def is_resolved(implementation: Implementation, parameter: Parameter) -> bool:
    """Whether the implementation gets the object instead of the handle."""
    return (parameter.kind in HANDLE_CLASSES and parameter.direction == "in"
            and not parameter.is_array and "*" not in parameter.type
            and not implementation.is_bare and not implementation.is_tool_call
            and (implementation.call.name, parameter.name) not in rules.RAW_HANDLES)


def is_optional_info(implementation: Implementation, parameter: Parameter) -> bool:
    return (parameter.kind == "INFO"
            and implementation.call.chapter not in rules.NEEDS_INFO_CHAPTERS)


def cpp(declaration: str) -> str:
    """C declaration in this project's style: the star with the type."""
    return re.sub(r"\s+(\*+)\s*", r"\1 ", declaration).replace("* const", "*const")


def widened_declaration(implementation: Implementation, parameter: Parameter) -> str:
    """The parameter as the shell's checks take it: handles still raw."""
    if is_view(implementation, parameter):
        kind = "Displacements" if "DISPLACEMENT" in parameter.kind else "Counts"
        return f"{kind} {parameter.name}"
    return cpp(parameter.declaration)


def api_declaration(implementation: Implementation, parameter: Parameter) -> str:
    """The parameter as the implementation takes it."""
    if is_resolved(implementation, parameter):
        cls, _ = HANDLE_CLASSES[parameter.kind]
        if is_optional_info(implementation, parameter):
            return f"{cls}* {parameter.name}"
        return f"{cls}& {parameter.name}"
    return widened_declaration(implementation, parameter)


def api_prototype(implementation: Implementation) -> str:
    parameters = [api_declaration(implementation, p) for p in implementation.widened.parameters
                  if p.kind != "VARARGS"]
    if implementation.takes_form_flag:
        parameters.append("bool large")
    returns = cpp(implementation.widened.return_type)
    return f"{returns} {implementation.name}({', '.join(parameters)})"


def written(root: Path) -> Set[str]:
    """The implementations that src/api/*.cpp define: a line `int Name(` at the left margin.

    Whether the definition fits the declaration in calls.h is the compiler's and linker's affair.
    """
    pattern = re.compile(r"^(?:int|double|MPI_\w+) (\w+)\(", re.M)
    found: Set[str] = set()
    for source in sorted((root / "src/api").glob("*.cpp")):
        if source.name != "entry.cpp" and not source.name.endswith(("_test.cpp", "_bench.cpp")):
            found |= set(pattern.findall(source.read_text()))
    return found
