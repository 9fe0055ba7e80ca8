"""What the entry points do that the Forum's data does not say, call by call, each with its reason.

Every rule is a decision of this implementation or a sentence of the standard; whatever follows from
a parameter's kind and direction is in shells.py.
"""

# --- which calls share an implementation ----------------------------------------------------------

# By default the int form and the large-count form (_c) of a call have one implementation. These
# have one each:
SEPARATE_LARGE_FORM = {
    "MPI_Op_create": "the user's function has another type",
    "MPI_Register_datarep": "the user's functions have other types",
    "MPI_Type_get_envelope": "the large form returns one number more",
    "MPI_Type_get_contents": "the large form has two parameters more, one an array",
}

# The implementations of these get a last argument `bool large`: the envelope of the new datatype
# tells in which form its constructor was called (MPI 5.0, 5.1.13).
KNOWS_ITS_FORM = {
    "MPI_Type_contiguous", "MPI_Type_vector", "MPI_Type_create_hvector", "MPI_Type_indexed",
    "MPI_Type_create_hindexed", "MPI_Type_create_indexed_block",
    "MPI_Type_create_hindexed_block", "MPI_Type_create_struct", "MPI_Type_create_subarray",
    "MPI_Type_create_darray", "MPI_Type_create_resized",
}

# An int that cannot hold the result becomes MPI_UNDEFINED (MPI 5.0, 3.2.5, 5.1.5, 5.1.11, 5.2) …
UNDEFINED_ON_OVERFLOW = {"MPI_Get_count", "MPI_Get_elements", "MPI_Type_size", "MPI_Pack_size"}
# … in every other call the result is MPI_ERR_VALUE_TOO_LARGE.

# --- which calls need MPI to be initialised -------------------------------------------------------

# Legal before initialisation and after finalization (MPI 5.0, 11.4.1); some others (Abort, Get_address)
# are harmless and allowed.
AT_ANY_TIME = {
    "MPI_Init", "MPI_Init_thread", "MPI_Initialized", "MPI_Finalized", "MPI_Abort",
    "MPI_Get_version", "MPI_Get_library_version", "MPI_Get_address",
    "MPI_Error_class", "MPI_Error_string", "MPI_Add_error_class", "MPI_Add_error_code",
    "MPI_Add_error_string", "MPI_Remove_error_class", "MPI_Remove_error_code",
    "MPI_Remove_error_string",
    "MPI_Comm_create_errhandler", "MPI_File_create_errhandler", "MPI_Win_create_errhandler",
    "MPI_Session_create_errhandler", "MPI_Session_call_errhandler", "MPI_Errhandler_free",
    "MPI_Session_init", "MPI_Session_finalize", "MPI_Session_get_info",
    "MPI_Abi_get_fortran_booleans", "MPI_Abi_get_fortran_info", "MPI_Abi_get_info",
    "MPI_Abi_get_version", "MPI_Abi_set_fortran_booleans", "MPI_Abi_set_fortran_info",
}
AT_ANY_TIME_CHAPTERS = {"info"}

# Calls of the tool interface that do not need MPI_T_init_thread before.
TOOL_CALLS_AT_ANY_TIME = {"MPI_T_init_thread"}

# These do not take the rank's lock: another thread may hold it for ever, and they end the rank.
WITHOUT_THE_LOCK = {"MPI_Abort"}

# --- calls without a shell ------------------------------------------------------------------------

# They return no error code, so there is nothing to check or report: the entry point only calls the
# implementation of the same parameters.
BARE = {"MPI_Wtime", "MPI_Wtick", "MPI_Aint_add", "MPI_Aint_diff", "MPI_Pcontrol"}
BARE_SUFFIXES = ("_toint", "_fromint")

# --- handles --------------------------------------------------------------------------------------

