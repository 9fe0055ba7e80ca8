"""src/api/generated/entry_points_*.cpp: the C functions of the library.

For each implementation a function checked_X tests the arguments and calls the implementation; the
entry points of the int and the large form widen their arguments and call it. entry.h has the parts.
"""

import re
from typing import List, Optional, Set

from . import call_rules as rules
from .implementations import (HANDLE_CLASSES, WIDE_INTEGERS, Implementation, cpp, implementations_of,
                              is_optional_info, is_poly, is_resolved, is_view,
                              widened_declaration)
from .standard import Call, Form, Parameter
from .text import GENERATED, wrapped_prototype

COMMUNICATION_CHAPTERS = {"point_to_point", "partitioned", "collectives",
                          "nonblocking_collectives", "persistent_collectives", "neighborhoods"}
COLLECTIVE_CHAPTERS = {"collectives", "nonblocking_collectives", "persistent_collectives"}

OPENING = """\
// {generated}
// Entry points of MPI: {heading}.
#include <exception>

#include "api/entry.h"
#include "api/entry_point.h"
#include "api/generated/calls.h"

namespace meantime::api {{
namespace {{
"""


class Shell:
    """Writes the checks of one implementation."""

    def __init__(self, implementation: Implementation):
        self.implementation = implementation
        self.call = implementation.call
        self.form = implementation.widened
        self.locals: List[str] = []
        self.checks: List[str] = []
        self.arguments: List[str] = []
        self.before: List[str] = []
        self.base = self._collective_base()
        self.comm = self._first_communicator()

    # --- what the call is about ------------------------------------------------------------------

    def _collective_base(self) -> Optional[str]:
        """Allgather for MPI_Allgather, MPI_Iallgather and MPI_Allgather_init."""
        if self.call.chapter not in COLLECTIVE_CHAPTERS:
            return None
        base = re.sub(r"_init$", "", self.call.short)
        if self.call.chapter == "nonblocking_collectives":
            base = base[1:].capitalize()
        return base

    def _first_communicator(self) -> Optional[str]:
        for p in self.form.parameters:
            if p.kind == "COMMUNICATOR" and is_resolved(self.implementation, p):
                return f"*{p.name}_object"
        return None

    def place(self, p: Parameter) -> str:
        return f'{{{self.form.parameters.index(p) + 1}, "{p.name}"}}'

    def guard(self, p: Parameter) -> Optional[str]:
        """The C++ condition under which a collective's argument is significant."""
        if self.base in ("Bcast", "Reduce") and (p.name in ("buffer", "sendbuf", "recvbuf", "count",
                                                            "datatype")):
            return "takes_part"
        if self.base in rules.SIGNIFICANCE:
            sends, receives = rules.SIGNIFICANCE[self.base]
            if p.name.startswith("send"):
                return "sends" if sends else None
            if p.name.startswith("recv"):
                return "receives" if receives else None
        return None

    def guarded(self, p: Parameter, check: str) -> str:
        guard = self.guard(p)
        return f"(!{guard} || {check})" if guard else check

    # --- one parameter ---------------------------------------------------------------------------

    def handle(self, p: Parameter) -> None:
        cls, check = HANDLE_CLASSES[p.kind]
        name = f"{p.name}_object"
        if p.kind == "COMMUNICATOR":
            check = rules.COMMUNICATOR_KINDS.get(self.call.name,
                                                 rules.COMMUNICATOR_KINDS.get(self.base, check))
        if p.kind == "DATATYPE" and (self.call.chapter in COMMUNICATION_CHAPTERS
                                     or self.call.name in rules.NEEDS_COMMITTED_TYPE):
            check = "committed_type"
        count = self.count_of_elements(p)
        if is_optional_info(self.implementation, p):
            check = "info_or_null"
        guard = self.guard(p)
        self.locals.append(f"{cls}* {name} = {'Entry::unused_type()' if guard else 'nullptr'};")
        expression = f"entry.{check}({self.place(p)}, {p.name}, {name})"
        if check == "committed_type" and count:
            expression = f"entry.type_of({count}, {self.place(p)}, {p.name}, {name})"
        if p.kind == "ERRHANDLER" and self.call.name in rules.RAISED_BY_THEIR_ERRHANDLER:
            expression = expression.replace("entry.errhandler(", "entry.errhandler_of_result(")
            self.checks.insert(0, expression)
        elif p.kind == "COMMUNICATOR":
            self.checks.insert(sum("communicator(" in c for c in self.checks), expression)
        else:
            self.checks.append(self.guarded(p, expression))
        self.arguments.append(name if is_optional_info(self.implementation, p) else f"*{name}")

    def count_of_elements(self, p: Parameter) -> Optional[str]:
        """The count that says how many elements of a datatype a call is about, if there is one."""
        if p.kind != "DATATYPE" or self.call.chapter not in COMMUNICATION_CHAPTERS:
            return None
        counts = {"datatype": ("count", "recvcount"), "sendtype": ("sendcount",),
                  "recvtype": ("recvcount",)}.get(p.name, ())
        return next((c for c in counts if (q := self.form.parameter(c)) and not q.is_array), None)

    def inout_handle(self, p: Parameter) -> None:
        """A pointer to a handle that the call frees, commits, completes …"""
        self.checks.append(f"entry.given({self.place(p)}, {p.name})")
        if p.kind == "REQUEST":
            null_is_fine = self.call.name in ("MPI_Wait", "MPI_Test")
            if null_is_fine:
                self.checks.append(f"entry.request_or_null({self.place(p)}, *{p.name})")
            else:
                self.locals.append("Request* request_object = nullptr;")
                self.checks.append(f"entry.request({self.place(p)}, *{p.name}, request_object)")
        elif p.kind == "MESSAGE":
            self.checks.append(f"entry.message({self.place(p)}, *{p.name})")
        else:
            cls, check = HANDLE_CLASSES[p.kind]
            self.locals.append(f"{cls}* {p.name}_object = nullptr;")
            self.checks.append(f"entry.{check}({self.place(p)}, *{p.name}, {p.name}_object)")
        self.arguments.append(p.name)

    def array_length(self, p: Parameter) -> Optional[str]:
        return p.length if p.length and self.form.parameter(p.length) else None

    def array(self, p: Parameter) -> None:
        length = self.array_length(p)
        if length and p.kind not in ("WEIGHT", "STATUS", "ARGUMENT_LIST"):
            data = f"{p.name}.data()" if is_view(self.implementation, p) else p.name
            self.checks.append(f"entry.array({self.place(p)}, {data}, {length})")
        if p.kind == "REQUEST":
            null_allowed = "false" if self.call.name == "MPI_Startall" else "true"
            self.checks.append(f"entry.requests({self.place(p)}, {p.name}, {length}, "
                               f"{null_allowed})")
        elif p.kind == "DATATYPE" and p.direction == "in" and length:
            self.checks.append(f"entry.types({self.place(p)}, {p.name}, {length})")
        elif self.base and self.base in rules.COUNT_ARRAYS and p.name in rules.COUNT_ARRAYS[self.base]:
            check = f"entry.counts({self.place(p)}, {p.name}, {self.count_array_length()})"
            self.checks.append(self.guarded(p, check))
        elif self.base in rules.COUNT_ARRAYS and p.kind in ("POLYDISPLACEMENT", "DISPLACEMENT"):
            counts = self.counts_of_displacements(p)
            check = f"entry.displacements({self.place(p)}, {p.name}, {counts.name}, " \
                    f"{self.count_array_length()})"
            guard = self.guard(counts)
            self.checks.append(f"(!{guard} || {check})" if guard else check)
        elif p.name == "array_of_indices" and self.form.parameter("incount"):
            self.checks.append(f"entry.array({self.place(p)}, {p.name}, incount)")
        elif self.base == "Alltoallw" and p.kind == "DATATYPE":
            counts = p.name.replace("types", "counts")
            check = f"entry.committed_types({self.place(p)}, {p.name}, {counts}, " \
                    f"{self.comm[1:]}->peers())"
            self.checks.append(self.guarded(p, check))
        self.arguments.append(p.name)

    def counts_of_displacements(self, p: Parameter) -> Parameter:
        """The array of counts that belongs to sdispls, rdispls or displs."""
        names = {"sdispls": ("sendcounts",), "rdispls": ("recvcounts",)}.get(
            p.name, ("recvcounts", "sendcounts"))
        return next(filter(None, map(self.form.parameter, names)))

    def rank(self, p: Parameter) -> None:
        key = (self.call.name, p.name)
        if key in rules.RANKS or p.name in rules.RANKS:
            check = rules.RANKS.get(key, rules.RANKS.get(p.name))
            if key in rules.RANKS:
                check = rules.RANKS[key]
            if self.call.name in rules.EXACT_SOURCES and check == "source":
                check = "destination"
            if check and self.comm:
                # The rest of a rooted collective's checks need the root.
                at = self.checks_of_communicators() if check == "root" else len(self.checks)
                self.checks.insert(at, f"entry.{check}({self.place(p)}, {p.name}, {self.comm})")
        self.arguments.append(p.name)

    def checks_of_communicators(self) -> int:
        return sum("communicator(" in c for c in self.checks)

    def tag(self, p: Parameter) -> None:
        if self.call.name not in rules.UNCHECKED_TAGS:
            receives = self.call.name in rules.RECEIVE_TAGS or p.name in rules.RECEIVE_TAG_NAMES
            check = "receive_tag" if receives else "send_tag"
            self.checks.append(f"entry.{check}({self.place(p)}, {p.name})")
        self.arguments.append(p.name)

    def buffer(self, p: Parameter) -> None:
        """Checks the address against the count and the type that belong to it."""
        names = [q.name for q in self.form.parameters]
        count = rtype = None
        if self.call.chapter in COMMUNICATION_CHAPTERS:
            if self.form.parameter("datatype"):
                rtype = "datatype"
                count = next((n for n in ("count", "recvcount") if n in names), None)
            else:
                prefix = p.name[:4]
                count = prefix + "count" if prefix + "count" in names else None
                rtype = next((n for n in (prefix + "type", prefix + "types") if n in names), None)
        counts = next((n for n in (p.name[:4] + "counts", "recvcounts") if n in names), None)
        if self.base in rules.COUNT_ARRAYS and not count:
            count = counts
        if count and rtype:
            check = f"entry.buffer({self.place(p)}, {p.name}, {count}, {rtype})"
            if count == counts:
                check = f"entry.buffer_of({self.place(p)}, {p.name}, {count}, " \
                        f"{self.count_array_length()}, {rtype})"
            if self.base in rules.IN_PLACE_SENDS and p.name == "sendbuf":
                condition = rules.IN_PLACE_SENDS[self.base].format(comm=self.comm)
                check = f"({condition} || {check})"
            if self.base == "Reduce" and p.name == "recvbuf":
                check = f"(!entry.is_root({self.comm}, root) || {check})"
            if self.base == "Reduce_scatter" and p.name == "recvbuf":
                # It takes this rank's elements only, unless it gives all of them, in place.
                own = f"entry.buffer({self.place(p)}, {p.name}, {count}[{self.comm.lstrip('*')}->rank], {rtype})"
                check = f"(entry.not_in_place({self.comm}, sendbuf) ? {own} : {check})"
            self.checks.append(self.guarded(p, check))
        self.arguments.append(p.name)

    def number(self, p: Parameter) -> None:
        if p.kind in rules.NOT_NEGATIVE and (self.call.name, p.name) not in rules.MAY_BE_NEGATIVE:
            error_class = rules.NOT_NEGATIVE[p.kind]
            if p.name.endswith("count"):
                error_class = "MPI_ERR_COUNT"
            check = f"entry.not_negative({error_class}, {self.place(p)}, {p.name})"
            self.checks.append(self.guarded(p, check))
        guard = self.guard(p)
        self.arguments.append(f"{guard} ? {p.name} : 0" if guard else p.name)

    def pointer(self, p: Parameter) -> None:
        """An OUT or INOUT scalar, a string, or an attribute."""
        exempt = (p.kind in ("STATUS", "EXTRA_STATE", "EXTRA_STATE2", "STRING_ARRAY",
                             "STRING_2DARRAY", "ARGUMENT_LIST", "POLYFUNCTION",
                             "FUNCTION", "FUNCTION_SMALL") and not
                  (p.kind == "STATUS" and p.direction != "out"))
        exempt = exempt or (p.kind.startswith("ATTRIBUTE_VAL") and p.direction == "in")
        exempt = exempt or (self.call.name, p.name) in rules.NULLABLE
        if self.call.name in rules.REQUIRED_FUNCTIONS and "FUNCTION" in p.kind:
            exempt = False
        if not exempt:
            error_class = rules.NULL_STRING_CLASSES.get((self.call.chapter, p.name))
            if p.direction != "in":
                error_class = None
            last = f", {error_class}" if error_class else ""
            address = p.name
            if "FUNCTION" in p.kind:
                address = f"reinterpret_cast<const void*>({p.name})"
            self.checks.append(f"entry.given({self.place(p)}, {address}{last})")
        self.arguments.append(p.name)

    def countable(self) -> List[str]:
        """Checks that no count times the size of its type is more than a number of bytes can be."""
        if not (self.call.chapter in COMMUNICATION_CHAPTERS
                or self.call.name in rules.NEEDS_COMMITTED_TYPE):
            return []
        checks = []
        for p in self.form.parameters:
            side = re.fullmatch(r"(send|recv|in|out|)count(s?)", p.name)
            names = [f"{side[1]}types", f"{side[1]}type", "datatype"] if side else []
            of_type = next(filter(None, map(self.form.parameter, names)), None)
            if of_type is None:
                continue
            length = ""
            if side[2]:
                if self.base is None:
                    continue  # neighborhood collectives know how many themselves
                length = f"{self.count_array_length()}, "
            element = of_type.name if of_type.is_array else f"*{of_type.name}_object"
            check = f"entry.countable({self.place(p)}, {p.name}, {length}{element})"
            checks.append(self.guarded(p, check))
        return checks

    def count_array_length(self) -> str:
        length = rules.COUNT_ARRAY_LENGTH.get(self.base, rules.COUNT_ARRAY_LENGTH["default"])
        return length.format(comm=self.comm[1:])

    def parameter(self, p: Parameter) -> None:
        if is_resolved(self.implementation, p):
            self.handle(p)
        elif p.kind in HANDLE_CLASSES and p.direction == "in" and "*" not in p.type \
                and not p.is_array:
            if p.kind == "REQUEST":
                self.checks.append(f"entry.request_or_null({self.place(p)}, {p.name})")
            self.arguments.append(p.name)  # raw by rule
        elif p.is_array:
            self.array(p)
        elif (p.kind in HANDLE_CLASSES or p.kind == "MESSAGE") and (
                p.direction == "inout" or self.call.name == "MPI_Cancel"):
            self.inout_handle(p)
        elif p.kind == "BUFFER":
            self.buffer(p)
        elif p.kind in ("RANK", "RANK_NNI") and "*" not in p.type:
            self.rank(p)
        elif p.kind == "TAG" and "*" not in p.type:
            self.tag(p)
        elif "*" in p.type or "FUNCTION" in p.kind:
            self.pointer(p)
        else:
            self.number(p)

    # --- the checked function --------------------------------------------------------------------

    def significance(self) -> List[str]:
        if self.base in ("Bcast", "Reduce"):
            conditions = [("takes_part", "takes_part({comm}, root)")]
        elif self.base in rules.SIGNIFICANCE:
            conditions = list(zip(("sends", "receives"), rules.SIGNIFICANCE[self.base]))
        else:
            return []
        lines = []
        for name, condition in conditions:
            if condition:
                condition = condition.format(comm=self.comm)
                call = f"Entry::{condition}" if "(" in condition else condition
                lines.append(f"const bool {name} = {call};")
        return lines

    def order_sizes_first(self) -> None:
        """A check of a whole array comes after those of the plain arguments that it uses."""
        late = [c for c in self.checks if re.search(r"entry\.(requests|types)\(", c)]
        self.checks = [c for c in self.checks if c not in late] + late
        buffers = [c for c in self.checks if re.search(r"entry\.buffer(_of)?\(", c)]
        self.checks = [c for c in self.checks if c not in buffers] + buffers

    def render(self) -> List[str]:
        for p in self.form.parameters:
            self.parameter(p)
        self.order_sizes_first()
        self.checks += self.countable()
        if self.base in rules.DISTINCT_BUFFERS:
            comm = self.comm[1:]
            condition = rules.DISTINCT_BUFFERS[self.base]
            condition = condition.replace("{comm}->", f"{comm}->").format(comm=self.comm)
            buffers = rules.OWN_BLOCKS.get(self.base, ("sendbuf", "recvbuf"))
            addresses = ", ".join(buffers).format(comm=comm)
            self.checks.append(f"(!({condition}) || entry.distinct({addresses}))")
        name = self.implementation.name
        declared = [widened_declaration(self.implementation, p) for p in self.form.parameters]
        if self.implementation.takes_form_flag:
            declared.append("bool large")
            self.arguments.append("large")
        lines = [wrapped_prototype(f"int checked_{name}({', '.join(['Entry& entry'] + declared)})",
                                   " try {")]
        lines += [f"  {line}" for line in self.locals]
        significance = self.significance()
        if significance:
            # Communicators and the root first: the conditions need them.
            first = self.checks_of_communicators() + sum("entry.root(" in c for c in self.checks)
            lines += self.condition(self.checks[:first])
            lines += [f"  {line}" for line in significance]
            lines += self.condition(self.checks[first:])
        else:
            lines += self.condition(self.checks)
        lines.append(wrapped_prototype(
            f"  return entry.finish({name}({', '.join(self.arguments)}", "));"))
        lines += ["} catch (...) {", "  return entry.caught();", "}", ""]
        return lines

    @staticmethod
    def condition(checks: List[str]) -> List[str]:
        if not checks:
            return []
        inside = " &&\n        ".join(checks)
        return [f"  if (!({inside})) [[unlikely]] {{", "    return entry.rejected();", "  }"]


