"""src/fortran/generated/calls_*.c: the C functions behind the Fortran procedures.

A procedure without choice buffers is one function for all interfaces. One with choice buffers is two: an address for
mpif.h and `use mpi`, a descriptor for mpi_f08. Large-count forms are mpi_f08's alone.
"""

from typing import Dict, List, Optional

from . import fortran_rules as rules
from .call_rules import BARE, BARE_SUFFIXES
from .fortran_standard import Argument, FortranCall, Procedure
from .standard import RENAMED_PARAMETERS, Call, Form, Parameter
from .text import GENERATED, wrapped_prototype

# kind of handle -> (the word in MPI_*_toint, C type)
HANDLES = {
    "COMMUNICATOR": ("Comm", "MPI_Comm"),
    "DATATYPE": ("Type", "MPI_Datatype"),
    "ERRHANDLER": ("Errhandler", "MPI_Errhandler"),
    "FILE": ("File", "MPI_File"),
    "GROUP": ("Group", "MPI_Group"),
    "INFO": ("Info", "MPI_Info"),
    "MESSAGE": ("Message", "MPI_Message"),
    "OPERATION": ("Op", "MPI_Op"),
    "REQUEST": ("Request", "MPI_Request"),
    "SESSION": ("Session", "MPI_Session"),
    "WINDOW": ("Win", "MPI_Win"),
}

# What stands before "::" or "," of a Fortran declaration -> what C gets the address of.
C_TYPES = {
    "INTEGER": "MPI_Fint", "LOGICAL": "MPI_Fint", "DOUBLE PRECISION": "double",
    "INTEGER(KIND=MPI_ADDRESS_KIND)": "MPI_Aint", "INTEGER(KIND=MPI_COUNT_KIND)": "MPI_Count",
    "INTEGER(KIND=MPI_OFFSET_KIND)": "MPI_Offset", "TYPE(C_PTR)": "void *", "<type>": "void",
}
SAME_AS = {"int": "MPI_Fint"}


def c_type_of(argument: Argument) -> str:
    head = argument.type.split(",")[0].strip()
    if head.startswith("CHARACTER"):
        return "char"
    return C_TYPES.get(head, "MPI_Fint")  # TYPE(MPI_Comm) and the like hold one integer


