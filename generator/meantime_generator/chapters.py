"""Which part of MPI a call belongs to: gives the header its order and the entry points their files.

The first pattern that matches the name (without MPI_) decides.
"""

import re

# (chapter, heading, pattern)
CHAPTERS = [
    ("tools", "The tool interface", r"T_.*|Pcontrol"),
    ("conversions", "Handles as integers, and the ABI itself",
     r".*_(toint|fromint|c2f|f2c|c2f08|f2f08|f082c|f082f)|Abi_.*"),
    ("attributes", "Attributes",
     r".*_(create|free)_keyval|(Comm|Type|Win)_(get|set|delete)_attr|Attr_.*|Keyval_.*"),
    ("errors", "Errors and error handlers",
     r".*_errhandler|Errhandler_free|Error_.*|(Add|Remove)_error_.*"),
    ("neighborhoods", "Collective communication with neighbors", r"I?neighbor_.*"),
    ("partitioned", "Partitioned communication", r"P(send|recv)_init|Pready.*|Parrived"),
    ("nonblocking_collectives", "Collective communication, nonblocking",
     r"I(all(gather|reduce|toall).*|barrier|bcast|gatherv?|scatterv?|reduce.*|scan|exscan)"),
    ("persistent_collectives", "Collective communication, persistent",
     r"(All(gather|reduce|toall).*|Barrier|Bcast|Gatherv?|Scatterv?|Reduce.*|Scan|Exscan)_init"),
    ("operations", "Reduction operations", r"Op_.*|Reduce_local"),
    ("collectives", "Collective communication",
     r"All(gather|reduce|toall).*|Barrier|Bcast|Gatherv?|Scatterv?|Reduce.*|Scan|Exscan"),
    ("completion", "Requests and statuses",
     r"Wait.*|Test.*|Request_.*|Start|Startall|Cancel|Grequest_.*|"
     r"Status_(get|set)_(source|tag|error|cancelled)"),
    ("datatypes", "Datatypes",
     r"Type_.*|(Un)?[Pp]ack.*|Get_address|Get_count|Get_elements.*|Status_set_elements.*|Aint_.*|"
     r"Register_datarep|Sizeof"),
    ("topologies", "Virtual topologies", r"Cart.*|Graph.*|Dist_graph.*|Dims_create|Topo_test"),
    ("point_to_point", "Point-to-point communication",
     r"I?[bsr]?send(_init)?|I?m?recv(_init)?|I?sendrecv(_replace)?|I?m?probe|"
     r"(Comm_|Session_)?(attach_buffer|detach_buffer|flush_buffer|iflush_buffer)|Buffer_.*"),
    ("processes", "Starting and meeting other processes",
     r"Comm_(spawn.*|get_parent|join|accept|connect|disconnect)|(Open|Close)_port|"
     r"(Publish|Unpublish|Lookup)_name"),
    ("groups", "Groups", r"Group_.*"),
    ("communicators", "Communicators", r"Comm_.*|Intercomm_.*"),
    ("sessions", "Sessions", r"Session_.*"),
    ("info", "Info objects", r"Info_.*"),
    ("windows", "One-sided communication",
     r"Win_.*|R?put|R?get|R?(get_)?accumulate|Fetch_and_op|Compare_and_swap"),
    ("files", "Files", r"File_.*"),
    ("environment", "Start, end and environment",
     r"Init.*|Finalize.*|Abort|Query_thread|Is_thread_main|Get_(library_)?version|"
     r"Get_processor_name|Get_hw_resource_info|Wti(me|ck)|(Alloc|Free)_mem|F_sync_reg"),
]

HEADINGS = {chapter: heading for chapter, heading, _ in CHAPTERS}


# The order in which a reader of the header wants them.
READING_ORDER = [
    "environment", "point_to_point", "completion", "partitioned", "datatypes", "collectives",
    "nonblocking_collectives", "persistent_collectives", "neighborhoods", "operations",
    "communicators", "groups", "topologies", "attributes", "errors", "info", "sessions",
    "processes", "windows", "files", "conversions", "tools",
]
assert sorted(READING_ORDER) == sorted(HEADINGS)


def chapter_of(name: str) -> str:
    short = name[len("MPI_"):]
    for chapter, _, pattern in CHAPTERS:
        if re.fullmatch(pattern, short, re.IGNORECASE):
            return chapter
    raise ValueError(f"{name} is in no chapter: add it to chapters.py")