def calling(call: Call) -> str:
    if call.name in rules.WITHOUT_THE_LOCK:
        return ", Calling::any_time_unlocked"
    if call.name in rules.AT_ANY_TIME or call.chapter in rules.AT_ANY_TIME_CHAPTERS:
        return ", Calling::any_time"
    return ""


def entry_line(call: Call, form: Form) -> str:
    return f"  Entry entry(Call::{form.name[len('MPI_'):]}, MEANTIME_CALL_SITE{calling(call)});"


def c_prototype(form: Form) -> str:
    inside = ", ".join(cpp(p.declaration) for p in form.parameters) or "void"
    return f"MEANTIME_ENTRY_POINT {cpp(form.return_type)} P{form.name}({inside})"


def twin(form: Form) -> str:
    return f"MEANTIME_WEAK_TWIN({form.name}, P{form.name});"


def same_width(small: Parameter, wide: Parameter) -> bool:
    bare = [re.sub(r"const |\*| ", "", p.type) for p in (small, wide)]
    return bare[0] == bare[1] or set(bare) <= WIDE_INTEGERS


def entry_point(implementation: Implementation, form: Form) -> List[str]:
    """The C function of one form: widens its arguments and calls the checked function."""
    call, widened = implementation.call, implementation.widened
    before: List[str] = []
    after: List[str] = []
    arguments = ["entry"]
    for small, wide in zip(form.parameters, widened.parameters):
        converts = form is not widened and is_poly(small) and not small.is_array \
            and small.direction != "in" and not same_width(small, wide)
        if converts:
            start = f"{small.name} != nullptr ? *{small.name} : 0" \
                if small.direction == "inout" else "0"
            before.append(f"MPI_Count wide_{small.name} = {start};")
            arguments.append(f"{small.name} != nullptr ? &wide_{small.name} : nullptr")
            place = f'{{{form.parameters.index(small) + 1}, "{small.name}"}}'
            if call.name in rules.UNDEFINED_ON_OVERFLOW:
                after.append(f"Entry::narrow_or_undefined(wide_{small.name}, {small.name});")
            else:
                after += [f"if (!entry.narrow({place}, wide_{small.name}, {small.name})) {{",
                          "  return entry.rejected();", "}"]
        else:
            arguments.append(small.name)
    if implementation.takes_form_flag:
        arguments.append("true" if form.name.endswith("_c") else "false")
    checked = f"checked_{implementation.name}({', '.join(arguments)}"
    lines = [wrapped_prototype(c_prototype(form), " {"), entry_line(call, form)]
    lines += [f"  {line}" for line in before]
    if after:
        lines.append(wrapped_prototype(f"  const int code = {checked}", ");"))
        lines += ["  if (code == MPI_SUCCESS) {"] + [f"    {line}" for line in after] + ["  }"]
        lines.append("  return code;")
    else:
        lines.append(wrapped_prototype(f"  return {checked}", ");"))
    return lines + ["}", twin(form)]