class Binding:
    """One C function that is being written."""

    def __init__(self, procedure: Procedure, form: Form, descriptors: bool):
        self.procedure = procedure
        self.form = form
        self.descriptors = descriptors
        self.before: List[str] = []
        self.if_done: List[str] = []
        self.always: List[str] = []
        self.lengths: List[str] = []  # hidden arguments
        self.persistent = form.name.removesuffix("_c").endswith("_init")
        request = form.parameter("request")
        self.starts_request = request is not None and request.direction == "out"

    def write(self) -> str:
        arguments = [self._passed(p) for p in self.form.parameters]
        is_plain = self.form.name in BARE or self.form.name.endswith(BARE_SUFFIXES)
        call = f"MPI_{'PLAIN_' if is_plain else ''}CALL({self.form.name[len('MPI_'):]})({', '.join(arguments)})"
        name = self._name()
        # The address of a buffer without a descriptor; an array with one in a procedure with descriptors.
        declared = [self._declared(a) for a in self.procedure.arguments]
        head = f"({', '.join(declared + self.lengths) or 'void'})"
        if self.form.return_type != "int":
            return "\n".join([wrapped_prototype(f"BINDING {self.form.return_type} {name}{head}", " {"),
                              wrapped_prototype(f"  return {call}"), "}"])
        lines = [wrapped_prototype(f"BINDING void {name}{head}", " {")]
        lines += [f"  {line}" for line in self.before]
        lines.append(wrapped_prototype(f"  const int error = {call}"))
        if len(self.if_done) == 1:
            lines.append(f"  if (error == MPI_SUCCESS) {self.if_done[0]}")
        elif self.if_done:
            lines += ["  if (error == MPI_SUCCESS) {"] + [f"    {line}" for line in self.if_done] + ["  }"]
        lines += [f"  {line}" for line in self.always]
        return "\n".join(lines + ["  meantime_store(ierror, error);", "}"])

    def _name(self) -> str:
        macro = "F08TS" if self.descriptors else "F08" if self.procedure.large else "FORTRAN"
        if any(a.type.startswith("TYPE(C_PTR)") for a in self.procedure.arguments) and self.form.name in rules.OTHER_IN_F08:
            macro = "F08"
        return f"{macro}({self.procedure.name[len('MPI_'):].lower()})"

    def _declared(self, argument: Argument) -> str:
        if self.descriptors and argument.kind in ("BUFFER", "STRING"):
            return f"CFI_cdesc_t *{argument.name}"
        kind = c_type_of(argument)
        if kind == "char" and not self.descriptors:
            self.lengths.append(f"size_t {argument.name}_length")
        space = "" if kind.endswith("*") else " "
        return f"{kind}{space}*{argument.name}"

    def _argument(self, parameter: Parameter) -> Argument:
        names = {c: fortran for fortran, c in RENAMED_PARAMETERS.items()}
        name = names.get(parameter.name, parameter.name).lower()
        found = [a for a in self.procedure.arguments if a.name == name]
        if not found:
            raise ValueError(f"{self.form.name}: no Fortran argument {name}")
        return found[0]

    def _passed(self, parameter: Parameter) -> str:
        """What C gets for this parameter; adds what must be done before and after."""
        argument = self._argument(parameter)
        name = argument.name
        kind = parameter.kind
        if kind == "BUFFER":
            return self._buffer(argument)
        if kind == "C_BUFFER2":
            return self._detached(argument)
        if kind == "C_BUFFER":
            return name
        if kind in HANDLES:
            return self._handles(parameter, argument) if argument.is_array else self._handle(parameter, argument)
        if kind == "STRING":
            return self._string(parameter, argument)
        if kind == "LOGICAL":
            return self._logicals(argument) if argument.is_array else self._logical(argument)
        if kind == "STATUS":
            return f"meantime_status({name})" if argument.direction == "out" else f"(MPI_Status *){name}"
        if kind == "WEIGHT":
            return f"meantime_weights({name})"
        wanted = parameter.type.replace("const", "").replace("*", "").strip()
        if SAME_AS.get(wanted, wanted) != c_type_of(argument):
            raise ValueError(f"{self.form.name}: {name} is {argument.type} in Fortran and {parameter.type} in C")
        if argument.shape.startswith("(3,"):
            return f"(int(*)[3]){name}"
        return name if argument.is_array or "*" in parameter.type or parameter.is_array else f"*{name}"

    def _buffer(self, argument: Argument) -> str:
        name = argument.name
        call = self.form.name.removesuffix("_c")
        if not self.descriptors:
            return f"meantime_address({name})"
        if call in rules.ADDRESS_ONLY:
            return f"meantime_address({name}->base_addr)"
        if rules.refuses_subarrays(call, self.starts_request):
            self.before += [f"if (!meantime_is_contiguous({name})) {{",
                            f'  meantime_store(ierror, meantime_complain(MPI_ERR_BUFFER, "{call}: {name} is not '
                            f'contiguous, and this call cannot have a copy of it"));',
                            "  return;", "}"]
            return f"meantime_address({name}->base_addr)"
        use = "MEANTIME_READ" if argument.direction == "in" else "MEANTIME_WRITTEN"
        self.before += [f"struct meantime_choice c_{name};", f"meantime_open(&c_{name}, {name}, {use});"]
        if self.starts_request:
            keep = "true" if self.persistent else "false"
            self.if_done.append(f"meantime_keep_choice(c_request_number, {keep}, &c_{name});")
        self.always.append(f"meantime_close(&c_{name}, error == MPI_SUCCESS);")
        return f"c_{name}.address"

    def _detached(self, argument: Argument) -> str:
        # mpif.h and the module mpi cannot say where the buffer was: the argument is unchanged (MPI 5.0, 3.6).
        if argument.type == "<type>":
            self.before += [f"(void){argument.name};", f"void *c_{argument.name} = NULL;"]
            return f"&c_{argument.name}"
        return argument.name

    def _handle(self, parameter: Parameter, argument: Argument) -> str:
        word, c_type = HANDLES[parameter.kind]
        name = argument.name
        if "*" not in parameter.type:
            return f"meantime_to_{word}(*{name})"
        if parameter.direction == "out":
            self.before.append(f"{c_type} c_{name} = ({c_type})0;")
            if name == "request" and self.starts_request:
                self.if_done[:0] = [f"const MPI_Fint c_request_number = meantime_from_{word}(c_{name});",
                                    f"*{name} = c_request_number;", "meantime_forget(c_request_number);"]
            else:
                self.if_done.append(f"*{name} = meantime_from_{word}(c_{name});")
        else:
            self.before.append(f"{c_type} c_{name} = meantime_to_{word}(*{name});")
            if parameter.direction == "inout":
                self.always.append(f"*{name} = meantime_from_{word}(c_{name});")
        return f"&c_{name}"

    def _handles(self, parameter: Parameter, argument: Argument) -> str:
        word, c_type = HANDLES[parameter.kind]
        name = argument.name
        length = rules.LIST_LENGTHS.get((self.form.name.removesuffix("_c"), name))
        if length is None:
            raise ValueError(f"{self.form.name}: how long is {name}? Say so in fortran_rules.LIST_LENGTHS")
        length = length.format(sendbuf="c_sendbuf.address" if self.descriptors else "meantime_address(sendbuf)")
        if self.starts_request:
            # The library may look at them until the request is complete.
            self.before += [f"const int {name}_length = {length};",
                            f"{c_type} *{name}_list = meantime_allocate((size_t){name}_length * sizeof({c_type}));"]
            keep = "true" if self.persistent else "false"
            self.if_done.append(f"meantime_keep_memory(c_request_number, {keep}, {name}_list);")
            self.always.append(f"if (error != MPI_SUCCESS) free({name}_list);")
            loop = f"for (int i = 0; i < {name}_length; ++i)"
        else:
            self.before.append(f"MEANTIME_LIST({c_type}, {name}, {length});")
            loop = f"for (size_t i = 0; i < {name}_length; ++i)"
            self.always.append(f"MEANTIME_END_LIST({name});")
        if parameter.direction == "out":
            self.before.append(f"{loop} {name}_list[i] = ({c_type})0;")
            self.if_done.append(f"{loop} if ({name}_list[i] != 0) {name}[i] = meantime_from_{word}({name}_list[i]);")
        else:
            self.before.append(f"{loop} {name}_list[i] = meantime_to_{word}({name}[i]);")
            if parameter.direction == "inout":
                self.always.insert(0, f"{loop} {name}[i] = meantime_from_{word}({name}_list[i]);")
        return f"{name}_list"

    def _string(self, parameter: Parameter, argument: Argument) -> str:
        name = argument.name
        length = f"{name}->elem_len" if self.descriptors else f"{name}_length"
        address = f"{name}->base_addr" if self.descriptors else name
        if argument.direction == "in":
            how = "meantime_stripped" if self.form.name.startswith("MPI_Info_") else "meantime_string"
            self.before.append(f"char *c_{name} = {how}({address}, {length});")
            self.always.append(f"free(c_{name});")
        else:
            longest = rules.STRING_LENGTHS.get((self.form.name, name)) or self._longest(parameter)
            self.before.append(f"char c_{name}[{longest}] = {{0}};")
            self.if_done.append(f"meantime_fill({address}, {length}, c_{name});")
        return f"c_{name}"

    def _longest(self, parameter: Parameter) -> str:
        if parameter.length is None or not parameter.length.startswith("MPI_MAX_"):
            raise ValueError(f"{self.form.name}: how long is {parameter.name}? Say so in fortran_rules.STRING_LENGTHS")
        return parameter.length

    def _logical(self, argument: Argument) -> str:
        name = argument.name
        if argument.direction == "in":
            return f"meantime_is_true(*{name})"
        self.before.append(f"int c_{name} = 0;")
        self.if_done.append(f"*{name} = meantime_logical(c_{name});")
        return f"&c_{name}"

    def _logicals(self, argument: Argument) -> str:
        name = argument.name
        length = rules.LIST_LENGTHS.get((self.form.name, name))
        if length is None:
            raise ValueError(f"{self.form.name}: how long is {name}? Say so in fortran_rules.LIST_LENGTHS")
        self.before.append(f"MEANTIME_LIST(int, {name}, {length});")
        loop = f"for (size_t i = 0; i < {name}_length; ++i)"
        if argument.direction == "in":
            self.before.append(f"{loop} {name}_list[i] = meantime_is_true({name}[i]);")
        else:
            self.before.append(f"{loop} {name}_list[i] = meantime_is_true({name}[i]);")
            self.if_done.append(f"{loop} {name}[i] = meantime_logical({name}_list[i]);")
        self.always.append(f"MEANTIME_END_LIST({name});")
        return f"{name}_list"