# IN handles that are passed on as they came, and why.
RAW_HANDLES = {
    ("MPI_Comm_get_name", "comm"): "MPI_COMM_NULL has a name",
    ("MPI_Type_get_name", "datatype"): "MPI_DATATYPE_NULL has a name",
    ("MPI_Win_get_name", "win"): "MPI_WIN_NULL has a name",
    ("MPI_File_set_errhandler", "file"): "MPI_FILE_NULL has a handler: that of new files",
    ("MPI_File_get_errhandler", "file"): "MPI_FILE_NULL has a handler: that of new files",
    ("MPI_File_call_errhandler", "fh"): "MPI_FILE_NULL has a handler: that of new files",
    ("MPI_Intercomm_create", "peer_comm"): "significant at the leader only",
    ("MPI_Request_get_status", "request"): "may be MPI_REQUEST_NULL",
    ("MPI_Cancel", "request"): "a pointer in C, and complete requests are the core's affair",
}

# Errors of these are raised by the error handler that they are given for what they make (MPI 5.0,
# 7.4.2, 7.6.2, 11.3.1), so it is looked at before all else.
RAISED_BY_THEIR_ERRHANDLER = {
    "MPI_Session_init", "MPI_Comm_create_from_group", "MPI_Intercomm_create_from_groups",
}

# Infos are hints and may be MPI_INFO_NULL (the implementation gets nullptr), but not here:
NEEDS_INFO_CHAPTERS = {"info"}

# Pointers that may be NULL although they are no status, buffer or attribute, and why.
NULLABLE = {
    ("MPI_Init", "argc"): "the standard allows NULL",
    ("MPI_Init_thread", "argc"): "the standard allows NULL",
    ("MPI_Info_get_string", "value"): "not looked at if buflen is 0",
    ("MPI_Session_get_nth_pset", "pset_name"): "not looked at if pset_len is 0",
    ("MPI_Comm_spawn", "array_of_errcodes"): "MPI_ERRCODES_IGNORE",
    ("MPI_Comm_spawn_multiple", "array_of_errcodes"): "MPI_ERRCODES_IGNORE",
    ("MPI_Abi_get_fortran_booleans", "logical_true"): "left to the implementation",
    ("MPI_Abi_get_fortran_booleans", "logical_false"): "left to the implementation",
    ("MPI_Free_mem", "base"): "NULL is what MPI_Alloc_mem may give for nothing",
}

# --- ranks and tags -------------------------------------------------------------------------------

# What a parameter of kind RANK may be; by name, or by (call, name). None: the implementation checks.
RANKS = {
    "dest": "destination",
    "source": "source",
    "root": "root",
    ("MPI_Cart_coords", "rank"): "member",
    ("MPI_Graph_neighbors", "rank"): "member",
    ("MPI_Graph_neighbors_count", "rank"): "member",
    ("MPI_Intercomm_create", "local_leader"): "member",
    ("MPI_Intercomm_create", "remote_leader"): None,  # a rank of peer_comm, at the leader only
    ("MPI_Intercomm_create_from_groups", "local_leader"): None,  # of a group
    ("MPI_Intercomm_create_from_groups", "remote_leader"): None,
    ("MPI_Type_create_darray", "rank"): None,  # of a process grid, not of a communicator
    ("MPI_Status_set_source", "source"): None,  # whatever the user wants
}

# Tags that may be MPI_ANY_TAG.
RECEIVE_TAGS = {
    "MPI_Recv", "MPI_Irecv", "MPI_Recv_init", "MPI_Probe", "MPI_Iprobe", "MPI_Mprobe",
    "MPI_Improbe",
}
RECEIVE_TAG_NAMES = {"recvtag"}
UNCHECKED_TAGS = {"MPI_Status_set_tag"}
# Functions of the user's that may not be NULL. (Those of keys may: MPI_COMM_NULL_COPY_FN and its kin are.)
REQUIRED_FUNCTIONS = {
    "MPI_Op_create", "MPI_Grequest_start", "MPI_Comm_create_errhandler", "MPI_Session_create_errhandler",
    "MPI_Win_create_errhandler", "MPI_File_create_errhandler",
}
# Sources that may not be MPI_ANY_SOURCE: partitioned receives match at initialisation.
EXACT_SOURCES = {"MPI_Precv_init"}

