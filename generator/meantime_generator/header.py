"""include/mpi.h: the MPI 5.0 standard ABI as a C and C++ header."""

from typing import List

from . import abi_values as abi
from .chapters import HEADINGS
from .standard import Standard, by_chapter
from .text import GENERATED, aligned_defines, wrapped_prototype

OPENING = f"""\
/* {GENERATED} */
/*
 * mpi.h: the application binary interface of MPI {abi.MPI_VERSION[0]}.{abi.MPI_VERSION[1]} (chapter 20 of the standard).
 *
 * A handle is a pointer to an incomplete type: either one of the small constants below, or an
 * address that only the library understands. A program that is compiled with this header runs on
 * any library of this ABI (libmpi_abi.so.{abi.ABI_VERSION[0]}), and the other way round.
 *
 * For C99 and later and C++98 and later. Extensions of this implementation are in <meantime.h>.
 */
#ifndef MEANTIME_MPI_H
#define MEANTIME_MPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif
"""

SCALARS = """\
/* An implementation for a platform without these types may define the MPI_ABI_ macros first. */
#ifndef MPI_ABI_Aint
#define MPI_ABI_Aint intptr_t
#endif
typedef MPI_ABI_Aint MPI_Aint;
#undef MPI_ABI_Aint

#ifndef MPI_ABI_Offset
#define MPI_ABI_Offset int64_t
#endif
typedef MPI_ABI_Offset MPI_Offset;
#undef MPI_ABI_Offset

#ifndef MPI_ABI_Count
#define MPI_ABI_Count MPI_Offset
#endif
typedef MPI_ABI_Count MPI_Count;
#undef MPI_ABI_Count

/* What a receive or a test found out. The last five words belong to the library. */
typedef struct MPI_Status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int MPI_internal[5];
} MPI_Status;
"""

FORTRAN_OPENING = """\
/*
 * Fortran handles. The ABI leaves these names to the Fortran side of an implementation; here they
 * are inline over MPI_*_toint and MPI_*_fromint, so that they work with every library of the ABI.
 * MPI_Fint is C's int: Fortran compiled with wider default integers needs its own bindings.
 */
typedef int MPI_Fint;
typedef MPI_Status MPI_F08_status;

#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define MPI_ABI_INLINE static inline
#else
#define MPI_ABI_INLINE static __inline__
#endif
"""

STATUS_COPY = """\
/* In all three languages a status is the same eight integers. */
MPI_ABI_INLINE int MPI_ABI_copy_status(const void *from, void *to) {
  const int *source = (const int *)from;
  int *target = (int *)to;
  int i;
  for (i = 0; i < MPI_F_STATUS_SIZE; ++i) target[i] = source[i];
  return MPI_SUCCESS;
}
"""

CLOSING = """\
#ifdef __cplusplus
}
#endif

#endif /* MEANTIME_MPI_H */
"""


def _integer(value: int) -> str:
    return f"({value})" if value < 0 else str(value)


def _handles() -> List[str]:
    lines: List[str] = []
    for type_name, tag, about, constants in abi.HANDLES:
        lines += [f"/* {about} */", f"typedef struct {tag} *{type_name};"]
        lines += aligned_defines((name, f"(({type_name})0x{value:03x})")
                                 for name, value in constants)
        known = {name for name, _ in constants}
        synonyms = [(name, meant) for name, meant in abi.HANDLE_SYNONYMS if meant in known]
        lines += aligned_defines(synonyms) if synonyms else []
        lines.append("")
    return lines


def _integers(groups) -> List[str]:
    lines: List[str] = []
    for subject, values in groups:
        lines.append(f"/* {subject} */")
        lines += aligned_defines((name, _integer(value)) for name, value in values)
        lines.append("")
    return lines


def _errors() -> List[str]:
    lines = ["/* Error classes */"]
    lines += aligned_defines((name, value) for name, value, _ in abi.ERROR_CLASSES)
    lines += ["", "/* Error classes of the tool interface */"]
    lines += aligned_defines((name, value) for name, value, _ in abi.TOOL_ERROR_CLASSES)
    name, value = abi.ERR_LASTCODE
    return lines + ["", "/* No predefined error code is larger */",
                    f"#define {name} 0x{value:x}", ""]


def _addresses() -> List[str]:
    lines: List[str] = []
    for subject, values in abi.ADDRESSES:
        lines.append(f"/* {subject} */")
        lines += aligned_defines((name, f"(({type_name}){value})")
                                 for name, type_name, value in values)
        lines.append("")
    lines.append("/* The displacement of a file view that starts where the file stands */")
    lines += ["#define MPI_DISPLACEMENT_CURRENT ((MPI_Offset)-1)", ""]
    return lines


