#!/usr/bin/env python3
"""Calls every MPI call with one wrong argument at a time, on two libraries of the standard ABI, and prints where their
error classes differ.

    bad_arguments.py --ours DIR --other DIR [--work DIR] [--large]

DIR: a folder with libmpi_abi.so.1. By hand: what comes out is to be read (a crash of one case can spoil the next ones,
and the two disagree on purpose in the cases of docs/reference/conformance.md). Needs pympistandard, as generator/regenerate does.
"""
import argparse
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "generator"))
sys.path += glob.glob(os.path.join(os.environ.get("MEANTIME_ORACLE_PREFIX", ROOT + "/build/oracle"),
                                   "lib/python3*/site-packages"))

# Calls that end the program, start others, are about files, or return no code.
LEFT_OUT = re.compile(
    r"MPI_(Init|Init_thread|Session_init|Finalize|Abort|Pcontrol|Initialized|Finalized|Is_thread_main|Query_thread"
    r"|Comm_(spawn.*|join|accept|connect)|(Open|Close)_port|(Lookup|Publish|Unpublish)_name|Register_datarep.*|File_.*"
    r"|Wtime|Wtick|Aint_.*|.*_toint|.*_fromint|T_init_thread|T_finalize|T_event.*|T_source.*)$")

# type -> (a good one, its null); the good ones are variables of the program below.
HANDLES = {"MPI_Comm": ("comm", "MPI_COMM_NULL"), "MPI_Datatype": ("MPI_INT", "MPI_DATATYPE_NULL"),
           "MPI_Op": ("MPI_SUM", "MPI_OP_NULL"), "MPI_Group": ("group", "MPI_GROUP_NULL"),
           "MPI_Info": ("info", "MPI_INFO_NULL"), "MPI_Errhandler": ("MPI_ERRORS_RETURN", "MPI_ERRHANDLER_NULL"),
           "MPI_Session": ("session", "MPI_SESSION_NULL"), "MPI_Win": ("win", "MPI_WIN_NULL"),
           "MPI_Request": ("MPI_REQUEST_NULL", "MPI_REQUEST_NULL"),
           "MPI_Message": ("MPI_MESSAGE_NULL", "MPI_MESSAGE_NULL")}
ONES = {"POLYXFER_NUM_ELEM_NNI", "POLYDTYPE_NUM_ELEM_NNI", "POLYDTYPE_NUM_ELEM_PI", "DIMENSION", "INDEX",
        "PROCESS_GRID_SIZE", "WEIGHT", "DEGREE"}
ZEROS = {"RANK", "RANK_NNI", "TAG", "COLOR", "KEY", "LOGICAL", "INDEX", "PARTITION", "CAT_INDEX", "CVAR_INDEX",
         "PVAR_INDEX", "CVAR_INDEX_SPECIAL", "ASSERT", "TOOLENUM_INDEX", "RMA_DISPLACEMENT_NNI", "OFFSET", "PVAR_CLASS"}
NUMBERS = {"ERROR_CODE": "MPI_ERR_OTHER", "ERROR_CLASS": "MPI_ERR_OTHER", "SPLIT_TYPE": "MPI_COMM_TYPE_SHARED",
           "ORDER": "MPI_ORDER_C", "TYPECLASS": "MPI_TYPECLASS_INTEGER", "LOCK_TYPE": "MPI_LOCK_SHARED", "MATH": "5",
           "TYPECLASS_SIZE": "4", "INFO_VALUE_LENGTH": "10"}