# --- collectives: what is significant -------------------------------------------------------------

# (C++ condition for the send arguments, for the receive arguments); None: always significant.
# Arguments that are not significant reach the implementation as 0 elements of MPI_BYTE.
# The conditions are members of Entry (src/api/entry.h); MPI 5.0, 6.2.3 and the calls' own sections.
SIGNIFICANCE = {
    "Gather": ("gives_to_root({comm}, root, sendbuf)", "is_root({comm}, root)"),
    "Gatherv": ("gives_to_root({comm}, root, sendbuf)", "is_root({comm}, root)"),
    "Scatter": ("is_root({comm}, root)", "takes_from_root({comm}, root, recvbuf)"),
    "Scatterv": ("is_root({comm}, root)", "takes_from_root({comm}, root, recvbuf)"),
    "Allgather": ("not_in_place({comm}, sendbuf)", None),
    "Allgatherv": ("not_in_place({comm}, sendbuf)", None),
    "Alltoall": ("not_in_place({comm}, sendbuf)", None),
    "Alltoallv": ("not_in_place({comm}, sendbuf)", None),
    "Alltoallw": ("not_in_place({comm}, sendbuf)", None),
}

# How many entries the count arrays of a collective have; neighborhood collectives know themselves.
COUNT_ARRAY_LENGTH = {
    "Reduce_scatter": "{comm}->size",
    "default": "{comm}->peers()",
}

# Two buffers that must not be the same memory, and when: the condition besides "neither is in place",
# and where the two lie if not at sendbuf and recvbuf: this rank's own block among the others'. Behind
# one address the data of two types, or of two sets of displacements, may lie at different places:
# that is not looked into.
DISTINCT_BUFFERS = {
    "Allreduce": "count > 0",
    "Reduce": "count > 0 && entry.is_root({comm}, root)",
    "Scan": "count > 0",
    "Exscan": "count > 0",
    "Reduce_scatter_block": "recvcount > 0",
    "Reduce_scatter": "recvcounts[{comm}->rank] > 0",
    "Gather": "sendcount > 0 && receives && sends && sendtype == recvtype",
    "Scatter": "recvcount > 0 && sends && receives && sendtype == recvtype",
    "Gatherv": "sendcount > 0 && receives && sends && !{comm}->is_inter() && sendtype == recvtype",
    "Scatterv": "recvcount > 0 && sends && receives && !{comm}->is_inter() && sendtype == recvtype",
    "Allgather": "sendcount > 0 && sends && !{comm}->is_inter() && sendtype == recvtype",
    "Allgatherv": "sendcount > 0 && sends && !{comm}->is_inter() && sendtype == recvtype",
    "Alltoall": "sendcount > 0 && sends && sendtype == recvtype",
    "Alltoallv": "sends && Entry::any(sendcounts, {comm}->peers()) && sendtype == recvtype && "
                 "sdispls.data() == rdispls.data()",
    "Alltoallw": "sends && Entry::any(sendcounts, {comm}->peers()) && sendtypes == recvtypes && "
                 "sdispls.data() == rdispls.data()",
}
OWN_BLOCKS = {
    "Gatherv": ("sendbuf", "Entry::block(recvbuf, displs[{comm}->rank], *recvtype_object)"),
    "Scatterv": ("Entry::block(sendbuf, displs[{comm}->rank], *sendtype_object)", "recvbuf"),
    "Allgather": ("sendbuf",
                  "Entry::block(recvbuf, {comm}->rank * recvcount, *recvtype_object)"),
    "Allgatherv": ("sendbuf", "Entry::block(recvbuf, displs[{comm}->rank], *recvtype_object)"),
}

# --- error classes of plain arguments -------------------------------------------------------------

