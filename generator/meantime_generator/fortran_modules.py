"""src/fortran/generated/{mpif.h, mpi_types.f90, mpi.f90, mpi_f08.f90}: what a Fortran program includes and uses."""

import re
import textwrap
from typing import Dict, List, Tuple

from . import abi_values as abi
from .fortran_standard import Argument, Callback, FortranCall, Procedure
from .text import GENERATED

# Sentinels: (name, type, shape, common block). mpi_f08 has the statuses as TYPE(MPI_Status). fortran.h declares them in C.
SENTINELS = [
    ("MPI_BOTTOM", "INTEGER", "", "mpi_fortran_bottom"),
    ("MPI_IN_PLACE", "INTEGER", "", "mpi_fortran_in_place"),
    ("MPI_BUFFER_AUTOMATIC", "INTEGER", "", "mpi_fortran_automatic"),
    ("MPI_UNWEIGHTED", "INTEGER", "(1)", "mpi_fortran_unweighted"),
    ("MPI_WEIGHTS_EMPTY", "INTEGER", "(1)", "mpi_fortran_weights_empty"),
    ("MPI_ERRCODES_IGNORE", "INTEGER", "(1)", "mpi_fortran_errcodes_ignore"),
    ("MPI_STATUS_IGNORE", "INTEGER", "(MPI_STATUS_SIZE)", "mpi_fortran_status_ignore"),
    ("MPI_STATUSES_IGNORE", "INTEGER", "(MPI_STATUS_SIZE,1)", "mpi_fortran_statuses_ignore"),
    ("MPI_ARGV_NULL", "CHARACTER(LEN=1)", "(1)", "mpi_fortran_argv_null"),
    ("MPI_ARGVS_NULL", "CHARACTER(LEN=1)", "(1,1)", "mpi_fortran_argvs_null"),
]
STATUS_SENTINELS = {"MPI_STATUS_IGNORE": "", "MPI_STATUSES_IGNORE": "(1)"}

# Ready-made procedures that a program passes to MPI, and the callback whose arguments they have.
READY_MADE = {
    f"MPI_{kind.upper()}_{what}": f"MPI_{kind}_{callback}_attr_function"
    for kind in ("Comm", "Type", "Win")
    for what, callback in (("NULL_COPY_FN", "copy"), ("DUP_FN", "copy"), ("NULL_DELETE_FN", "delete"))
}
READY_MADE["MPI_CONVERSION_FN_NULL"] = "MPI_Datarep_conversion_function"
READY_MADE["MPI_CONVERSION_FN_NULL_C"] = "MPI_Datarep_conversion_function_c"
READY_MADE_OF_MPI_1 = ["MPI_NULL_COPY_FN", "MPI_DUP_FN", "MPI_NULL_DELETE_FN"]


def _integer_constants() -> List[Tuple[str, int]]:
    """Constants that are integers in every interface. Strings have no closing zero in Fortran."""
    result = [("MPI_VERSION", abi.MPI_VERSION[0]), ("MPI_SUBVERSION", abi.MPI_VERSION[1]),
              ("MPI_ABI_VERSION", abi.ABI_VERSION[0]), ("MPI_ABI_SUBVERSION", abi.ABI_VERSION[1]),
              ("MPI_ADDRESS_KIND", 8), ("MPI_COUNT_KIND", 8), ("MPI_INTEGER_KIND", 4), ("MPI_OFFSET_KIND", 8)]
    for _, values in abi.INTEGERS:
        for name, value in values:
            if name == "MPI_F_STATUS_SIZE":
                result.append(("MPI_STATUS_SIZE", value))
            elif name.startswith("MPI_F_"):
                result.append(("MPI_" + name[len("MPI_F_"):], value + 1))  # indices count from 1
            else:
                result.append((name, value - 1 if name.startswith("MPI_MAX_") else value))
    result += [(name, value) for name, value, _ in abi.ERROR_CLASSES]
    return result + [abi.ERR_LASTCODE]


def _handle_constants() -> List[Tuple[str, str, int]]:
    values = {name: (kind, value) for kind, _, _, constants in abi.HANDLES for name, value in constants}
    values.update({name: values[meant] for name, meant in abi.HANDLE_SYNONYMS})
    return [(kind, name, value) for name, (kind, value) in values.items()]


def _wrapped(text: str, indent: str) -> List[str]:
    lines = textwrap.wrap(text, 120 - len(indent), break_long_words=False, break_on_hyphens=False)
    return [indent + ("  " if i else "") + line + (" &" if i + 1 < len(lines) else "") for i, line in enumerate(lines)]


# --- mpif.h: fixed and free source form, so columns 7 to 72 and no continuation lines

