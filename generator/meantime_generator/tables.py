"""Declarations and tables: everything generated that is neither the header nor a shell."""

from typing import List, Set

from . import abi_values as abi
from .chapters import HEADINGS
from .implementations import all_implementations, api_prototype, implementations_of
from .standard import Standard, by_chapter
from .text import GENERATED, wrapped_prototype

CALLS_OPENING = """\
// {generated}
// The implementations of all MPI calls, as developers write them in src/api/*.cpp.
//   - Handles are objects; an info is nullptr for MPI_INFO_NULL. Handles that the call returns,
//     changes or takes as an array are as in C.
//   - Counts are widened, count and displacement arrays are views (core/object/counts.h). One function
//     serves MPI_X and MPI_X_c, except where the two are listed one by one; `large` says which form
//     a datatype's constructor was called in.
//   - Arguments are checked, the rank's lock is held. Collective arguments that are not significant
//     (MPI_IN_PLACE, root only …) come as 0 elements of MPI_BYTE.
//   - The result is an MPI error class, with a text by fail() (core/error/error.h); the shell takes it to
//     the error handler. A failed request's communicator is named with attribute_error().
// An implementation that is missing in src/api is a call that is not there yet.
#pragma once

#include <mpi.h>

#include "core/object/counts.h"

namespace meantime {{

struct Communicator;
struct Datatype;
struct Errhandler;
struct File;
struct Group;
struct Info;
struct Op;
struct Request;
struct Session;
struct Window;

namespace api {{
"""


def calls_header(standard: Standard) -> str:
    lines: List[str] = [CALLS_OPENING.format(generated=GENERATED)]
    for chapter, calls in by_chapter(standard.calls).items():
        lines.append(f"// {HEADINGS[chapter]}")
        for call in calls:
            for implementation in implementations_of(call):
                lines.append(wrapped_prototype(api_prototype(implementation)))
        lines.append("")
    lines += ["}  // namespace api", "}  // namespace meantime", ""]
    return "\n".join(lines)


def _form_names(standard: Standard) -> List[str]:
    return [form.name for call in standard.calls for form in call.forms]


def call_ids(standard: Standard) -> str:
    """Numbers of calls: what a rank notes while it is inside one."""
    names = ",\n".join(f"  {name[len('MPI_'):]}" for name in _form_names(standard))
    return f"""\
// {GENERATED}
// A number for each MPI call, both forms; 0 is no call. Their names: protocol/call_names.h.
#pragma once

#include <cstdint>

namespace meantime {{

enum class Call : std::uint16_t {{
  none,
{names},
}};

}}  // namespace meantime
"""


def call_names(standard: Standard) -> str:
    names = ",\n".join(f'    "{name}"' for name in ["no MPI call"] + _form_names(standard))
    return f"""\
// {GENERATED}
// For protocol/call_names.cpp: by the numbers of protocol/generated/call_ids.h.
namespace meantime {{

static constexpr const char* generated_call_names[] = {{
{names},
}};

}}  // namespace meantime
"""


def error_classes() -> str:
    rows = "\n".join(f'    {{{name}, "{name}", "{text}"}},'
                     for name, _, text in abi.ERROR_CLASSES + abi.TOOL_ERROR_CLASSES)
    return f"""\
// {GENERATED}
// For core/error/error_classes.cpp: class, name, what MPI_Error_string says; ascending.
namespace meantime {{

static constexpr ErrorClass generated_error_classes[] = {{
{rows}
}};

}}  // namespace meantime
"""


def handle_names() -> str:
    rows = "\n".join(f'    {{0x{value:03x}, "{name}"}},' for value, name in sorted(
        (value, name) for _, _, _, constants in abi.HANDLES for name, value in constants))
    return f"""\
// {GENERATED}
// For core/object/handle_names.cpp: the predefined handles of all types, ascending (the ABI gives no value
// twice).
namespace meantime {{

static constexpr struct {{
  std::uintptr_t value;
  const char* name;
}} generated_handle_names[] = {{
{rows}
}};

}}  // namespace meantime
"""


def missing_calls(standard: Standard, written: Set[str]) -> str:
    missing = sorted(form.name for i in all_implementations(standard)
                     if i.name not in written for form in i.forms)
    rows = "\n".join(f'    "{name}",' for name in missing)
    return f"""\
// {GENERATED}
// The calls of MPI 5.0 that this version does not have yet, sorted: mpiexec looks for them among
// the symbols that a program imports.
#pragma once

#include <array>
#include <string_view>

namespace meantime::launch {{

inline constexpr std::array<std::string_view, {len(missing)}> missing_calls = {{
{rows}
}};

}}  // namespace meantime::launch
"""