def bare_entry_point(implementation: Implementation, form: Form) -> List[str]:
    names = ", ".join(p.name for p in form.parameters if p.kind != "VARARGS")
    return [wrapped_prototype(c_prototype(form), " {"), f"  return {implementation.name}({names});",
            "}", twin(form)]


def tool_entry_point(implementation: Implementation, form: Form, is_there: bool) -> List[str]:
    """MPI_T_ calls return their codes and never call an error handler (MPI 5.0, 15.3)."""
    names = ", ".join(p.name for p in form.parameters)
    calling = "any_time" if implementation.call.name in rules.TOOL_CALLS_AT_ANY_TIME \
        else "while_initialized"
    body = [f"  return guarded_tool_call(ToolCalling::{calling}, [&] {{",
            wrapped_prototype(f"    return {implementation.name}({names}", ");"), "  });"] \
        if is_there else ["  return MPI_T_ERR_NOT_SUPPORTED;"]
    return [wrapped_prototype(c_prototype(form), " {")] + body + ["}", twin(form)]


def missing_entry_point(implementation: Implementation, form: Form) -> List[str]:
    call = implementation.call
    lines = [wrapped_prototype(c_prototype(form), " {"), entry_line(call, form)]
    communicators = [p for p in form.parameters if p.kind == "COMMUNICATOR"
                     and p.direction == "in" and "*" not in p.type]
    if communicators:
        lines.append(f"  entry.about({communicators[0].name});")
    windows = [p for p in form.parameters if p.kind == "WINDOW" and p.direction == "in"]
    if windows:
        place = f'{{{form.parameters.index(windows[0]) + 1}, "{windows[0].name}"}}'
        lines += ["  Window* window = nullptr;",
                  f"  if (!entry.window({place}, {windows[0].name}, window)) {{",
                  "    return entry.rejected();", "  }"]
    ending = "file_call_not_there_yet" if call.chapter == "files" else "not_there_yet"
    return lines + [f"  return entry.{ending}();", "}", twin(form)]


def render_chapter(chapter: str, heading: str, calls: List[Call], written: Set[str]) -> str:
    checked: List[str] = []
    entries: List[str] = []
    for call in calls:
        for implementation in implementations_of(call):
            is_there = implementation.name in written
            for form in implementation.forms:
                if implementation.is_tool_call:
                    entries += tool_entry_point(implementation, form, is_there)
                elif implementation.is_bare:
                    if not is_there:
                        raise SystemExit(f"src/api has no {implementation.name}, which returns no "
                                         "error code and cannot be left out")
                    entries += bare_entry_point(implementation, form)
                elif is_there:
                    entries += entry_point(implementation, form)
                else:
                    entries += missing_entry_point(implementation, form)
                entries.append("")
            if is_there and not implementation.is_bare and not implementation.is_tool_call:
                checked += Shell(implementation).render()
    opening = OPENING.format(generated=GENERATED, heading=heading[0].lower() + heading[1:])
    text = [opening] + checked + ["}  // namespace", "}  // namespace meantime::api", "",
                                  "using namespace meantime;       // NOLINT: C functions call C++",
                                  "using namespace meantime::api;  // NOLINT", ""] + entries
    return "\n".join(text).rstrip() + "\n"