PROGRAM = r"""
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { MANY = 64 };
static char sent[65536], received[65536], text[65536], longest[5000];
static void* pointer;
static int number, position, minus = -1, key_in, no_key = MPI_KEYVAL_INVALID, comm_key, type_key, win_key;
static MPI_Aint aint, aint_position, aint_minus = -1;
static MPI_Count count;
static int ones[MANY], zeros[MANY], negative[MANY], large[MANY], ints[MANY], blocks[MANY], defaults[MANY];
static MPI_Count count_ones[MANY], count_zeros[MANY], count_ints[MANY];
static MPI_Aint aint_ones[MANY], aint_zeros[MANY], aint_ints[MANY];
static MPI_Comm comm, grid, graph, neighbours;
static MPI_Group group;
static MPI_Info info, infos[MANY];
static MPI_Session session;
static MPI_Win win;
static MPI_Status status, statuses[MANY];
static MPI_Datatype types[MANY], no_types[MANY];
static MPI_Request requests[MANY], no_requests[MANY];
@VARIABLES@
static void set_up(void) {
  const int one = 1, zero = 0;
  int provided;
  for (int i = 0; i < MANY; ++i) {
    ones[i] = count_ones[i] = aint_ones[i] = 1;
    negative[i] = -5;
    large[i] = 1000;
    blocks[i] = MPI_DISTRIBUTE_BLOCK;
    defaults[i] = MPI_DISTRIBUTE_DFLT_DARG;
    types[i] = MPI_INT;
    no_types[i] = MPI_DATATYPE_NULL;
    requests[i] = no_requests[i] = MPI_REQUEST_NULL;
    infos[i] = MPI_INFO_NULL;
  }
  memset(longest, 'x', sizeof longest - 1);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Cart_create(comm, 1, &one, &one, 0, &grid);
  MPI_Graph_create(comm, 1, &one, &zero, 0, &graph);
  MPI_Dist_graph_create_adjacent(comm, 1, &zero, &one, 1, &zero, &one, MPI_INFO_NULL, 0, &neighbours);
  MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(neighbours, MPI_ERRORS_RETURN);
  MPI_Comm_group(comm, &group);
  MPI_Info_create(&info);
  MPI_Info_set(info, "name", "value");
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Win_create(received, 4096, 1, MPI_INFO_NULL, comm, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, 0);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, 0);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_key, 0);
  key_in = comm_key;
@NULLS@
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
}
static int at, first, crashes;
static const char* now;
static sigjmp_buf before;
static void died(int signal) {
  printf("%d\t%s\t%s\n", at, now, signal == SIGALRM ? "hangs" : "crashes");
  fflush(stdout);
  if (signal == SIGALRM || signal == SIGABRT || ++crashes == 50) _exit(7);
  siglongjmp(before, 1);
}
static int begins(const char* name) {
  now = name;
  alarm(4);
  return at >= first && sigsetjmp(before, 1) == 0;
}
static void ends(int code) {
  int class = code;
  alarm(0);
  if (strncmp(now, "MPI_T_", 6) != 0) MPI_Error_class(code, &class);
  printf("%d\t%s\t%d\n", at, now, class);
  fflush(stdout);
}
#define CASE(name, call) if (begins(name)) ends(call); alarm(0); ++at;
@CASES@
int main(int argc, char** argv) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = died;
  action.sa_flags = SA_NODEFER;
  const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM};
  for (int i = 0; i < 5; ++i) sigaction(signals[i], &action, 0);
  first = atoi(argv[1]);
  MPI_Init(0, 0);
  set_up();
@CALLS@
  puts("end");
  fflush(stdout);
  _exit(0);
}
"""


def plain(declared):
    return declared.replace("const ", "").strip()


def good_communicator(call):
    if re.search(r"Graph_(get|neighbors)|Graphdims", call) and "Dist" not in call:
        return "graph"
    if "Dist_graph_neighbors" in call:
        return "neighbours"
    if "eighbor" in call or "Cart" in call and "create" not in call and "map" not in call:
        return "grid"
    return "comm"


def good_array(p, base):
    if base in HANDLES:
        return {"MPI_Datatype": "types", "MPI_Request": "requests", "MPI_Info": "infos"}.get(base, "0")
    if base == "MPI_Status":
        return "statuses"
    kind = {"DISTRIB_ENUM": "blocks", "DTYPE_DISTRIBUTION": "defaults"}.get(p.kind)
    if kind is None:
        one = p.kind in ONES or p.name == "array_of_subsizes"
        kind = "ones" if one else "zeros" if p.direction != "out" else "ints"
    if base in ("MPI_Aint", "MPI_Count"):
        return f"{base[4:].lower()}_{kind}"
    return kind if base == "int" else "0"


def good_pointer(p, base):
    if base in HANDLES:
        return f"&{'in' if p.direction == 'inout' else 'out'}_{base[4:].lower()}"
    if base == "void":
        return "pointer" if p.kind != "BUFFER" else "sent" if "const" in p.type or "send" in p.name else "received"
    if base == "char":
        return '"name"' if "const" in p.type else "text"
    if base == "int":
        return "&key_in" if p.kind == "KEYVAL" and p.direction == "inout" \
            else "&position" if p.name == "position" else "&number"
    return {"MPI_Status": "&status", "MPI_Count": "&count",
            "MPI_Aint": "&aint_position" if p.name == "position" else "&aint"}.get(base, "0")


def good(call, p):
    base = plain(p.type)
    if p.is_array:
        return good_array(p, base)
    if base in HANDLES:
        return good_communicator(call) if base == "MPI_Comm" else HANDLES[base][0]
    if p.type.endswith("*"):
        return good_pointer(p, plain(p.type[:-1]))
    if p.kind == "KEYVAL":
        return {"Type": "type_key", "Win_": "win_key"}.get(call[4:8], "comm_key")
    if "BYTES" in p.kind or "PACK_SIZE" in p.kind or p.name in ("outsize", "insize"):
        return "4096"
    return NUMBERS.get(p.kind, "0" if p.kind in ZEROS else "1")


