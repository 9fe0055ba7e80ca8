// Handles as integers, and what the ABI tells about itself (MPI 5.0, chapter 20).
#include <mpi.h>

#include <cstring>
#include <string>
#include <utility>

#include "api/generated/calls.h"
#include "base/lock.h"
#include "core/error/error.h"
#include "core/object/tables.h"
#include "rank/rank.h"

namespace meantime::api {
namespace {

// These calls return no error code and are legal at any time, so they have no shell; user-made
// handles need the rank's table.
int to_integer(void* handle) {
  const LockGuard guard(self().lock);
  return core::tables().integer_handles.number_of(handle);
}

template <class Handle>
Handle from_integer(int number) {
  const LockGuard guard(self().lock);
  return static_cast<Handle>(core::tables().integer_handles.handle_of(number));
}

// What the Fortran types are whose datatypes the ABI names without a size.
constexpr std::pair<const char*, const char*> fortran_sizes[] = {
    {"mpi_logical_size", "4"},
    {"mpi_integer_size", "4"},
    {"mpi_real_size", "4"},
    {"mpi_double_precision_size", "8"},
};

// Fortran datatypes that a library may lack; this one has all of them.
constexpr const char* optional_fortran_types[] = {
    "logical1", "logical2", "logical4",  "logical8",  "logical16",      "integer1", "integer2",
    "integer4", "integer8", "integer16", "real2",     "real4",          "real8",    "real16",
    "complex4", "complex8", "complex16", "complex32", "double_complex",
};

}  // namespace

int Comm_toint(MPI_Comm comm) {
  return to_integer(comm);
}
MPI_Comm Comm_fromint(int comm) {
  return from_integer<MPI_Comm>(comm);
}

int Errhandler_toint(MPI_Errhandler errhandler) {
  return to_integer(errhandler);
}
MPI_Errhandler Errhandler_fromint(int errhandler) {
  return from_integer<MPI_Errhandler>(errhandler);
}

int File_toint(MPI_File file) {
  return to_integer(file);
}
MPI_File File_fromint(int file) {
  return from_integer<MPI_File>(file);
}

int Group_toint(MPI_Group group) {
  return to_integer(group);
}
MPI_Group Group_fromint(int group) {
  return from_integer<MPI_Group>(group);
}

int Info_toint(MPI_Info info) {
  return to_integer(info);
}
MPI_Info Info_fromint(int info) {
  return from_integer<MPI_Info>(info);
}

int Message_toint(MPI_Message message) {
  return to_integer(message);
}
MPI_Message Message_fromint(int message) {
  return from_integer<MPI_Message>(message);
}

int Op_toint(MPI_Op op) {
  return to_integer(op);
}
MPI_Op Op_fromint(int op) {
  return from_integer<MPI_Op>(op);
}

int Request_toint(MPI_Request request) {
  return to_integer(request);
}
MPI_Request Request_fromint(int request) {
  return from_integer<MPI_Request>(request);
}

int Session_toint(MPI_Session session) {
  return to_integer(session);
}
MPI_Session Session_fromint(int session) {
  return from_integer<MPI_Session>(session);
}

int Type_toint(MPI_Datatype datatype) {
  return to_integer(datatype);
}
MPI_Datatype Type_fromint(int datatype) {
  return from_integer<MPI_Datatype>(datatype);
}

int Win_toint(MPI_Win win) {
  return to_integer(win);
}
MPI_Win Win_fromint(int win) {
  return from_integer<MPI_Win>(win);
}

// --- The ABI about itself (MPI 5.0, 20.4)

int Abi_get_version(int* abi_major, int* abi_minor) {
  *abi_major = MPI_ABI_VERSION;
  *abi_minor = MPI_ABI_SUBVERSION;
  return MPI_SUCCESS;
}

int Abi_get_info(MPI_Info* info) {
  auto* sizes = new Info;
  sizes->set("mpi_aint_size", std::to_string(sizeof(MPI_Aint)));
  sizes->set("mpi_count_size", std::to_string(sizeof(MPI_Count)));
  sizes->set("mpi_offset_size", std::to_string(sizeof(MPI_Offset)));
  *info = sizes->handle();
  return MPI_SUCCESS;
}

// The Fortran datatypes are gfortran's defaults (core/datatype/predefined.cpp). A Fortran binding
// with other sizes cannot be told to them.
int Abi_get_fortran_info(MPI_Info* info) {
  auto* sizes = new Info;
  for (const auto& [key, value] : fortran_sizes) {
    sizes->set(key, value);
  }
  for (const char* type : optional_fortran_types) {
    sizes->set(fmt::format("mpi_{}_supported", type), "true");
  }
  *info = sizes->handle();
  return MPI_SUCCESS;
}

int Abi_set_fortran_info(Info* info) {
  if (info == nullptr) {
    return fail(MPI_ERR_INFO, "argument 1 (info) is MPI_INFO_NULL");
  }
  for (const auto& [key, value] : fortran_sizes) {
    const std::string* wanted = info->find(key);
    if (wanted != nullptr && *wanted != value) {
      return fail(MPI_ERR_ABI, "{} is {} here, not {}", key, value, *wanted);
    }
  }
  return MPI_SUCCESS;
}

int Abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false) {
  core::FortranBooleans& booleans = core::tables().fortran_booleans;
  if (logical_size != 1 && logical_size != 2 && logical_size != 4 && logical_size != 8 &&
      logical_size != 16) {
    return fail(MPI_ERR_ARG, "argument 1 (logical_size) is {}", logical_size);
  }
  if (booleans.size != 0) {
    return fail(MPI_ERR_ABI, "the Fortran booleans were set before");
  }
  booleans.size = logical_size;
  std::memcpy(booleans.true_bytes, logical_true, logical_size);
  std::memcpy(booleans.false_bytes, logical_false, logical_size);
  return MPI_SUCCESS;
}

int Abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false,
                             int* is_set) {
  const core::FortranBooleans& booleans = core::tables().fortran_booleans;
  *is_set = booleans.size != 0 && booleans.size == logical_size;
  if (*is_set != 0) {
    std::memcpy(logical_true, booleans.true_bytes, logical_size);
    std::memcpy(logical_false, booleans.false_bytes, logical_size);
  }
  return MPI_SUCCESS;
}

}  // namespace meantime::api