def _callbacks(standard: Standard, of_tools: bool) -> List[str]:
    lines: List[str] = []
    for form in standard.callbacks:
        if form.name.startswith("MPI_T_") == of_tools:
            arguments = form.declaration.split("(", 1)[1]
            lines.append(wrapped_prototype(
                f"typedef {form.return_type} {form.name}({arguments}"))
    return lines


def _callback_section(standard: Standard) -> List[str]:
    lines = ["/* Functions that the program hands to MPI */"]
    lines += _callbacks(standard, of_tools=False)
    lines += [f"typedef {meant} {name};" for name, meant in abi.CALLBACK_SYNONYMS]
    lines += ["", "/* Ready-made ones */"]
    lines += aligned_defines((name, f"(({type_name} *){value})")
                             for name, type_name, value in abi.CALLBACK_CONSTANTS)
    return lines + [""]


def _tools(standard: Standard) -> List[str]:
    lines = ["/* Types of the tool interface */"]
    for type_name, tag, constants in abi.TOOL_HANDLES:
        lines.append(f"typedef struct {tag} *{type_name};")
    lines += aligned_defines((name, f"(({type_name}){value})")
                             for type_name, _, constants in abi.TOOL_HANDLES
                             for name, value in constants)
    lines.append("")
    for type_name, values in abi.TOOL_ENUMERATIONS:
        body = ",\n".join(f"  {name} = {value}" for name, value in values)
        lines += [f"typedef enum {type_name} {{", body, f"}} {type_name};"]
    lines.append("")
    lines += _integers(abi.TOOL_INTEGERS)
    return lines + _callbacks(standard, of_tools=True) + [""]


def _prototypes(standard: Standard, prefix: str) -> List[str]:
    lines: List[str] = []
    for chapter, calls in by_chapter(standard.calls).items():
        lines.append(f"/* {HEADINGS[chapter]}{' (profiling)' if prefix else ''} */")
        for call in calls:
            for form in call.forms:
                head, arguments = form.declaration.split(form.name + "(", 1)
                end = f"; /* deprecated since MPI {call.deprecated} */" if call.deprecated else ";"
                lines.append(wrapped_prototype(f"{head}{prefix}{form.name}({arguments}", end))
        lines.append("")
    return lines


def _conversion(call) -> List[str]:
    """One inline function: MPI_Comm_c2f(comm) is MPI_Comm_toint(comm), and so on."""
    form = call.small
    object_name, operation = call.name.rsplit("_", 1)
    arguments = [p.name for p in form.parameters]
    if object_name == "MPI_Status":
        body = f"MPI_ABI_copy_status({arguments[0]}, {arguments[1]})"
    else:
        body = f"{object_name}_{'toint' if operation == 'c2f' else 'fromint'}({arguments[0]})"
    inside = ", ".join(p.declaration for p in form.parameters)
    return [wrapped_prototype(f"MPI_ABI_INLINE {form.return_type} {form.name}({inside})", " {"),
            f"  return {body};", "}"]


def _fortran(standard: Standard) -> List[str]:
    lines = [FORTRAN_OPENING, STATUS_COPY]
    for call in standard.fortran_conversions:
        lines += _conversion(call)
    lines += ["", "#undef MPI_ABI_INLINE", ""]
    lines += aligned_defines(("P" + call.name, call.name) for call in standard.fortran_conversions)
    return lines + [""]


def render(standard: Standard) -> str:
    lines = [OPENING]
    lines += aligned_defines([("MPI_VERSION", abi.MPI_VERSION[0]),
                              ("MPI_SUBVERSION", abi.MPI_VERSION[1]),
                              ("MPI_ABI_VERSION", abi.ABI_VERSION[0]),
                              ("MPI_ABI_SUBVERSION", abi.ABI_VERSION[1])])
    lines += ["", SCALARS]
    lines += _handles() + _errors() + _integers(abi.INTEGERS) + _addresses()
    lines += _callback_section(standard) + _tools(standard)
    lines += _prototypes(standard, "")
    lines += ["/*", " * The same calls under the names that tools call after they intercepted the",
              " * MPI_ name (chapter 15 of the standard).", " */"]
    lines += _prototypes(standard, "P")
    lines += _fortran(standard)
    lines.append(CLOSING)
    return "\n".join(lines)
