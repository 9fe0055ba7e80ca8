"""What the Fortran bindings do that the Forum's data does not say, call by call, each with its reason."""

# Written by hand in src/fortran/calls_*.c, because each is like no other, or Fortran's own.
BY_HAND = {
    # calls_start.c
    "MPI_Init", "MPI_Init_thread", "MPI_Session_init", "MPI_Info_create_env", "MPI_Pcontrol", "MPI_F_sync_reg", "MPI_Sizeof",
    "MPI_Status_f2f08", "MPI_Status_f082f", "MPI_Abi_get_fortran_booleans", "MPI_Abi_set_fortran_booleans",
    # calls_requests.c: indices count from 1, and what hangs on requests
    "MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome", "MPI_Test", "MPI_Testall", "MPI_Testany",
    "MPI_Testsome", "MPI_Start", "MPI_Startall", "MPI_Request_free", "MPI_Request_get_status",
    "MPI_Request_get_status_all", "MPI_Request_get_status_any", "MPI_Request_get_status_some",
    # calls_callbacks.c
    "MPI_Op_create", "MPI_Comm_create_errhandler", "MPI_File_create_errhandler", "MPI_Win_create_errhandler",
    "MPI_Session_create_errhandler", "MPI_Grequest_start", "MPI_Register_datarep",
    # calls_attributes.c
    "MPI_Comm_create_keyval", "MPI_Type_create_keyval", "MPI_Win_create_keyval", "MPI_Keyval_create",
    "MPI_Comm_set_attr", "MPI_Type_set_attr", "MPI_Win_set_attr", "MPI_Attr_put",
    "MPI_Comm_get_attr", "MPI_Type_get_attr", "MPI_Win_get_attr", "MPI_Attr_get",
    # calls_strings.c: lengths that the caller says, lists of strings
    "MPI_Info_get", "MPI_Info_get_string", "MPI_Session_get_nth_pset", "MPI_Comm_spawn", "MPI_Comm_spawn_multiple",
}

# mpi_f08's procedure is another function, although it has no choice buffer.
OTHER_IN_F08 = {"MPI_Buffer_detach", "MPI_Comm_detach_buffer", "MPI_Session_detach_buffer"}  # tells where the buffer was

# These want to know where the buffer is and do not read it.
ADDRESS_ONLY = {
    "MPI_Get_address", "MPI_Free_mem", "MPI_Buffer_attach", "MPI_Comm_attach_buffer", "MPI_Session_attach_buffer",
    "MPI_Win_create", "MPI_Win_attach", "MPI_Win_detach",
}

# They move data until a later call that does not know the buffer.
_ONE_SIDED = {"MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op", "MPI_Compare_and_swap"}
_PARTITIONED = {"MPI_Psend_init", "MPI_Precv_init"}


def refuses_subarrays(call: str, starts_request: bool) -> bool:
    """Whether a buffer that is not contiguous is an error (src/fortran/choice.h)."""
    return (call in _PARTITIONED or call.endswith(("_begin", "_end"))
            or call in _ONE_SIDED and not starts_request)


# How long lists are that must be converted: C, in the names of the Fortran arguments; {sendbuf} is the address of
# that buffer.
LIST_LENGTHS = {
    ("MPI_Cart_create", "periods"): "*ndims",
    ("MPI_Cart_map", "periods"): "*ndims",
    ("MPI_Cart_get", "periods"): "*maxdims",
    ("MPI_Cart_sub", "remain_dims"): "meantime_dimensions(meantime_to_Comm(*comm))",
    ("MPI_Type_create_struct", "array_of_types"): "*count",
    ("MPI_Type_get_contents", "array_of_datatypes"): "*max_datatypes",
    # With MPI_IN_PLACE sendtypes is not looked at, so it may be anything.
    **{(f"MPI_{call}", "sendtypes"): "{sendbuf} == MPI_IN_PLACE ? 0 : meantime_peers(meantime_to_Comm(*comm), MEANTIME_ALL)"
       for call in ("Alltoallw", "Ialltoallw", "Alltoallw_init")},
    **{(f"MPI_{call}", "recvtypes"): "meantime_peers(meantime_to_Comm(*comm), MEANTIME_ALL)"
       for call in ("Alltoallw", "Ialltoallw", "Alltoallw_init")},
    **{(f"MPI_{call}", name): f"meantime_peers(meantime_to_Comm(*comm), {peers})"
       for call in ("Neighbor_alltoallw", "Ineighbor_alltoallw", "Neighbor_alltoallw_init")
       for name, peers in (("sendtypes", "MEANTIME_DESTINATIONS"), ("recvtypes", "MEANTIME_SOURCES"))},
}

# How long C strings can be that come back, where the Forum's data does not say it.
STRING_LENGTHS = {
    ("MPI_Info_get_nthkey", "key"): "MPI_MAX_INFO_KEY",
    ("MPI_Error_string", "string"): "MPI_MAX_ERROR_STRING",
    ("MPI_Open_port", "port_name"): "MPI_MAX_PORT_NAME",
    ("MPI_Lookup_name", "port_name"): "MPI_MAX_PORT_NAME",
    ("MPI_File_get_view", "datarep"): "MPI_MAX_DATAREP_STRING",
}