def _old_constants() -> List[str]:
    lines = []
    for name, value in _integer_constants() + [(name, value) for _, name, value in _handle_constants()]:
        lines += [f"      INTEGER {name}", f"      PARAMETER ({name}={value})"]
    lines += ["      INTEGER(KIND=MPI_OFFSET_KIND) MPI_DISPLACEMENT_CURRENT",
              "      PARAMETER (MPI_DISPLACEMENT_CURRENT=-1)"]
    for name in ("MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"):
        lines += [f"      LOGICAL {name}", f"      PARAMETER ({name}=.FALSE.)"]
    for name, kind, shape, block in SENTINELS:
        lines += [f"      {kind} {name}{shape}", f"      COMMON /{block.upper()}/ {name}", f"      SAVE /{block.upper()}/"]
    return lines


def mpif(calls: List[FortranCall]) -> str:
    lines = [f"! {GENERATED}", "! mpif.h: constants of the MPI 5.0 standard ABI, for fixed and free",
             "! source form. New programs want `use mpi_f08`.", "!"]
    lines += _old_constants()
    lines += ["! Functions, and procedures that a program passes"]
    for call in calls:
        if call.f90.result:
            for prefix in ("", "P"):
                lines += [f"      {call.f90.result} {prefix}{call.name.upper()}",
                          f"      EXTERNAL {prefix}{call.name.upper()}"]
    lines += [f"      EXTERNAL {name}" for name in list(READY_MADE) + READY_MADE_OF_MPI_1]
    for line in lines:
        assert len(line) <= 72, line
    return "\n".join(lines) + "\n"


# --- The types, for both modules

def types() -> str:
    kinds = [kind for kind, *_ in abi.HANDLES]
    lines = [f"! {GENERATED}", "! Handles and statuses of the modules mpi and mpi_f08.", "module meantime_types",
             "  implicit none", "  private",
             "  public :: operator(==), operator(/=)",
             *_wrapped("public :: MPI_Status, " + ", ".join(kinds), "  "), ""]
    for kind in kinds:
        lines += [f"  type, bind(C) :: {kind}", "    integer :: MPI_VAL", f"  end type {kind}"]
    lines += ["  type, bind(C) :: MPI_Status", "    integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR",
              "    integer, private :: MPI_internal(5)", "  end type MPI_Status", ""]
    for operator, word in (("==", "equal"), ("/=", "differ")):
        lines += [f"  interface operator({operator})"]
        lines += [f"    module procedure {word}_{kind}" for kind in kinds]
        lines += ["  end interface"]
    lines += ["", "contains"]
    for operator, word in (("==", "equal"), ("/=", "differ")):
        for kind in kinds:
            lines += [f"  elemental logical function {word}_{kind}(left, right)",
                      f"    type({kind}), intent(in) :: left, right",
                      f"    {word}_{kind} = left%MPI_VAL {operator} right%MPI_VAL", "  end function"]
    return "\n".join(lines + ["end module meantime_types"]) + "\n"


# --- Interfaces

def _declarations(arguments: List[Argument], indent: str) -> List[str]:
    # Integers first: they may be another's length.
    ordered = sorted(arguments, key=lambda a: not (a.type.startswith("INTEGER") and not a.shape))
    return [line for a in ordered for line in _wrapped(f"{a.type} :: {a.name}{a.shape}", indent)]


def _interface(name: str, procedure: Procedure, declarations: List[str], binding: str = "") -> List[str]:
    inside = ", ".join(a.name for a in procedure.arguments)
    bind = f' bind(C, name="{binding}")' if binding else ""
    if procedure.result:
        return [*_wrapped(f"function {name}({inside}) result(value){bind}", "    "), "      import",
                *declarations, f"      {procedure.result} :: value", "    end function"]
    return [*_wrapped(f"subroutine {name}({inside}){bind}", "    "), "      import", *declarations, "    end subroutine"]


def _old_declarations(procedure: Procedure, with_pointers: bool) -> List[str]:
    lines = []
    for a in sorted(procedure.arguments, key=lambda a: not (a.type.startswith("INTEGER") and not a.shape)):
        if a.type == "<type>":
            # Each compiler's way to say: any type, kind and rank.
            lines += [f"      !GCC$ ATTRIBUTES NO_ARG_CHECK :: {a.name}", f"      !DIR$ IGNORE_TKR {a.name}",
                      f"      !DEC$ ATTRIBUTES NO_ARG_CHECK :: {a.name}",
                      f"      type(*), dimension(*) :: {a.name}"]
        elif a.type == "EXTERNAL":
            lines.append(f"      external :: {a.name}")
        elif a.kind == "C_BUFFER" and with_pointers:
            lines.append(f"      type(c_ptr) :: {a.name}")
        else:
            kind = a.type.replace("CHARACTER*(*)", "CHARACTER(LEN=*)")
            lines.append(f"      {kind} :: {a.name}{a.shape}")
    return lines