def wrong(p):
    """(what is wrong, expression) for a parameter."""
    base = plain(p.type)
    if p.kind == "VARARGS" or "FUNCTION" in p.kind or p.type.endswith("function"):
        return []
    if p.is_array:
        more = {"int": [("negative", "negative"), ("large", "large")] if p.direction != "out" else [],
                "MPI_Datatype": [("of nulls", "no_types")], "MPI_Request": [("of nulls", "no_requests")]}
        return [("NULL", "0")] + more.get(base, [])
    if base in HANDLES:
        return [("null", HANDLES[base][1])] + ([("of no kind", f"({base})(intptr_t)0x7")] if base != "MPI_Request" else [])
    if p.type.endswith("*"):
        base = plain(p.type[:-1])
        more = [("MPI_IN_PLACE", "MPI_IN_PLACE")] if p.kind == "BUFFER" else []
        if base in HANDLES and p.direction == "inout":
            more.append(("to null", f"&null_{base[4:].lower()}"))
        if base == "char" and "const" in p.type:
            more += [("empty", '""'), ("long", "longest")]
        if base == "int" and p.kind == "KEYVAL" and p.direction == "inout":
            more.append(("to an invalid one", "&no_key"))
        if p.name == "position":
            more.append(("to -1", "&minus" if base == "int" else "&aint_minus"))
        return [("NULL", "0")] + more
    values = ["-1", "-5"] if re.search("NUM_ELEM|NUM_BYTES", p.kind) else ["-1", "-5", "1000", "0x7fffffff"]
    return [(value, value) for value in values] + ([("predefined", "MPI_TAG_UB")] if p.kind == "KEYVAL" else [])


def argument(p, value):
    if p.type.endswith("function"):
        return f"({p.type}*)0"
    return f"({p.type}{'*' if p.is_array else ''})({value})"


def cases(large):
    from meantime_generator import standard
    for call in standard.load().calls:
        if LEFT_OUT.match(call.name):
            continue
        for form in [call.large] if large and call.large else [call.small]:
            values = [good(form.name, p) for p in form.parameters]
            tries = [("nothing", values)]
            for place, p in enumerate(form.parameters):
                tries += [(f"{p.name} {what}", values[:place] + [value] + values[place + 1:])
                          for what, value in wrong(p)]
            for what, arguments in tries:
                listed = ", ".join(map(argument, form.parameters, arguments))
                yield f"{form.name} {what}", f"{form.name}({listed})"


def write_program(path, large):
    parts, calls = [], []
    every = list(cases(large))
    for start in range(0, len(every), 100):
        lines = "\n".join(f'  CASE("{name}", {call})'.replace('""")', '"")') for name, call in every[start:start + 100])
        parts.append(f"static void part{start}(void) {{\n{lines}\n}}")
        calls.append(f"  part{start}();")
    names = [(kind, kind[4:].lower()) for kind in HANDLES]
    program = PROGRAM.replace("@VARIABLES@", "\n".join(f"static {k} in_{n}, out_{n}, null_{n};" for k, n in names))
    program = program.replace("@NULLS@", "\n".join(f"  in_{n} = null_{n} = {HANDLES[k][1]};" for k, n in names))
    program = program.replace("@CASES@", "\n".join(parts)).replace("@CALLS@", "\n".join(calls))
    with open(path, "w", encoding="utf-8") as file:
        file.write(program)
    return [name for name, _ in every]


def run(program, library, names):
    """Case -> class. A case that ends the program is noted, and the next one goes on."""
    environment = dict(os.environ, LD_LIBRARY_PATH=library, MEANTIME_MISSING_CALLS="error")
    seen, at = {}, 0
    while True:
        done = subprocess.run([program, str(at)], env=environment, capture_output=True, text=True, errors="replace",
                              timeout=300, check=False)
        last = at - 1
        for line in done.stdout.splitlines():
            if line == "end":
                return {names[number]: what for number, what in seen.items()}
            fields = line.split("\t")
            if len(fields) == 3 and fields[0].isdigit():
                last = int(fields[0])
                seen[last] = fields[2]
        at = last + 1
        if done.returncode != 7:
            seen[at] = f"ends the program with {done.returncode}"
            at += 1


def class_names():
    with open(os.path.join(ROOT, "include/mpi.h"), encoding="utf-8") as header:
        found = re.findall(r"\b(MPI_ERR_\w+|MPI_SUCCESS)\b\s*=?\s*\(?(\d+)", header.read())
    names = {}
    for name, number in found:
        names.setdefault(number, name)
    return names


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--ours", required=True)
    arguments.add_argument("--other", required=True)
    arguments.add_argument("--work", default=tempfile.mkdtemp())
    arguments.add_argument("--large", action="store_true", help="the calls with large counts, where there are")
    options = arguments.parse_args()
    program = os.path.join(options.work, "bad_arguments")
    cases_of_program = write_program(program + ".c", options.large)
    subprocess.run([os.environ.get("CC", "cc"), "-w", "-I", os.path.join(ROOT, "include"), program + ".c", "-o", program,
                    os.path.join(options.ours, "libmpi_abi.so.1")], check=True)
    ours, other = (run(program, library, cases_of_program) for library in (options.ours, options.other))
    names, groups = class_names(), collections.defaultdict(list)
    for case in cases_of_program:
        pair = [names.get(seen[case], seen[case]) for seen in (ours, other)]
        if pair[0] != pair[1]:
            call, _, what = case.partition(" ")
            groups[(pair[1], pair[0], what)].append(call)
    print(f"{len(ours)} cases")
    for (theirs, mine, what), calls in sorted(groups.items()):
        print(f"{what}: {mine}, other: {theirs}: {' '.join(calls)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