def _functions(call: FortranCall, c_call: Call) -> List[str]:
    short = call.name[len("MPI_"):].lower()
    result = [Binding(call.f90, c_call.small, False).write()]
    for procedure in call.f08:
        form = c_call.large if procedure.large else c_call.small
        if procedure.has_choice_buffer:
            result.append(Binding(procedure, form, True).write())
        elif procedure.large or call.name in rules.OTHER_IN_F08:
            result.append(Binding(procedure, form, False).write())
        else:
            result[0] += f"\nSAME_IN_F08({short})"
    if any(a.kind == "C_BUFFER" for a in call.f90.arguments):
        result[0] += f"\nSAME_WITH_CPTR({short})"
    return result


def render_chapter(chapter: str, heading: str, calls: List[FortranCall], c_calls: Dict[str, Call]) -> Optional[str]:
    functions = [text for call in calls if call.name not in rules.BY_HAND
                 for text in _functions(call, c_calls[call.name])]
    if not functions:
        return None
    lines = [f"// {GENERATED}", f"// {heading}: the bindings. fortran.h says what they are made of.",
             "#include <stdlib.h>", "", '#include "choice.h"', '#include "fortran.h"', '#include "pending.h"', ""]
    return "\n".join(lines) + "\n" + "\n\n".join(functions) + "\n"