# What stands between these lines is compiled once more with PMPI's names (src/fortran/with-profiling).
CALLS_BEGIN, CALLS_END = "  ! Calls from here on.", "  ! Calls up to here."

SIZEOF = """\
  interface MPI_Sizeof
    subroutine MPI_Sizeof_f08ts(x, size, ierror) bind(C, name="mpi_sizeof_f08ts_")
      type(*), dimension(..) :: x
      integer, intent(out) :: size
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface"""


def module_mpi(calls: List[FortranCall]) -> str:
    lines = [f"! {GENERATED}", "! The module mpi: mpif.h's constants, and an interface for every procedure.",
             "module mpi", "  use, intrinsic :: iso_c_binding, only: c_ptr", "  use meantime_types", "  implicit none",
             "  private :: c_ptr", ""]
    lines += [line[4:] for line in _old_constants()]
    lines += ["", CALLS_BEGIN, "  interface"]
    gives_memory = [call for call in calls if any(a.kind == "C_BUFFER" for a in call.f90.arguments)]
    lines += [line for call in calls if call.name != "MPI_Sizeof" and call not in gives_memory
              for line in _interface(call.name, call.f90, _old_declarations(call.f90, False))]
    lines += ["  end interface"]
    for call in gives_memory:
        lines += [f"  interface {call.name}"]
        lines += _interface(call.name, call.f90, _old_declarations(call.f90, False))
        lines += _interface(f"{call.name}_cptr", call.f90, _old_declarations(call.f90, True))
        lines += ["  end interface"]
    lines += [SIZEOF, CALLS_END]
    lines += [f"  external :: {name}" for name in list(READY_MADE) + READY_MADE_OF_MPI_1]
    return "\n".join(lines + ["end module mpi"]) + "\n"


def _distinct(small: Procedure, large: Procedure) -> bool:
    """Whether a compiler can tell the forms apart where all wide integers are of one kind."""
    def key(a: Argument):
        return (re.sub(r"MPI_(COUNT|ADDRESS|OFFSET)_KIND", "8", a.type.split(",")[0]), bool(a.shape))
    return [key(a) for a in small.arguments] != [key(a) for a in large.arguments]


def _generic(call: FortranCall) -> List[str]:
    forms: Dict[str, List[Procedure]] = {}
    for procedure in call.f08:
        if procedure.large and procedure.generic == call.name and not _distinct(call.f08[0], procedure):
            continue  # the ordinary form takes its integers
        forms.setdefault(procedure.generic, []).append(procedure)
    lines = []
    for generic, procedures in forms.items():
        lines += [f"  interface {generic}"]
        for procedure in procedures:
            binding = (procedure.specific + "_").lower() if procedure.has_choice_buffer else ""
            lines += _interface(procedure.specific, procedure, _declarations(procedure.arguments, "      "), binding)
        lines += ["  end interface"]
    return lines


def module_f08(calls: List[FortranCall], callbacks: List[Callback]) -> str:
    lines = [f"! {GENERATED}",
             "! The module mpi_f08. Procedures with choice buffers are C functions that get descriptors (F2018); the others",
             "! are the ones behind mpif.h, with types and optional ierror.",
             "module mpi_f08", "  use, intrinsic :: iso_c_binding, only: c_ptr", "  use meantime_types", "  implicit none",
             "  private :: c_ptr", ""]
    lines += [f"  integer, parameter :: {name} = {value}" for name, value in _integer_constants()]
    lines += ["  integer(kind=MPI_OFFSET_KIND), parameter :: MPI_DISPLACEMENT_CURRENT = -1",
              "  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .true.",
              "  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .true.", ""]
    lines += [f"  type({kind}), parameter :: {name} = {kind}({value})" for kind, name, value in _handle_constants()]
    lines += [""]
    for name, kind, shape, block in SENTINELS:
        if name in STATUS_SENTINELS:
            kind, shape = "type(MPI_Status)", STATUS_SENTINELS[name]
        lines += [f"  {kind} :: {name}{shape}", f"  common /{block}/ {name}", f"  save /{block}/"]
    lines += ["", "  abstract interface"]
    by_name = {callback.name: callback for callback in callbacks}
    for callback in callbacks:
        lines += _callback_interface(callback.name, callback)
    lines += ["  end interface", "", "  interface"]
    for name, callback in READY_MADE.items():
        lines += _callback_interface(name, by_name[callback])
    lines += ["  end interface", "", CALLS_BEGIN]
    for call in calls:
        lines += _generic(call)
    return "\n".join([*lines, CALLS_END, "end module mpi_f08"]) + "\n"


def _callback_interface(name: str, callback: Callback) -> List[str]:
    inside = ", ".join(a.name for a in callback.arguments)
    return [*_wrapped(f"subroutine {name}({inside})", "    "), "      import",
            *_declarations(callback.arguments, "      "), "    end subroutine"]