# Negative values of these are errors: kind -> class. Names that end in "count" are MPI_ERR_COUNT.
NOT_NEGATIVE = {
    "POLYXFER_NUM_ELEM_NNI": "MPI_ERR_COUNT",
    "XFER_NUM_ELEM_NNI": "MPI_ERR_COUNT",
    "POLYXFER_NUM_ELEM": "MPI_ERR_COUNT",
    "XFER_NUM_ELEM": "MPI_ERR_COUNT",
    "POLYDTYPE_NUM_ELEM_NNI": "MPI_ERR_COUNT",
    "POLYDTYPE_NUM_ELEM": "MPI_ERR_COUNT",
    "POLYNUM_BYTES_NNI": "MPI_ERR_ARG",
    "POLYDTYPE_PACK_SIZE": "MPI_ERR_COUNT",
    "ALLOC_MEM_NUM_BYTES": "MPI_ERR_ARG",
    "ARRAY_LENGTH": "MPI_ERR_ARG",
    "ARRAY_LENGTH_NNI": "MPI_ERR_ARG",
    "ARRAY_LENGTH_PI": "MPI_ERR_ARG",
    "POLYNUM_PARAM_VALUES": "MPI_ERR_ARG",
    "NUM_DIMS": "MPI_ERR_ARG",
    "DEGREE": "MPI_ERR_ARG",
    "PARTITION": "MPI_ERR_ARG",
}
# Strides and the like may be negative whatever their kind is called.
MAY_BE_NEGATIVE = {("MPI_Type_vector", "stride")}

# Null strings of info calls have classes of their own.
NULL_STRING_CLASSES = {
    ("info", "key"): "MPI_ERR_INFO_KEY",
}

# --- collectives and topologies: details ----------------------------------------------------------

# Count arrays of collectives that have one entry for each peer.
COUNT_ARRAYS = {
    "Allgatherv": {"recvcounts"},
    "Alltoallv": {"sendcounts", "recvcounts"},
    "Alltoallw": {"sendcounts", "recvcounts"},
    "Gatherv": {"recvcounts"},
    "Scatterv": {"sendcounts"},
    "Reduce_scatter": {"recvcounts"},
}

# When sendbuf may be MPI_IN_PLACE although the other send arguments stay significant.
IN_PLACE_SENDS = {
    "Allreduce": "!entry.not_in_place({comm}, sendbuf)",
    "Scan": "sendbuf == MPI_IN_PLACE",
    "Exscan": "sendbuf == MPI_IN_PLACE",
    "Reduce_scatter": "!entry.not_in_place({comm}, sendbuf)",
    "Reduce_scatter_block": "!entry.not_in_place({comm}, sendbuf)",
    "Reduce": "(sendbuf == MPI_IN_PLACE && entry.is_root({comm}, root)) || root == MPI_ROOT",
}

# Calls and collectives that are for one kind of communicator only.
COMMUNICATOR_KINDS = {
    "Scan": "intracommunicator",
    "Exscan": "intracommunicator",
    "MPI_Comm_remote_size": "intercommunicator",
    "MPI_Comm_remote_group": "intercommunicator",
    "MPI_Intercomm_merge": "intercommunicator",
    "MPI_Intercomm_create": "intracommunicator",
    "MPI_Comm_create_group": "intracommunicator",
    "MPI_Cart_create": "intracommunicator",
    "MPI_Cart_map": "intracommunicator",
    "MPI_Graph_create": "intracommunicator",
    "MPI_Graph_map": "intracommunicator",
    "MPI_Dist_graph_create": "intracommunicator",
    "MPI_Dist_graph_create_adjacent": "intracommunicator",
    "MPI_Win_create": "intracommunicator",
    "MPI_Win_create_dynamic": "intracommunicator",
    "MPI_Win_allocate": "intracommunicator",
    "MPI_Win_allocate_shared": "intracommunicator",
}

# Outside communication, calls that need a committed datatype (MPI 5.0, 5.1.9).
NEEDS_COMMITTED_TYPE = {
    "MPI_Pack", "MPI_Unpack", "MPI_Pack_external", "MPI_Unpack_external", "MPI_Pack_size",
    "MPI_Pack_external_size", "MPI_Reduce_local",
}
